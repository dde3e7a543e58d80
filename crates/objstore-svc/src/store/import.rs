//! `objstore-svc import`: copies a SQLite store into an empty PostgreSQL database.
//!
//! 1. The copy is one transaction: a failed import leaves no row, and may be repeated.
//! 2. Epoch and revisions are kept, so ETags, watches and positions of clients stay valid.
//! 3. The source directory is locked during the copy, so no service writes to it.
//! 4. The target must have no epoch, revision or client. Otherwise a service has used it, and the
//!    import fails.

use std::path::Path;

use common::{
    import::{self, ImportError},
    postgres::Database,
    progress::Progress,
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

/// Copies the SQLite store in `directory` into the database of `config`. Fails if a
/// service has used this database. The source keeps its data; only its schema is migrated.
#[tokio::main(flavor = "current_thread")]
pub(crate) async fn import(
    config: &StoreConfig,
    directory: &Path,
    progress: &Progress,
) -> Result<(), ImportError> {
    let no_target = ImportError::NoTarget("OBJSTORE_DATABASE_URL");
    let config = config.database.as_ref().ok_or(no_target)?;
    let mut source = import::open(directory, sqlite::DATABASE, sqlite::migrate)?;
    let epoch = sqlite::epoch(&source.connection)?;
    let store = source.connection.transaction()?;
    import::run(directory, config, progress, postgres::migrate, async |transaction, database| {
        fill(&store, epoch, transaction, database, progress).await
    })
    .await
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
        return Err(ImportError::NotEmpty(database.setting()));
    }
    import::copy(store, transaction, database, &SKIPPED, progress).await?;
    transaction.execute(HEAD, &[]).await.map_err(failed)?;
    transaction.batch_execute("ANALYZE").await.map_err(failed)?;
    Ok(())
}
