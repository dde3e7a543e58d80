//! Writes rows to PostgreSQL: one statement per table, with one array per column.

use std::{convert::Infallible, error::Error, mem};

use bytes::BytesMut;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};

use super::{
    BadCell, Cell, Kind, Param,
    statement::{list, statement},
    table::{RowWriter, StatementWriter, Table},
};

type Conversion<T> = Result<T, Box<dyn Error + Sync + Send>>;

impl ToSql for Param<'_> {
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> Conversion<IsNull> {
        match self {
            Self::Null => Ok(IsNull::Yes),
            Self::Bool(flag) => flag.to_sql(ty, out),
            Self::Int(number) => match *ty {
                Type::INT2 => i16::try_from(*number)?.to_sql(ty, out),
                Type::INT4 => i32::try_from(*number)?.to_sql(ty, out),
                _ => number.to_sql(ty, out),
            },
            Self::Text(text) => text.to_sql(ty, out),
            Self::Bytes(bytes) => (&**bytes).to_sql(ty, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

impl<'r> FromSql<'r> for Cell<'r> {
    fn from_sql(ty: &Type, raw: &'r [u8]) -> Conversion<Self> {
        Ok(match *ty {
            Type::BOOL => Self::Bool(bool::from_sql(ty, raw)?),
            Type::INT2 => Self::Int(i16::from_sql(ty, raw)?.into()),
            Type::INT4 => Self::Int(i32::from_sql(ty, raw)?.into()),
            Type::INT8 => Self::Int(i64::from_sql(ty, raw)?),
            Type::TEXT | Type::VARCHAR => Self::Text(FromSql::from_sql(ty, raw)?),
            Type::BYTEA | Type::UUID => Self::Bytes(raw),
            _ => return Err(BadCell.into()),
        })
    }

    fn from_sql_null(_: &Type) -> Conversion<Self> {
        Ok(Self::Null)
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

/// A statement and its parameters.
pub type Statement<'a> = (&'a str, &'a [&'a (dyn ToSql + Sync)]);

/// Statements that write rows, collected for one round trip.
#[derive(Debug, Default)]
pub struct PostgresRows<'a>(Vec<(&'static str, Vec<Vec<Param<'a>>>)>);

impl<'a> PostgresRows<'a> {
    /// The parameters of each statement, as `tokio-postgres` takes them.
    pub fn params(&self) -> Vec<Vec<&(dyn ToSql + Sync)>> {
        self.0
            .iter()
            .map(|(_, arrays)| arrays.iter().map(|array| array as &(dyn ToSql + Sync)).collect())
            .collect()
    }

    /// Pairs each statement with its [`Self::params`].
    pub fn statements<'s>(
        &'s self,
        params: &'s [Vec<&'s (dyn ToSql + Sync)>],
    ) -> Vec<Statement<'s>> {
        self.0.iter().zip(params).map(|((sql, _), params)| (*sql, &**params)).collect()
    }

    fn push<R: 'a>(
        &mut self,
        sql: impl FnOnce() -> &'static str,
        rows: impl IntoIterator<Item = &'a R>,
        params_of: impl Fn(&'a R, &mut Vec<Param<'a>>),
    ) -> Result<(), Infallible> {
        let (mut params, mut height) = (Vec::new(), 0);
        for row in rows {
            params_of(row, &mut params);
            height += 1;
        }
        if params.is_empty() {
            return Ok(());
        }
        debug_assert_eq!(params.len() % height, 0);
        let width = params.len() / height;
        let column = |column| {
            let values = params.iter_mut().skip(column).step_by(width);
            values.map(|value| mem::replace(value, Param::Null)).collect()
        };
        let arrays = (0..width).map(column).collect();
        self.0.push((sql(), arrays));
        Ok(())
    }
}

impl<'a> RowWriter<'a> for PostgresRows<'a> {
    type Error = Infallible;

    fn insert<R: 'a>(
        &mut self,
        table: &Table<R>,
        rows: impl IntoIterator<Item = &'a R>,
    ) -> Result<(), Infallible> {
        let sql = || {
            let names = list(table.columns(), "{}", ", ");
            format!("INSERT INTO {} ({names}) SELECT * FROM {}", table.name, unnest(table))
        };
        self.push(|| statement("insert into PostgreSQL", table, sql), rows, table.params)
    }

    fn update<R: 'a>(
        &mut self,
        table: &Table<R>,
        rows: impl IntoIterator<Item = &'a R>,
    ) -> Result<(), Infallible> {
        let sql = || {
            let values = list(table.values.iter().copied(), "{} = new.{}", ", ");
            format!("UPDATE {} SET {values} FROM {}", table.name, matched(table))
        };
        self.push(|| statement("update in PostgreSQL", table, sql), rows, table.params)
    }

    fn delete<R: 'a>(
        &mut self,
        table: &Table<R>,
        rows: impl IntoIterator<Item = &'a R>,
    ) -> Result<(), Infallible> {
        let sql = || format!("DELETE FROM {} USING {}", table.name, matched(table));
        self.push(|| statement("delete from PostgreSQL", table, sql), rows, table.params)
    }
}

impl<'a> StatementWriter<'a> for PostgresRows<'a> {
    fn execute<R: 'a>(
        &mut self,
        sql: &'static str,
        rows: impl IntoIterator<Item = &'a R>,
        params: impl Fn(&'a R, &mut Vec<Param<'a>>),
    ) -> Result<(), Infallible> {
        self.push(|| sql, rows, params)
    }
}

/// The `FROM` clause and the condition that match the given rows with rows of the table by their
/// key.
fn matched<R>(table: &Table<R>) -> String {
    let names = list(table.columns(), "{}", ", ");
    let key = list(table.key.iter().copied(), &format!("{}.{{}} = new.{{}}", table.name), " AND ");
    format!("{} AS new ({names}) WHERE {key}", unnest(table))
}

fn unnest<R>(table: &Table<R>) -> String {
    let arrays = (1..).zip(table.columns()).map(|(number, (_, kind))| {
        let ty = match kind {
            Kind::Bool => "boolean",
            Kind::Int => "bigint",
            Kind::Text => "text",
            Kind::Bytes => "bytea",
            Kind::Uuid => "uuid",
        };
        format!("${number}::{ty}[]")
    });
    format!("unnest({})", arrays.collect::<Vec<_>>().join(", "))
}
