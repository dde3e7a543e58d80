//! Writes rows to SQLite: one prepared statement per table, executed once per row.

use std::error::Error;

use rusqlite::{
    Connection, Row, Statement, ToSql,
    types::{ToSqlOutput, ValueRef},
};

use super::{
    Cell, ColumnError, Param,
    statement::{list, statement},
    table::{RowWriter, StatementWriter, Table},
};

impl ToSql for Param<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Bool(flag) => ValueRef::Integer((*flag).into()),
            Self::Int(number) => ValueRef::Integer(*number),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
            Self::Bytes(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

impl From<ColumnError> for rusqlite::Error {
    fn from(error: ColumnError) -> Self {
        let column = error.column;
        Self::FromSqlConversionFailure(column, rusqlite::types::Type::Null, Box::new(error))
    }
}

#[inline]
pub(super) fn cell<'r>(
    row: &'r Row<'r>,
    column: usize,
) -> Result<Cell<'r>, Box<dyn Error + Send + Sync>> {
    Ok(match row.get_ref(column)? {
        ValueRef::Null => Cell::Null,
        ValueRef::Integer(number) => Cell::Int(number),
        ValueRef::Text(text) => Cell::Text(std::str::from_utf8(text)?),
        ValueRef::Blob(bytes) => Cell::Bytes(bytes),
        ValueRef::Real(_) => return Err(super::BadCell.into()),
    })
}

/// Binds `params` in order. The statement must number its parameters by first appearance, because
/// SQLite ignores the number in `$2` and counts appearances.
pub fn bind<'p>(
    statement: &mut Statement<'_>,
    params: impl IntoIterator<Item = &'p Param<'p>>,
) -> rusqlite::Result<()> {
    let mut count = 0;
    for param in params {
        count += 1;
        debug_assert!(is_numbered(statement, count), "{statement:?}");
        statement.raw_bind_parameter(count, param)?;
    }
    debug_assert_eq!(statement.parameter_count(), count, "{statement:?}");
    Ok(())
}

fn is_numbered(statement: &Statement<'_>, index: usize) -> bool {
    let name = statement.parameter_name(index).unwrap_or_default();
    name.strip_prefix(['$', '?']).is_some_and(|number| number.parse() == Ok(index))
}

/// Writes rows immediately on this connection. (`PostgresRows` collects statements.)
pub struct SqliteRows<'c>(pub &'c Connection);

impl SqliteRows<'_> {
    fn run<'a, R: 'a>(
        &self,
        sql: impl FnOnce() -> &'static str,
        rows: impl IntoIterator<Item = &'a R>,
        params_of: impl Fn(&'a R, &mut Vec<Param<'a>>),
    ) -> rusqlite::Result<()> {
        let mut rows = rows.into_iter().peekable();
        if rows.peek().is_none() {
            return Ok(());
        }
        let mut statement = self.0.prepare_cached(sql())?;
        let mut params = Vec::new();
        for row in rows {
            params.clear();
            params_of(row, &mut params);
            bind(&mut statement, &params)?;
            statement.raw_execute()?;
        }
        Ok(())
    }
}

impl<'a> RowWriter<'a> for SqliteRows<'_> {
    type Error = rusqlite::Error;

    fn insert<R: 'a>(
        &mut self,
        table: &Table<R>,
        rows: impl IntoIterator<Item = &'a R>,
    ) -> rusqlite::Result<()> {
        let sql = || {
            let names = list(table.columns(), "{}", ", ");
            let parameters: Vec<_> = (1..=table.columns().count()).map(parameter).collect();
            format!("INSERT INTO {} ({names}) VALUES ({})", table.name, parameters.join(", "))
        };
        self.run(|| statement("insert into SQLite", table, sql), rows, table.params)
    }

    fn update<R: 'a>(
        &mut self,
        table: &Table<R>,
        rows: impl IntoIterator<Item = &'a R>,
    ) -> rusqlite::Result<()> {
        let sql = || {
            let values = assigned(table.values, table.key.len() + 1, ", ");
            let key = assigned(table.key, 1, " AND ");
            format!("UPDATE {} SET {values} WHERE {key}", table.name)
        };
        self.run(|| statement("update in SQLite", table, sql), rows, table.params)
    }

    fn delete<R: 'a>(
        &mut self,
        table: &Table<R>,
        rows: impl IntoIterator<Item = &'a R>,
    ) -> rusqlite::Result<()> {
        let sql =
            || format!("DELETE FROM {} WHERE {}", table.name, assigned(table.key, 1, " AND "));
        self.run(|| statement("delete from SQLite", table, sql), rows, table.params)
    }
}

impl<'a> StatementWriter<'a> for SqliteRows<'_> {
    fn execute<R: 'a>(
        &mut self,
        sql: &'static str,
        rows: impl IntoIterator<Item = &'a R>,
        params: impl Fn(&'a R, &mut Vec<Param<'a>>),
    ) -> rusqlite::Result<()> {
        self.run(|| sql, rows, params)
    }
}

/// A parameter such as `?3`. SQLite would number `$3` by its first appearance instead.
fn parameter(number: usize) -> String {
    format!("?{number}")
}

fn assigned(columns: &[super::Column], first: usize, separator: &str) -> String {
    let parts: Vec<_> = (first..)
        .zip(columns)
        .map(|(number, (name, _))| format!("\"{name}\" = ?{number}"))
        .collect();
    parts.join(separator)
}
