//! Values, rows and tables, described once for SQLite and PostgreSQL.
//!
//! A stored value implements [`Stored`]. [`Columns`] reads the columns of a row of either engine. A
//! [`Table`] describes how a row is written: it sends integers to PostgreSQL as `bigint[]`, and the
//! database converts them to the type of the column. A
//! single [`Param`] is sent in the type that the statement expects.

use std::{borrow::Cow, error::Error, fmt, time::Duration};

use jiff::{Timestamp, civil::Date};
use num_rational::Ratio;

#[cfg(feature = "engines")]
mod postgres;
mod row;
mod rows;
#[cfg(feature = "engines")]
mod sqlite;
#[cfg(feature = "engines")]
mod statement;
mod stored;
mod table;

#[cfg(feature = "engines")]
pub use postgres::{PostgresRows, Statement};
pub use row::{Column, Group, Row, count, join, rename};
pub use rows::{Query, Rows, RowsByKey, StoredRows, TableReader, key_column, key_params, select};
#[cfg(feature = "engines")]
pub use sqlite::{SqliteRows, bind};
pub use table::{RowWriter, StatementWriter, Table};

/// The type of a column, independent of the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// `boolean` in PostgreSQL, 1 or 0 in SQLite.
    Bool,
    /// An integer of at most 64 bits.
    Int,
    /// A UTF-8 string.
    Text,
    /// `bytea` in PostgreSQL, a blob in SQLite.
    Bytes,
    /// The 16 bytes of a UUID: `uuid` in PostgreSQL, a blob in SQLite.
    Uuid,
}

/// A value to bind to a statement. Debug output hides texts and bytes, because the client of
/// PostgreSQL logs parameters at level debug, and they can be secrets.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Param<'a> {
    /// SQL `NULL`.
    Null,
    /// SQLite stores it as 1 or 0.
    Bool(bool),
    /// Any integer type that fits into an `i64`.
    Int(i64),
    /// A UTF-8 string, borrowed or owned.
    Text(Cow<'a, str>),
    /// Raw bytes, borrowed or owned; also the 16 bytes of a UUID.
    Bytes(Cow<'a, [u8]>),
}

impl fmt::Debug for Param<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => formatter.write_str("Null"),
            Self::Bool(flag) => write!(formatter, "{flag}"),
            Self::Int(number) => write!(formatter, "{number}"),
            Self::Text(text) => write!(formatter, "Text({} bytes)", text.len()),
            Self::Bytes(bytes) => write!(formatter, "Bytes({} bytes)", bytes.len()),
        }
    }
}

impl From<Cell<'_>> for Param<'static> {
    fn from(cell: Cell<'_>) -> Self {
        match cell {
            Cell::Null => Self::Null,
            Cell::Bool(flag) => Self::Bool(flag),
            Cell::Int(number) => Self::Int(number),
            Cell::Text(text) => Self::Text(text.to_owned().into()),
            Cell::Bytes(bytes) => Self::Bytes(bytes.to_vec().into()),
        }
    }
}

impl Param<'_> {
    /// The value as it is read from a row.
    fn cell(&self) -> Cell<'_> {
        match self {
            Self::Null => Cell::Null,
            Self::Bool(flag) => Cell::Bool(*flag),
            Self::Int(number) => Cell::Int(*number),
            Self::Text(text) => Cell::Text(text),
            Self::Bytes(bytes) => Cell::Bytes(bytes),
        }
    }

    /// A copy that borrows nothing.
    pub fn owned(&self) -> Param<'static> {
        self.cell().into()
    }
}

/// A value that is read from a row, borrowed from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cell<'r> {
    /// SQL `NULL`.
    Null,
    /// `boolean` of PostgreSQL. SQLite returns [`Cell::Int`] instead.
    Bool(bool),
    /// An integer column of any width.
    Int(i64),
    /// A UTF-8 string.
    Text(&'r str),
    /// A `bytea` or a blob, or the 16 bytes of a UUID.
    Bytes(&'r [u8]),
}

/// A column holds a value of another type: another program has changed the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the column does not hold a value of its type")]
pub struct BadCell;

/// Why a column of a row cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("column {column} cannot be read")]
pub struct ColumnError {
    column: usize,
    source: Box<dyn Error + Send + Sync>,
}

impl ColumnError {
    /// The number of the column in its row, from 0.
    pub fn column(&self) -> usize {
        self.column
    }
}

/// A type whose values are stored in one column.
pub trait Stored: Sized {
    /// The type of the column.
    const KIND: Kind;

    /// Converts the value to a parameter of a statement.
    fn param(&self) -> Param<'_>;

    /// Converts a cell to a value. Fails if the type or the range does not fit.
    fn of(cell: Cell<'_>) -> Result<Self, BadCell>;
}

/// The columns of a row, read in the order in which they are selected.
#[derive(Clone)]
pub struct Columns<'r> {
    row: RowRef<'r>,
    next: usize,
}

#[derive(Clone, Copy)]
enum RowRef<'r> {
    #[cfg(feature = "engines")]
    Sqlite(&'r rusqlite::Row<'r>),
    #[cfg(feature = "engines")]
    Postgres(&'r tokio_postgres::Row),
    Params(&'r [Param<'r>]),
}

#[cfg(feature = "engines")]
impl<'r> From<&'r rusqlite::Row<'r>> for Columns<'r> {
    fn from(row: &'r rusqlite::Row<'r>) -> Self {
        Self { row: RowRef::Sqlite(row), next: 0 }
    }
}

#[cfg(feature = "engines")]
impl<'r> From<&'r tokio_postgres::Row> for Columns<'r> {
    fn from(row: &'r tokio_postgres::Row) -> Self {
        Self { row: RowRef::Postgres(row), next: 0 }
    }
}

/// The columns of a row in memory.
impl<'r> From<&'r [Param<'r>]> for Columns<'r> {
    fn from(params: &'r [Param<'r>]) -> Self {
        Self { row: RowRef::Params(params), next: 0 }
    }
}

impl<'r> Columns<'r> {
    /// Reads the next column.
    pub fn read<T: Stored>(&mut self) -> Result<T, ColumnError> {
        let value = T::of(self.cell()?);
        value.map_err(|source| self.invalid(source))
    }

    /// Reads the next column and converts its value with `convert`.
    pub fn read_as<S: Stored, T, E: Error + Send + Sync + 'static>(
        &mut self,
        convert: impl FnOnce(S) -> Result<T, E>,
    ) -> Result<T, ColumnError> {
        let value = self.read()?;
        convert(value).map_err(|source| self.invalid(source))
    }

    /// Reads the next column as text without a copy. Fails on `NULL`.
    pub fn text(&mut self) -> Result<&'r str, ColumnError> {
        self.text_or_null()?.ok_or_else(|| self.invalid(BadCell))
    }

    /// Reads the next column as text without a copy. `NULL` is `None`.
    pub fn text_or_null(&mut self) -> Result<Option<&'r str>, ColumnError> {
        match self.cell()? {
            Cell::Null => Ok(None),
            Cell::Text(text) => Ok(Some(text)),
            _ => Err(self.invalid(BadCell)),
        }
    }

    /// Reads the next column as bytes without a copy. `NULL` is `None`.
    pub fn bytes_or_null(&mut self) -> Result<Option<&'r [u8]>, ColumnError> {
        match self.cell()? {
            Cell::Null => Ok(None),
            Cell::Bytes(bytes) => Ok(Some(bytes)),
            _ => Err(self.invalid(BadCell)),
        }
    }

    /// Reads the next column without a conversion.
    pub fn cell(&mut self) -> Result<Cell<'r>, ColumnError> {
        let column = self.next;
        self.next += 1;
        let cell: Result<_, Box<dyn Error + Send + Sync>> = match self.row {
            #[cfg(feature = "engines")]
            RowRef::Sqlite(row) => sqlite::cell(row, column),
            #[cfg(feature = "engines")]
            RowRef::Postgres(row) => row.try_get(column).map_err(Into::into),
            RowRef::Params(params) => {
                params.get(column).map(Param::cell).ok_or_else(|| BadCell.into())
            }
        };
        cell.map_err(|source| self.invalid(source))
    }

    /// An error about the column that was read last.
    pub fn invalid(&self, source: impl Into<Box<dyn Error + Send + Sync>>) -> ColumnError {
        ColumnError { column: self.next.saturating_sub(1), source: source.into() }
    }

    /// Whether the next column is `NULL`. Does not advance.
    pub fn is_null(&mut self) -> Result<bool, ColumnError> {
        let is_null = self.cell()? == Cell::Null;
        self.next -= 1;
        Ok(is_null)
    }

    /// Skips this many columns.
    pub fn skip(&mut self, columns: usize) {
        self.next += columns;
    }
}

impl<T: Stored> Stored for Option<T> {
    const KIND: Kind = T::KIND;

    fn param(&self) -> Param<'_> {
        self.as_ref().map_or(Param::Null, T::param)
    }

    fn of(cell: Cell<'_>) -> Result<Self, BadCell> {
        match cell {
            Cell::Null => Ok(None),
            cell => T::of(cell).map(Some),
        }
    }
}

impl Stored for bool {
    const KIND: Kind = Kind::Bool;

    fn param(&self) -> Param<'_> {
        Param::Bool(*self)
    }

    fn of(cell: Cell<'_>) -> Result<Self, BadCell> {
        match cell {
            Cell::Bool(flag) => Ok(flag),
            Cell::Int(flag @ 0..=1) => Ok(flag == 1),
            _ => Err(BadCell),
        }
    }
}

impl Stored for i64 {
    const KIND: Kind = Kind::Int;

    fn param(&self) -> Param<'_> {
        Param::Int(*self)
    }

    fn of(cell: Cell<'_>) -> Result<Self, BadCell> {
        match cell {
            Cell::Int(number) => Ok(number),
            _ => Err(BadCell),
        }
    }
}

/// Implements [`Stored`] for integer types that fit into an `i64`.
macro_rules! narrow {
    ($($number:ty),*) => {$(
        impl Stored for $number {
            const KIND: Kind = Kind::Int;

            fn param(&self) -> Param<'_> {
                Param::Int((*self).into())
            }

            fn of(cell: Cell<'_>) -> Result<Self, BadCell> {
                i64::of(cell)?.try_into().map_err(|_| BadCell)
            }
        }
    )*};
}
narrow!(u8, i16, u16, u32, i32);

/// As the integer with the same bits: below 2^63 it is the same number.
impl Stored for u64 {
    const KIND: Kind = Kind::Int;

    fn param(&self) -> Param<'_> {
        Param::Int(self.cast_signed())
    }

    fn of(cell: Cell<'_>) -> Result<Self, BadCell> {
        i64::of(cell).map(i64::cast_unsigned)
    }
}

/// In milliseconds since the epoch.
impl Stored for Timestamp {
    const KIND: Kind = Kind::Int;

    fn param(&self) -> Param<'_> {
        Param::Int(self.as_millisecond())
    }

    fn of(cell: Cell<'_>) -> Result<Self, BadCell> {
        Self::from_millisecond(i64::of(cell)?).map_err(|_| BadCell)
    }
}

/// In whole milliseconds.
impl Stored for Duration {
    const KIND: Kind = Kind::Int;

    fn param(&self) -> Param<'_> {
        Param::Int(i64::try_from(self.as_millis()).unwrap_or(i64::MAX))
    }

    fn of(cell: Cell<'_>) -> Result<Self, BadCell> {
        u64::try_from(i64::of(cell)?).map(Self::from_millis).map_err(|_| BadCell)
    }
}

/// As text: `numerator/denominator`.
impl Stored for Ratio<i128> {
    const KIND: Kind = Kind::Text;

    fn param(&self) -> Param<'_> {
        let (numerator, denominator) = (*self).into();
        Param::Text(format!("{numerator}/{denominator}").into())
    }

    fn of(cell: Cell<'_>) -> Result<Self, BadCell> {
        let text = String::of(cell)?;
        let (numerator, denominator) = text.split_once('/').ok_or(BadCell)?;
        match (numerator.parse(), denominator.parse()) {
            (Ok(numerator), Ok(denominator @ 1..)) => Ok(Self::new(numerator, denominator)),
            _ => Err(BadCell),
        }
    }
}

/// As text, such as `2026-11-21`.
impl Stored for Date {
    const KIND: Kind = Kind::Text;

    fn param(&self) -> Param<'_> {
        Param::Text(self.to_string().into())
    }

    fn of(cell: Cell<'_>) -> Result<Self, BadCell> {
        String::of(cell)?.parse().map_err(|_| BadCell)
    }
}

impl Stored for String {
    const KIND: Kind = Kind::Text;

    fn param(&self) -> Param<'_> {
        Param::Text(Cow::Borrowed(self))
    }

    fn of(cell: Cell<'_>) -> Result<Self, BadCell> {
        match cell {
            Cell::Text(text) => Ok(text.to_owned()),
            _ => Err(BadCell),
        }
    }
}

impl<const N: usize> Stored for [u8; N] {
    const KIND: Kind = Kind::Bytes;

    fn param(&self) -> Param<'_> {
        Param::Bytes(Cow::Borrowed(self))
    }

    fn of(cell: Cell<'_>) -> Result<Self, BadCell> {
        match cell {
            Cell::Bytes(bytes) => bytes.try_into().map_err(|_| BadCell),
            _ => Err(BadCell),
        }
    }
}

impl Stored for Vec<u8> {
    const KIND: Kind = Kind::Bytes;

    fn param(&self) -> Param<'_> {
        Param::Bytes(Cow::Borrowed(self))
    }

    fn of(cell: Cell<'_>) -> Result<Self, BadCell> {
        match cell {
            Cell::Bytes(bytes) => Ok(bytes.to_owned()),
            _ => Err(BadCell),
        }
    }
}
