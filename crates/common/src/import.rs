//! Copies a SQLite store into an empty PostgreSQL database, for the subcommands `import`.
//!
//! 1. Both engines name tables and columns alike. The copy reads the names from SQLite and the types
//!    from PostgreSQL, so a migration that adds a column to both engines needs no change here. A
//!    column that only SQLite has makes every import fail, unless the service skips it.
//! 2. The service runs the copy in one database transaction: a failed import leaves no row, and may
//!    be repeated.
//! 3. The copy locks the tables of the target and fails if one of them has a row. So a service that
//!    uses the target can neither lose rows nor add some in between.

use std::{
    path::{Path, PathBuf},
    pin::pin,
};

use rusqlite::{Connection, Params};
use tokio_postgres::{Transaction, binary_copy::BinaryCopyInWriter, types::Type};

use crate::{
    migration::MigrationError,
    postgres::{Database, DatabaseConfig, OpenError},
    progress::{Interrupted, Progress},
    sql::{Cell, Columns, Param},
    sqlite::{Owned, StartError, mark_imported},
};

/// The tables of SQLite, referenced ones first: in the order in which they were created. The tables
/// of SQLite itself, of the migrations and of Litestream are not part of the data.
const TABLES: &str = "SELECT name FROM sqlite_schema
     WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
         AND name NOT IN ('refinery_schema_history', '_litestream_lock', '_litestream_seq')
     ORDER BY rowid";

const COLUMNS: &str = "SELECT name FROM pragma_table_info(?1)";

/// The bytes of a UUID.
const UUID: usize = 16;

/// Why nothing was imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The setting of the target is empty.
    #[error("{0} is not set: set it to the URL of an empty database")]
    NoTarget(&'static str),
    /// The source directory does not have the database file.
    #[error("{directory:?} contains no {database}: set --from to the data directory")]
    NoSource {
        /// The directory that the user named.
        directory: PathBuf,
        /// The file name of the database.
        database: &'static str,
    },
    /// The source cannot be opened or migrated. For example, a service uses the directory.
    #[error(transparent)]
    Source(#[from] StartError),
    /// SQLite cannot read the source.
    #[error("the store cannot be read: {0}")]
    Read(#[from] rusqlite::Error),
    /// The target cannot be used.
    #[error(transparent)]
    Target(#[from] OpenError),
    /// A service uses the target.
    #[error("a service uses the database of {0}: stop it, or create another database")]
    InUse(&'static str),
    /// A service has used the target, or another import was faster.
    #[error("the database of {0} is not empty: create a new one")]
    NotEmpty(&'static str),
    /// The source has a value that the column of the target cannot hold.
    #[error("table {table}, column {column}: a value is invalid; nothing was imported")]
    Value {
        /// The table of the value.
        table: String,
        /// The column of the value.
        column: String,
    },
    /// The target rejected the rows of a table.
    #[error("table {table}: {source}; nothing was imported")]
    Rejected {
        /// The table of the rows.
        table: String,
        /// The error of the target.
        source: OpenError,
    },
    /// The counts of the rows differ.
    #[error("table {table}: read {read} rows but wrote {written}; nothing was imported")]
    Incomplete {
        /// The table of the rows.
        table: String,
        /// Rows in SQLite.
        read: u64,
        /// Rows in PostgreSQL.
        written: u64,
    },
    /// The rows break a rule of the service, or cannot be checked.
    #[error("nothing was imported, because {reason}")]
    Check {
        /// The error of the check.
        reason: String,
        /// The exit code of the process.
        code: u8,
    },
    /// The source cannot be marked as imported.
    #[error("{directory:?} cannot be marked as imported: {source}; nothing was imported")]
    Mark {
        /// The directory of the source.
        directory: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// The command was asked to stop.
    #[error("interrupted: nothing was imported")]
    Interrupted(#[from] Interrupted),
}

/// Opens the SQLite store in `directory`, and runs the missing migrations. No service can use the
/// directory until the value is dropped.
pub fn open(
    directory: &Path,
    database: &'static str,
    migrate: impl FnOnce(&mut Connection) -> Result<(), MigrationError>,
) -> Result<Owned, ImportError> {
    if !directory.join(database).exists() {
        return Err(ImportError::NoSource { directory: directory.to_owned(), database });
    }
    Ok(Owned::open_imported(directory, database, migrate)?)
}

/// Runs the missing migrations of the target, and then `fill` in one transaction. Afterwards, no
/// service starts in the directory `source`.
pub async fn run(
    source: &Path,
    target: &DatabaseConfig,
    progress: &Progress,
    migrate: impl AsyncFnOnce(&Database) -> Result<(), OpenError>,
    fill: impl AsyncFnOnce(&Transaction<'_>, &Database) -> Result<(), ImportError>,
) -> Result<(), ImportError> {
    let database = Database::of(target)?;
    progress.unless_stopped(migrate(&database)).await??;
    let mut connection = database.connect_patiently().await?;
    let failed = |error| database.failed(error);
    let cancel = connection.cancel_token();
    let transaction = connection.transaction().await.map_err(failed)?;
    database.unless_stopped(progress, cancel, fill(&transaction, &database)).await??;
    // Before the commit, which may succeed without an answer.
    mark_imported(source)
        .map_err(|error| ImportError::Mark { directory: source.to_owned(), source: error })?;
    Ok(transaction.commit().await.map_err(failed)?)
}

/// Copies every row of the source, except for the tables and the columns (`table.column`) in
/// `skipped`. `store` should be in a transaction, so that the rows of all tables fit together.
pub async fn copy(
    store: &Connection,
    target: &Transaction<'_>,
    database: &Database,
    skipped: &[&str],
    progress: &Progress,
) -> Result<(), ImportError> {
    let failed = |error| database.failed(error);
    let tables = tables(store, skipped)?;
    progress.begin("rows", tables.iter().map(|table| table.rows).sum());
    let names: Vec<_> = tables.iter().map(|table| quoted(&table.name)).collect();
    let lock = format!("LOCK TABLE {} IN EXCLUSIVE MODE", names.join(", "));
    target.batch_execute(&lock).await.map_err(failed)?;
    for name in names {
        let is_used = format!("SELECT EXISTS (SELECT FROM {name})");
        if target.query_one(&is_used, &[]).await.map_err(failed)?.get(0) {
            return Err(ImportError::NotEmpty(database.setting()));
        }
    }
    for table in &tables {
        let written = copy_table(store, target, database, table, progress).await?;
        if written != table.rows {
            let (table, read) = (table.name.clone(), table.rows);
            return Err(ImportError::Incomplete { table, read, written });
        }
    }
    Ok(())
}

/// A table of the source.
struct Table {
    name: String,
    columns: Vec<String>,
    rows: u64,
}

fn tables(store: &Connection, skipped: &[&str]) -> rusqlite::Result<Vec<Table>> {
    let mut tables = Vec::new();
    for name in names(store, TABLES, [])? {
        if skipped.contains(&&*name) {
            continue;
        }
        let mut columns = names(store, COLUMNS, [&name])?;
        columns.retain(|column| !skipped.contains(&&*format!("{name}.{column}")));
        let count = format!("SELECT count(*) FROM {}", quoted(&name));
        let rows = store.query_row(&count, [], |row| row.get::<_, i64>(0))?.unsigned_abs();
        tables.push(Table { name, columns, rows });
    }
    Ok(tables)
}

fn names(store: &Connection, sql: &str, params: impl Params) -> rusqlite::Result<Vec<String>> {
    store.prepare(sql)?.query_map(params, |row| row.get(0))?.collect()
}

/// Quotes a name, because some are keywords of SQL.
fn quoted(name: &str) -> String {
    format!("\"{name}\"")
}

/// Copies a table. Returns the number of rows that arrived.
async fn copy_table(
    store: &Connection,
    target: &Transaction<'_>,
    database: &Database,
    table: &Table,
    progress: &Progress,
) -> Result<u64, ImportError> {
    let failed =
        |error| ImportError::Rejected { table: table.name.clone(), source: database.failed(error) };
    let columns: Vec<_> = table.columns.iter().map(|column| quoted(column)).collect();
    let (name, columns) = (quoted(&table.name), columns.join(", "));
    let select = format!("SELECT {columns} FROM {name}");
    let described = target.prepare(&select).await.map_err(failed)?;
    let types: Vec<Type> =
        described.columns().iter().map(|column| column.type_().clone()).collect();
    let copy = format!("COPY {name} ({columns}) FROM STDIN BINARY");
    let sink = target.copy_in(&copy).await.map_err(failed)?;
    let mut writer = pin!(BinaryCopyInWriter::new(sink, &types));
    let mut statement = store.prepare(&select)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let mut cells = Columns::from(row);
        let mut values = Vec::with_capacity(types.len());
        for (column, ty) in table.columns.iter().zip(&types) {
            let value = cells.cell().ok().and_then(|cell| value(cell, ty));
            values.push(value.ok_or_else(|| ImportError::Value {
                table: table.name.clone(),
                column: column.clone(),
            })?);
        }
        writer.as_mut().write_raw(values).await.map_err(failed)?;
        progress.advance();
    }
    writer.finish().await.map_err(failed)
}

/// A value of SQLite as one of this type, if it fits. SQLite has neither booleans nor small
/// integers.
fn value<'r>(cell: Cell<'r>, ty: &Type) -> Option<Param<'r>> {
    match (cell, ty) {
        (Cell::Null, _) => Some(Param::Null),
        (Cell::Int(flag @ 0..=1), &Type::BOOL) => Some(Param::Bool(flag == 1)),
        (Cell::Int(number), &Type::INT2) => i16::try_from(number).ok().map(|_| Param::Int(number)),
        (Cell::Int(number), &Type::INT4) => i32::try_from(number).ok().map(|_| Param::Int(number)),
        (Cell::Int(number), &Type::INT8) => Some(Param::Int(number)),
        (Cell::Text(text), &Type::TEXT) => Some(Param::Text(text.into())),
        (Cell::Bytes(bytes), &Type::BYTEA) => Some(Param::Bytes(bytes.into())),
        (Cell::Bytes(bytes), &Type::UUID) if bytes.len() == UUID => {
            Some(Param::Bytes(bytes.into()))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_values_that_fit_their_column_are_copied() {
        let bytes = [7; UUID];
        for (cell, ty, copied) in [
            (Cell::Null, Type::BOOL, Some(Param::Null)),
            (Cell::Int(1), Type::BOOL, Some(Param::Bool(true))),
            (Cell::Int(2), Type::BOOL, None),
            (Cell::Int(-32768), Type::INT2, Some(Param::Int(-32768))),
            (Cell::Int(32768), Type::INT2, None),
            (Cell::Int(1 << 31), Type::INT4, None),
            (Cell::Int(1 << 31), Type::INT8, Some(Param::Int(1 << 31))),
            (Cell::Int(1), Type::TEXT, None),
            (Cell::Text("1"), Type::TEXT, Some(Param::Text("1".into()))),
            (Cell::Text("1"), Type::INT8, None),
            (Cell::Bytes(&[1]), Type::BYTEA, Some(Param::Bytes((&[1]).into()))),
            (Cell::Bytes(&bytes), Type::UUID, Some(Param::Bytes((&bytes).into()))),
            (Cell::Bytes(&bytes[1..]), Type::UUID, None),
            (Cell::Bytes(b"1"), Type::TEXT, None),
        ] {
            assert_eq!(value(cell, &ty), copied, "{cell:?} as {ty}");
        }
    }

    #[test]
    fn the_data_of_a_store_is_in_its_own_tables_except_the_skipped_ones() {
        let store = Connection::open_in_memory().unwrap();
        store
            .execute_batch(
                "CREATE TABLE refinery_schema_history (version INTEGER);
                 CREATE TABLE parents (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT);
                 CREATE TABLE children (\"order\" INTEGER, \"user\" TEXT);
                 CREATE TABLE register (last BLOB);
                 INSERT INTO parents (name) VALUES ('a'), ('b')",
            )
            .unwrap();
        let found = tables(&store, &["register", "parents.id"]).unwrap();
        let found: Vec<_> =
            found.iter().map(|table| (&*table.name, table.columns.join(" "), table.rows)).collect();
        assert_eq!(
            found,
            [("parents", "name".to_owned(), 2), ("children", "order user".to_owned(), 0)]
        );
    }
}
