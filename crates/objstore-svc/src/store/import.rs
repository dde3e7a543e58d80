//! `objstore-svc import`: copies a SQLite store into an empty PostgreSQL database.
//!
//! 1. The copy is one transaction: a failed import leaves no row, and may be repeated.
//! 2. Epoch and revisions are kept, so ETags, watches and positions of clients stay valid.
//! 3. The source directory is locked during the copy, so no service writes to it.
//! 4. The target must have no epoch, revision or client. Otherwise a service has used it, and the
//!    import fails.

use std::path::Path;

use common::{
    exit::Fatal,
    import::{self, ImportError as CopyError},
    postgres::{Database, OpenError},
    progress::{Interrupted, Progress},
};
use tokio_postgres::Transaction;

use rusqlite::Connection;

use super::{StoreConfig, postgres, sqlite};
use crate::domain::Epoch;

/// The row of table `store` differs between the engines. Rows of SQLite have a number, rows of
/// PostgreSQL do not.
const SKIPPED: [&str; 3] = ["store", "clock", "objects.id"];

const RULES: &str = "SELECT rules, rules_revision FROM store";

/// Takes the database, unless a service has used it.
const CLAIM: &str = "UPDATE store SET epoch = $1, epoch_start = $2, rules = $3,
        rules_revision = $4, origin = store_origin()
     WHERE epoch IS NULL AND revision = 0 AND clients = 0";

const HEAD: &str = "UPDATE store SET clients = (SELECT count(*) FROM clients),
        revision = greatest((SELECT max(revision) FROM log), epoch_start),
        bytes_through = coalesce((SELECT max(bytes_through) FROM log), 0)";

#[derive(Debug, thiserror::Error)]
pub(crate) enum ImportError {
    #[error(transparent)]
    Copy(#[from] CopyError),
    #[error("the store cannot be read: {0}")]
    Read(#[from] rusqlite::Error),
    /// The SQLite schema cannot be migrated.
    #[error(transparent)]
    Source(#[from] sqlite::OpenError),
    #[error(transparent)]
    Target(#[from] OpenError),
    #[error("interrupted: nothing was imported")]
    Interrupted(#[from] Interrupted),
}

impl Fatal for ImportError {
    fn exit_code(&self) -> u8 {
        match self {
            Self::Copy(error) => error.exit_code(),
            Self::Read(error) => error.exit_code(),
            Self::Source(error) => error.exit_code(),
            Self::Target(error) => error.exit_code(),
            Self::Interrupted(error) => error.exit_code(),
        }
    }
}

/// Copies the SQLite store in the directory `source` into the database of `config`. Fails if a
/// service has used this database. The source keeps its data; only its schema is migrated.
#[tokio::main(flavor = "current_thread")]
pub(crate) async fn import(
    config: &StoreConfig,
    source: &Path,
    progress: &Progress,
) -> Result<(), ImportError> {
    let config = config.database.as_ref().ok_or(CopyError::NoTarget("OBJSTORE_DATABASE_URL"))?;
    let (_directory, mut store) = import::open(source, sqlite::DATABASE)?;
    let epoch = sqlite::prepare(&mut store)?;
    let store = store.transaction()?;

    let database = Database::of(config)?;
    progress.unless_stopped(postgres::migrate(&database)).await??;
    let mut connection = database.connect().await?;
    let failed = |error| database.failed(error);
    let cancel = connection.cancel_token();
    let transaction = connection.transaction().await.map_err(failed)?;
    let fill = fill(&store, epoch, &transaction, &database, progress);
    database.unless_stopped(progress, cancel, fill).await??;
    transaction.commit().await.map_err(failed)?;
    connection.batch_execute("ANALYZE").await.map_err(failed)?;
    Ok(())
}

async fn fill(
    store: &Connection,
    epoch: Epoch,
    transaction: &Transaction<'_>,
    database: &Database,
    progress: &Progress,
) -> Result<(), ImportError> {
    let failed = |error| database.failed(error);
    let (id, start) = (epoch.id.bits().cast_signed(), epoch.start.cast_signed());
    let (rules, rules_revision) = store.query_row(RULES, [], |row| {
        Ok((row.get::<_, Option<Vec<u8>>>(0)?, row.get::<_, i64>(1)?))
    })?;
    if transaction.execute(CLAIM, &[&id, &start, &rules, &rules_revision]).await.map_err(failed)?
        == 0
    {
        return Err(CopyError::NotEmpty(database.setting()).into());
    }
    import::copy(store, transaction, database, &SKIPPED, progress).await?;
    transaction.execute(HEAD, &[]).await.map_err(failed)?;
    Ok(())
}
