//! Values as columns.

use std::error::Error as StdError;

use bytes::BytesMut;
use common::postgres::Error;
use jiff::Timestamp;
use num_rational::Ratio;
use tokio_postgres::{
    Row,
    types::{FromSql, IsNull, ToSql, Type, to_sql_checked},
};

use crate::domain::{
    Account, Card, Currency, Decision, Expiry, Factor, FraudReason, Id, LineKind, Money, Movement,
    Order, Ppm, ProcessingError, Scheme, Tds,
};

type Conversion<T> = Result<T, Box<dyn StdError + Sync + Send>>;

/// A value that is stored as another type is: how it becomes one, and how one becomes it.
macro_rules! stored {
    ($($value:ty as $column:ty: $to:expr, $from:expr;)*) => {$(
        impl ToSql for $value {
            fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> Conversion<IsNull> {
                let to: fn(&$value) -> $column = $to;
                to(self).to_sql(ty, out)
            }

            fn accepts(ty: &Type) -> bool {
                <$column as ToSql>::accepts(ty)
            }

            to_sql_checked!();
        }

        impl<'a> FromSql<'a> for $value {
            fn from_sql(ty: &Type, raw: &'a [u8]) -> Conversion<Self> {
                let from: fn($column) -> Option<$value> = $from;
                from(<$column>::from_sql(ty, raw)?).ok_or_else(|| Unknown.into())
            }

            fn accepts(ty: &Type) -> bool {
                <$column as ToSql>::accepts(ty)
            }
        }
    )*};
}

stored! {
    Id as &[u8]: |id| id.as_bytes(), |bytes| bytes.try_into().ok().map(Id::stored);
    Currency as &str: |currency| currency.code(), |code| code.parse().ok();
    Account as &str: |account| account.name(), Account::named;
    LineKind as &str: |kind| kind.name(), LineKind::named;
    Decision as &str: |decision| decision.name(), Decision::named;
    Movement as &str: |movement| movement.name(), Movement::named;
    Order as &str: |order| order.name(), Order::named;
    Scheme as &str: |scheme| scheme.name(), Scheme::named;
    Tds as &str: |tds| tds.name(), Tds::named;
    FraudReason as i64: |reason| reason.code().into(), |code| FraudReason::new(code).ok();
    ProcessingError as i16:
        |error| error.code().into(), |code| ProcessingError::coded(code.try_into().ok()?);
}

/// Milliseconds since the epoch.
pub(super) fn millis(at: Timestamp) -> i64 {
    at.as_millisecond()
}

/// The columns of a row, read one after the other in the order they are selected in.
pub(super) struct Columns<'r> {
    row: &'r Row,
    next: usize,
}

impl<'r> Columns<'r> {
    /// From the first column on.
    pub(super) fn of(row: &'r Row) -> Self {
        Self { row, next: 0 }
    }

    /// The next column.
    pub(super) fn next<T: FromSql<'r>>(&mut self) -> Result<T, Error> {
        let column = self.next;
        self.next += 1;
        Ok(self.row.try_get(column)?)
    }

    /// The next, a number that is never negative.
    pub(super) fn count(&mut self) -> Result<u32, Error> {
        u32::try_from(self.next::<i64>()?).map_err(broken)
    }

    /// The next, such a number or null.
    pub(super) fn optional_count(&mut self) -> Result<Option<u32>, Error> {
        self.next::<Option<i64>>()?.map(|count| count.try_into().map_err(broken)).transpose()
    }

    /// The next, a text that was checked before it was stored.
    pub(super) fn text<T>(&mut self, stored: fn(String) -> T) -> Result<T, Error> {
        self.next().map(stored)
    }

    /// The next, such a text or null.
    pub(super) fn optional<T>(&mut self, stored: fn(String) -> T) -> Result<Option<T>, Error> {
        Ok(self.next::<Option<String>>()?.map(stored))
    }

    /// The next, milliseconds since the epoch.
    pub(super) fn time(&mut self) -> Result<Timestamp, Error> {
        Timestamp::from_millisecond(self.next()?).map_err(broken)
    }

    /// The next, such a time or null.
    pub(super) fn optional_time(&mut self) -> Result<Option<Timestamp>, Error> {
        let millis: Option<i64> = self.next()?;
        millis.map(|millis| Timestamp::from_millisecond(millis).map_err(broken)).transpose()
    }

    /// The next, parts per million.
    pub(super) fn share(&mut self) -> Result<Ppm, Error> {
        self.count().map(Ppm::stored)
    }

    /// The next two, a currency and minor units of it.
    pub(super) fn money(&mut self) -> Result<Money, Error> {
        Ok(Money { currency: self.next()?, minor: self.next()? })
    }

    /// The next, a fraction.
    pub(super) fn factor(&mut self) -> Result<Factor, Error> {
        let text: &str = self.next()?;
        let parts = text.split_once('/').and_then(|(numerator, denominator)| {
            Some((numerator.parse().ok()?, denominator.parse().ok()?))
        });
        match parts {
            Some((numerator, denominator @ 1..)) => Ok(Ratio::new(numerator, denominator)),
            _ => Err(broken(Unknown)),
        }
    }

    /// The next six, those of [`CARD`], or six nulls.
    pub(super) fn optional_card(&mut self) -> Result<Option<Card>, Error> {
        if self.row.try_get::<_, Option<&str>>(self.next)?.is_some() {
            return self.card().map(Some);
        }
        self.next += 6;
        Ok(None)
    }

    /// The next six, those of [`CARD`].
    pub(super) fn card(&mut self) -> Result<Card, Error> {
        let (bin, last4) = (self.next()?, self.next()?);
        let year = Expiry::year(self.next::<i16>()?.into()).map_err(broken)?;
        let month = Expiry::month(self.next::<i16>()?.into()).map_err(broken)?;
        let expiry = Expiry::new(year, month);
        Ok(Card { bin, last4, expiry, scheme: self.next()?, code_present: self.next()? })
    }
}

/// The columns of a card.
pub(super) const CARD: &str = "bin, last4, expiry_year, expiry_month, scheme, code_present";

/// A fraction, as it is stored.
pub(super) fn fraction(factor: &Factor) -> String {
    let (numerator, denominator) = (*factor).into();
    format!("{numerator}/{denominator}")
}

#[derive(Debug, thiserror::Error)]
#[error("the column holds nothing that is known")]
struct Unknown;

/// A column that does not hold what was written to it.
fn broken(error: impl StdError + Send + Sync + 'static) -> Error {
    Error::Column(Box::new(error))
}
