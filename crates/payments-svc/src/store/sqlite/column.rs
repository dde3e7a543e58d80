//! Values as columns.

use std::error::Error;

use jiff::Timestamp;
use num_rational::Ratio;
use rusqlite::{
    Row, ToSql,
    types::{FromSql, FromSqlError, FromSqlResult, ToSqlOutput, Type, ValueRef},
};

use crate::domain::{
    Account, Card, Currency, Decision, Expiry, Factor, FraudReason, Id, LineKind, Money, Movement,
    Order, Ppm, ProcessingError, Scheme, Tds,
};

impl ToSql for Id {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(ValueRef::Blob(self.as_bytes())))
    }
}

impl FromSql for Id {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        FromSql::column_result(value).map(Self::stored)
    }
}

impl ToSql for Currency {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        self.code().to_sql()
    }
}

impl FromSql for Currency {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        value.as_str()?.parse().map_err(FromSqlError::other)
    }
}

/// A closed set whose values are stored by their names.
macro_rules! named {
    ($($set:ty),*) => {$(
        impl ToSql for $set {
            fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
                self.name().to_sql()
            }
        }

        impl FromSql for $set {
            fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
                <$set>::named(value.as_str()?).ok_or(FromSqlError::InvalidType)
            }
        }
    )*};
}

named!(Account, Decision, LineKind, Movement, Order, Scheme, Tds);

impl ToSql for ProcessingError {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(self.code().into())
    }
}

impl FromSql for ProcessingError {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        let code = u8::column_result(value)?;
        Self::coded(code).ok_or(FromSqlError::OutOfRange(code.into()))
    }
}

impl ToSql for FraudReason {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(self.code().into())
    }
}

impl FromSql for FraudReason {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        Self::new(i64::column_result(value)?).map_err(FromSqlError::other)
    }
}

/// Milliseconds since the epoch.
pub(super) fn millis(at: Timestamp) -> i64 {
    at.as_millisecond()
}

/// The columns of a row, read one after the other in the order they are selected in: looking each
/// up by its name would cost more than reading it.
pub(super) struct Columns<'r, 's> {
    row: &'r Row<'s>,
    next: usize,
}

impl<'r, 's> Columns<'r, 's> {
    /// From the first column on.
    pub(super) fn of(row: &'r Row<'s>) -> Self {
        Self { row, next: 0 }
    }

    /// The next column.
    pub(super) fn next<T: FromSql>(&mut self) -> rusqlite::Result<T> {
        let column = self.next;
        self.next += 1;
        self.row.get(column)
    }

    /// The next, a text that was checked before it was stored.
    pub(super) fn text<T>(&mut self, stored: fn(String) -> T) -> rusqlite::Result<T> {
        self.next().map(stored)
    }

    /// The next, such a text or null.
    pub(super) fn optional<T>(&mut self, stored: fn(String) -> T) -> rusqlite::Result<Option<T>> {
        Ok(self.next::<Option<String>>()?.map(stored))
    }

    /// The next, milliseconds since the epoch.
    pub(super) fn time(&mut self) -> rusqlite::Result<Timestamp> {
        Timestamp::from_millisecond(self.next()?).map_err(broken)
    }

    /// The next, such a time or null.
    pub(super) fn optional_time(&mut self) -> rusqlite::Result<Option<Timestamp>> {
        let millis: Option<i64> = self.next()?;
        millis.map(|millis| Timestamp::from_millisecond(millis).map_err(broken)).transpose()
    }

    /// The next, parts per million.
    pub(super) fn share(&mut self) -> rusqlite::Result<Ppm> {
        self.next().map(Ppm::stored)
    }

    /// The next two, a currency and minor units of it.
    pub(super) fn money(&mut self) -> rusqlite::Result<Money> {
        Ok(Money { currency: self.next()?, minor: self.next()? })
    }

    /// The next, a fraction.
    pub(super) fn factor(&mut self) -> rusqlite::Result<Factor> {
        let text: String = self.next()?;
        let parts = text.split_once('/').and_then(|(numerator, denominator)| {
            Some((numerator.parse().ok()?, denominator.parse().ok()?))
        });
        match parts {
            Some((numerator, denominator @ 1..)) => Ok(Ratio::new(numerator, denominator)),
            _ => Err(broken(NoFraction)),
        }
    }

    /// The next six, those of [`CARD`], or six nulls.
    pub(super) fn optional_card(&mut self) -> rusqlite::Result<Option<Card>> {
        if self.row.get_ref(self.next)? != ValueRef::Null {
            return self.card().map(Some);
        }
        self.next += 6;
        Ok(None)
    }

    /// The next six, those of [`CARD`].
    pub(super) fn card(&mut self) -> rusqlite::Result<Card> {
        let (bin, last4) = (self.next()?, self.next()?);
        let year = Expiry::year(self.next()?).map_err(broken)?;
        let month = Expiry::month(self.next()?).map_err(broken)?;
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
#[error("the column holds no fraction")]
struct NoFraction;

/// A column that does not hold what was written to it.
pub(super) fn broken(error: impl Error + Send + Sync + 'static) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(0, Type::Text, Box::new(error))
}
