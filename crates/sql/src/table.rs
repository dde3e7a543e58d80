//! Tables, and how their rows are written.

use super::{Column, Param};

/// A table, or some of its columns, and how an `R` becomes a row of it.
pub struct Table<R> {
    /// Written into statements without quotes.
    pub name: &'static str,
    /// The columns that identify a row.
    pub key: &'static [Column],
    /// The other columns that are written.
    pub values: &'static [Column],
    /// Appends the values of a row: the columns of `key`, then of `values`.
    pub params: for<'a> fn(&'a R, &mut Vec<Param<'a>>),
}

/// Writes the rows of a batch. A key must occur at most once in each call.
pub trait RowWriter<'a> {
    /// The error of a rejected row. It is `Infallible` if statements are only collected.
    type Error;

    /// Inserts `rows` with all their columns.
    fn insert<R: 'a>(
        &mut self,
        table: &Table<R>,
        rows: impl IntoIterator<Item = &'a R>,
    ) -> Result<(), Self::Error>;

    /// Sets `values` of the rows with these keys.
    fn update<R: 'a>(
        &mut self,
        table: &Table<R>,
        rows: impl IntoIterator<Item = &'a R>,
    ) -> Result<(), Self::Error>;

    /// Deletes the rows with these keys. `values` must be empty.
    fn delete<R: 'a>(
        &mut self,
        table: &Table<R>,
        rows: impl IntoIterator<Item = &'a R>,
    ) -> Result<(), Self::Error>;
}

/// Writes with statements that a [`Table`] cannot describe.
pub trait StatementWriter<'a>: RowWriter<'a> {
    /// Executes `sql` for `rows`: in SQLite once for each row, with its `params`; in PostgreSQL once,
    /// with an array for each of them.
    fn execute<R: 'a>(
        &mut self,
        sql: &'static str,
        rows: impl IntoIterator<Item = &'a R>,
        params: impl Fn(&'a R, &mut Vec<Param<'a>>),
    ) -> Result<(), Self::Error>;
}
