//! `objstore-svc import`: copies a SQLite store into an empty PostgreSQL database.
//!
//! 1. The copy is one transaction: a failed import leaves no row, and may be repeated.
//! 2. Epoch and revisions are kept, so ETags, watches and positions of clients stay valid.
//! 3. The source directory is locked during the copy, so no service writes to it.
//! 4. The target must have no epoch, revision or client. Otherwise a service has used it, and the
//!    import fails.

use std::path::{Path, PathBuf};

use common::{
    postgres::{Database, OpenError},
    sqlite::{self as engine, Directory, DirectoryError},
};
use rusqlite::{Connection, Row};
use tokio_postgres::{
    Transaction,
    binary_copy::BinaryCopyInWriter,
    types::{ToSql, Type},
};
use uuid::Uuid;

use super::{StoreConfig, postgres, sqlite};

#[derive(Debug, thiserror::Error)]
pub(crate) enum ImportError {
    #[error("OBJSTORE_DATABASE_URL is not set: set it to the URL of an empty database")]
    NoTarget,
    #[error("{0:?} contains no objstore.db: set --from to the data directory")]
    NoSource(PathBuf),
    /// For example, a service uses the directory.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    #[error("the store cannot be read: {0}")]
    Read(#[from] rusqlite::Error),
    /// The SQLite schema cannot be migrated.
    #[error(transparent)]
    Source(#[from] sqlite::OpenError),
    #[error(transparent)]
    Target(#[from] OpenError),
    #[error("the database of OBJSTORE_DATABASE_URL is not empty: create a new one")]
    NotEmpty,
    #[error("table {table}: read {read} rows but wrote {written}; nothing was imported")]
    Incomplete { table: &'static str, read: i64, written: i64 },
}

/// A table to copy. Both engines name it and its columns alike.
struct Table {
    name: &'static str,
    columns: &'static str,
    /// The types of the columns in PostgreSQL.
    types: &'static [Type],
}

const TABLES: [Table; 5] = [
    Table {
        name: "clients",
        columns: "id, position, watches, ended, unused_until",
        types: &[Type::UUID, Type::INT8, Type::INT8, Type::INT8, Type::INT8],
    },
    Table {
        name: "sessions",
        columns: "digest, client, expires",
        types: &[Type::BYTEA, Type::UUID, Type::INT8],
    },
    Table {
        name: "watches",
        columns: "client, type, namespace, name, since, until",
        types: &[Type::UUID, Type::TEXT, Type::TEXT, Type::TEXT, Type::INT8, Type::INT8],
    },
    Table {
        name: "objects",
        columns: "type, namespace, name, value, owner, revision",
        types: &[Type::TEXT, Type::TEXT, Type::TEXT, Type::BYTEA, Type::TEXT, Type::INT8],
    },
    Table {
        name: "log",
        columns: "revision, at, bytes_through, event, type, namespace, name, value, owner, client",
        types: &[
            Type::INT8,
            Type::INT8,
            Type::INT8,
            Type::INT2,
            Type::TEXT,
            Type::TEXT,
            Type::TEXT,
            Type::BYTEA,
            Type::TEXT,
            Type::UUID,
        ],
    },
];

/// Copies the SQLite store in the directory `source` into the database of `config`. Fails if a
/// service has used this database. The source keeps its data; only its schema is migrated.
#[tokio::main(flavor = "current_thread")]
pub(crate) async fn import(config: &StoreConfig, source: &Path) -> Result<(), ImportError> {
    let config = config.database.as_ref().ok_or(ImportError::NoTarget)?;
    if !source.join(sqlite::DATABASE).exists() {
        return Err(ImportError::NoSource(source.to_owned()));
    }
    let directory = Directory::own(source, sqlite::DATABASE)?;
    let mut store = engine::open(directory.database())?;
    let epoch = sqlite::prepare(&mut store)?;

    let database = Database::of(config)?;
    postgres::migrate(&database).await?;
    let mut connection = database.connect().await?;
    let failed = |error| ImportError::from(database.failed(error));
    let transaction = connection.transaction().await.map_err(failed)?;
    let claim = "UPDATE store SET epoch = $1, epoch_start = $2, origin = store_origin()
         WHERE epoch IS NULL AND revision = 0 AND clients = 0";
    let (id, start) = (epoch.id.bits().cast_signed(), epoch.start.cast_signed());
    if transaction.execute(claim, &[&id, &start]).await.map_err(failed)? == 0 {
        return Err(ImportError::NotEmpty);
    }
    for table in &TABLES {
        let read = copy(&store, &transaction, table, failed).await?;
        let count = format!("SELECT count(*) FROM {}", table.name);
        let row = transaction.query_one(&count, &[]).await.map_err(failed)?;
        let written: i64 = row.try_get(0).map_err(failed)?;
        if read != written {
            return Err(ImportError::Incomplete { table: table.name, read, written });
        }
        tracing::info!(table = table.name, rows = written, "table imported");
    }
    let head = "UPDATE store SET clients = (SELECT count(*) FROM clients),
            revision = greatest((SELECT max(revision) FROM log), epoch_start),
            bytes_through = coalesce((SELECT max(bytes_through) FROM log), 0)";
    transaction.execute(head, &[]).await.map_err(failed)?;
    transaction.commit().await.map_err(failed)?;
    connection.batch_execute("ANALYZE").await.map_err(failed)?;
    Ok(())
}

/// Copies a table. Returns the number of rows in the source.
async fn copy(
    store: &Connection,
    transaction: &Transaction<'_>,
    table: &Table,
    failed: impl Fn(tokio_postgres::Error) -> ImportError,
) -> Result<i64, ImportError> {
    let Table { name, columns, types } = table;
    let sql = format!("COPY {name} ({columns}) FROM STDIN BINARY");
    let sink = transaction.copy_in(&sql).await.map_err(&failed)?;
    let mut writer = std::pin::pin!(BinaryCopyInWriter::new(sink, types));
    let mut statement = store.prepare(&format!("SELECT {columns} FROM {name}"))?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let values = values(row, types)?;
        let values: Vec<_> = values.iter().map(|value| &**value as &(dyn ToSql + Sync)).collect();
        writer.as_mut().write(&values).await.map_err(&failed)?;
    }
    writer.finish().await.map_err(&failed)?;
    Ok(store.query_row(&format!("SELECT count(*) FROM {name}"), [], |row| row.get(0))?)
}

/// Converts the columns of a SQLite row to these types of PostgreSQL.
fn values<'r>(
    row: &'r Row<'_>,
    types: &[Type],
) -> rusqlite::Result<Vec<Box<dyn ToSql + Sync + 'r>>> {
    let value = |(column, as_type): (usize, &Type)| {
        let invalid = |error| {
            rusqlite::Error::FromSqlConversionFailure(
                column,
                rusqlite::types::Type::Blob,
                Box::new(error),
            )
        };
        let value = row.get_ref(column)?;
        Ok::<Box<dyn ToSql + Sync + 'r>, rusqlite::Error>(match *as_type {
            Type::UUID => {
                let id = value.as_blob_or_null()?.map(Uuid::from_slice).transpose();
                Box::new(id.map_err(invalid)?)
            }
            Type::BYTEA => Box::new(value.as_blob_or_null()?),
            Type::TEXT => Box::new(value.as_str_or_null()?),
            Type::INT2 => Box::new(row.get::<_, Option<i16>>(column)?),
            _ => Box::new(row.get::<_, Option<i64>>(column)?),
        })
    };
    types.iter().enumerate().map(value).collect()
}
