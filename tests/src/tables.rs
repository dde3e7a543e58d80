//! The tables of a store, read without the service, to compare the engines.

use std::{collections::BTreeMap, path::Path};

use rusqlite::{Connection, types::Value as Stored};
use serde_json::{Map, Value};

use crate::postgres::Database;

/// The rows of each table, as objects with a member for each column. Bytes are hexadecimal digits,
/// booleans are 1 and 0.
#[derive(Debug)]
pub struct Tables(BTreeMap<String, Table>);

#[derive(Debug)]
struct Table {
    columns: Vec<String>,
    rows: Vec<Map<String, Value>>,
}

impl Tables {
    /// The tables of an SQLite file.
    pub fn of_sqlite(file: &Path) -> Self {
        let store = Connection::open(file).expect("there is a database");
        let names = "SELECT name FROM sqlite_schema
                     WHERE type = 'table' AND name <> 'refinery_schema_history'";
        let mut tables = store.prepare(names).expect("is SQL");
        let tables = tables.query_map([], |row| row.get(0)).expect("can be read");
        Self(tables.map(|name| name.expect("a name")).map(|name| sqlite(&store, name)).collect())
    }

    /// The tables of a PostgreSQL database.
    pub fn of_postgres(database: &Database) -> Self {
        let columns = "SELECT json_agg(json_build_array(table_name, column_name, data_type)
                           ORDER BY table_name, ordinal_position)
                       FROM information_schema.columns
                       WHERE table_schema = 'public' AND table_name <> 'refinery_schema_history'";
        let columns: Vec<[String; 3]> = parse(&database.run(columns));
        let mut tables = BTreeMap::<_, Vec<_>>::new();
        for [table, column, kind] in columns {
            tables.entry(table).or_default().push((column, kind));
        }
        let read = |(name, columns): (String, Vec<(String, String)>)| {
            let selected: Vec<_> =
                columns.iter().map(|(column, kind)| text(column, kind)).collect();
            let rows = format!(
                "SELECT coalesce(json_agg(read), '[]') FROM (SELECT {} FROM \"{name}\") AS read",
                selected.join(", ")
            );
            let rows = parse(&database.run(&rows));
            let columns = columns.into_iter().map(|(column, _)| column).collect();
            (name, Table { columns, rows })
        };
        Self(tables.into_iter().map(read).collect())
    }

    /// All columns, as `table.column`.
    pub fn columns(&self) -> Vec<String> {
        let columns = self.0.iter().flat_map(|(name, table)| {
            table.columns.iter().map(move |column| format!("{name}.{column}"))
        });
        columns.collect()
    }

    /// The columns without a value in any row, as `table.column`.
    pub fn unused_columns(&self) -> Vec<String> {
        let mut columns = self.columns();
        columns.retain(|path| self.values(path).iter().all(Value::is_null));
        columns
    }

    /// The columns that `other` does not have.
    pub fn columns_not_in(&self, other: &Self) -> Vec<String> {
        let known = other.columns();
        self.columns().into_iter().filter(|column| !known.contains(column)).collect()
    }

    /// The rows of a table, reduced to the columns that `other` has, too. Sorted by their text.
    pub fn rows(&self, table: &str, other: &Self) -> Vec<String> {
        let shared = &other.0.get(table).expect("is a table").columns;
        let reduced = |row: &Map<String, Value>| {
            let members = row.iter().filter(|(name, _)| shared.contains(name));
            let row: BTreeMap<_, _> = members.collect();
            serde_json::to_string(&row).expect("can be written")
        };
        let mut rows: Vec<_> = self.0[table].rows.iter().map(reduced).collect();
        rows.sort();
        rows
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Removes the rows in which the column has another value.
    pub fn retain(&mut self, table: &str, column: &str, value: &Value) {
        self.0.get_mut(table).expect("is a table").rows.retain(|row| row[column] == *value);
    }

    fn values(&self, path: &str) -> Vec<Value> {
        let (table, column) = path.split_once('.').expect("a table and a column");
        self.0[table].rows.iter().map(|row| row[column].clone()).collect()
    }
}

fn sqlite(store: &Connection, name: String) -> (String, Table) {
    let mut statement = store.prepare(&format!("SELECT * FROM \"{name}\"")).expect("is SQL");
    let columns: Vec<_> = statement.column_names().map(str::to_owned).collect();
    let rows = statement.query_map([], |row| {
        let cell = |(number, column): (usize, &String)| {
            let value = match row.get(number)? {
                Stored::Null => Value::Null,
                Stored::Integer(number) => number.into(),
                Stored::Real(number) => number.into(),
                Stored::Text(text) => text.into(),
                Stored::Blob(bytes) => hex::encode(bytes).into(),
            };
            Ok((column.clone(), value))
        };
        columns.iter().enumerate().map(cell).collect()
    });
    let rows = rows.expect("can be read").map(|row| row.expect("a row")).collect();
    (name, Table { columns, rows })
}

/// The SQL of a column whose JSON value is that of SQLite.
fn text(column: &str, kind: &str) -> String {
    match kind {
        "bytea" => format!("encode(\"{column}\", 'hex') AS \"{column}\""),
        "uuid" => format!("replace(\"{column}\"::text, '-', '') AS \"{column}\""),
        "boolean" => format!("\"{column}\"::int AS \"{column}\""),
        _ => format!("\"{column}\""),
    }
}

fn parse<T: serde::de::DeserializeOwned>(json: &str) -> T {
    serde_json::from_str(json).unwrap_or_else(|error| panic!("{error}: {json}"))
}
