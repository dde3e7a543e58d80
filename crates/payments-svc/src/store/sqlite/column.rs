//! Values as columns.

use std::error::Error;

use jiff::Timestamp;
use num_rational::Ratio;
use rusqlite::{
    Row, ToSql,
    types::{FromSql, FromSqlError, FromSqlResult, ToSqlOutput, Type, ValueRef},
};

use crate::domain::{
    Account, Card, Currency, Expiry, Factor, Id, LineKind, Movement, ProcessingError, Scheme, Tds,
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

named!(Account, LineKind, Movement, Scheme, Tds);

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

/// Milliseconds since the epoch.
pub(super) fn millis(at: Timestamp) -> i64 {
    at.as_millisecond()
}

/// A time that is stored as milliseconds.
pub(super) fn time(row: &Row<'_>, column: &str) -> rusqlite::Result<Timestamp> {
    Timestamp::from_millisecond(row.get(column)?).map_err(broken)
}

/// A fraction, as it is stored.
pub(super) fn fraction(factor: &Factor) -> String {
    format!("{}/{}", factor.numer(), factor.denom())
}

/// A fraction that is stored.
pub(super) fn factor(row: &Row<'_>, column: &str) -> rusqlite::Result<Factor> {
    let text: String = row.get(column)?;
    let parts = text.split_once('/').and_then(|(numerator, denominator)| {
        Some((numerator.parse().ok()?, denominator.parse().ok()?))
    });
    match parts {
        Some((numerator, denominator @ 1..)) => Ok(Ratio::new(numerator, denominator)),
        _ => Err(broken(NoFraction)),
    }
}

#[derive(Debug, thiserror::Error)]
#[error("the column holds no fraction")]
struct NoFraction;

/// The columns of a card.
pub(super) fn card(row: &Row<'_>) -> rusqlite::Result<Card> {
    let year = Expiry::year(row.get("expiry_year")?).map_err(broken)?;
    let month = Expiry::month(row.get("expiry_month")?).map_err(broken)?;
    Ok(Card {
        bin: row.get("bin")?,
        last4: row.get("last4")?,
        expiry: Expiry::new(year, month),
        scheme: row.get("scheme")?,
        code_present: row.get("code_present")?,
    })
}

/// A column that does not hold what was written to it.
pub(super) fn broken(error: impl Error + Send + Sync + 'static) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(0, Type::Text, Box::new(error))
}
