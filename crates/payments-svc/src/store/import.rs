//! `payments-svc import`: copies a SQLite store into an empty PostgreSQL database.
//!
//! 1. The copy is one transaction: a failed import leaves no row, and may be repeated.
//! 2. Everything moves: IDs, digests of API keys, idempotency keys, the outbox. So apps continue
//!    where they were, and the service sends what the acquirer has not confirmed yet.
//! 3. The rules of `check` run on the new rows before the commit.
//! 4. The source directory is locked during the copy, so no service writes to it. Its write lock is
//!    held, too, because the `payout` command needs no lock of the directory.
//! 5. The target must have no row and no running service. Otherwise the import fails.

use std::path::Path;

use common::{
    exit::{AWAY, Fatal, USAGE},
    import::{self, ImportError as CopyError},
    postgres::{Database, OpenError},
    progress::{Interrupted, Progress},
};
use rusqlite::{Connection, TransactionBehavior};
use tokio_postgres::Transaction;

use super::{
    StoreConfig,
    check::{CheckError, Scope},
    postgres, sqlite,
};

/// The last ID of SQLite, which [`ADVANCE_IDS`] replaces in PostgreSQL, and the time of the last turn
/// of jobs.
const SKIPPED: [&str; 2] = ["ids", "clock"];

/// Removes the first row of a new database, which the copy brings, too.
const CLEAR_EXPIRY: &str = "DELETE FROM expiry WHERE through = decode(repeat('00', 12), 'hex')";

/// A service takes leases as soon as it has started, and extends them until it stops.
const IS_IN_USE: &str = "SELECT EXISTS (SELECT FROM leases WHERE until > clock_timestamp())";

/// The balance of a merchant is one row in SQLite, and `$1` rows in PostgreSQL.
const ADD_SHARDS: &str = "INSERT INTO balances (merchant, shard, balance)
     SELECT merchant, added.shard, 0
     FROM balances, generate_series(1, $1::bigint - 1) AS added (shard)";

/// Lets new IDs begin after the second `$1`, and so after all IDs of SQLite. Sequences are not
/// rolled back, which does no harm.
const ADVANCE_IDS: &str = "SELECT pg_advisory_xact_lock('id_seconds'::regclass::oid::bigint),
         setval('id_seconds', greatest(last_value, $1::bigint + 1))
     FROM id_seconds";

#[derive(Debug, thiserror::Error)]
pub(crate) enum ImportError {
    #[error(transparent)]
    Copy(#[from] CopyError),
    #[error("the store cannot be read: {0}")]
    Read(#[from] rusqlite::Error),
    #[error(transparent)]
    Target(#[from] OpenError),
    #[error("a service uses the database of {0}: stop it, or create another database")]
    InUse(&'static str),
    #[error("nothing was imported, because {0}")]
    Check(#[from] CheckError),
    #[error("interrupted: nothing was imported")]
    Interrupted(#[from] Interrupted),
}

impl Fatal for ImportError {
    fn exit_code(&self) -> u8 {
        match self {
            Self::Copy(error) => error.exit_code(),
            Self::Read(error) => error.exit_code(),
            Self::Target(error) => error.exit_code(),
            Self::InUse(_) => AWAY,
            Self::Check(CheckError::Disagree(_)) => USAGE,
            Self::Check(error) => error.exit_code(),
            Self::Interrupted(error) => error.exit_code(),
        }
    }
}

/// Copies the SQLite store in the directory `source` into the database of `config`. The source
/// keeps its data; only its schema is migrated.
#[tokio::main(flavor = "current_thread")]
pub(crate) async fn import(
    config: &StoreConfig,
    source: &Path,
    progress: &Progress,
) -> Result<(), ImportError> {
    let config = config.database.as_ref().ok_or(CopyError::NoTarget("PAYMENTS_DATABASE_URL"))?;
    let (_directory, mut store) = import::open(source, sqlite::DATABASE)?;
    sqlite::migrate(&mut store).map_err(CopyError::from)?;
    let store = store.transaction_with_behavior(TransactionBehavior::Immediate)?;

    let database = Database::of(config)?;
    progress.unless_stopped(postgres::migrate(&database)).await??;
    let mut connection = database.connect().await?;
    let failed = |error| database.failed(error);
    let cancel = connection.cancel_token();
    let transaction = connection.transaction().await.map_err(failed)?;
    let fill = fill(&store, &transaction, &database, progress);
    database.unless_stopped(progress, cancel, fill).await??;
    transaction.commit().await.map_err(failed)?;
    Ok(())
}

async fn fill(
    store: &Connection,
    transaction: &Transaction<'_>,
    database: &Database,
    progress: &Progress,
) -> Result<(), ImportError> {
    let failed = |error| database.failed(error);
    transaction.batch_execute(CLEAR_EXPIRY).await.map_err(failed)?;
    if transaction.query_one(IS_IN_USE, &[]).await.map_err(failed)?.get(0) {
        return Err(ImportError::InUse(database.setting()));
    }
    import::copy(store, transaction, database, &SKIPPED, progress).await?;
    transaction.execute(ADD_SHARDS, &[&postgres::SHARDS]).await.map_err(failed)?;
    transaction.batch_execute("ANALYZE").await.map_err(failed)?;
    transaction.batch_execute(postgres::PLANNER).await.map_err(failed)?;
    let findings = postgres::findings(database, transaction, Scope::Everything, progress).await?;
    findings.into_result()?;
    let second = i64::from(sqlite::last_id(store)?.second());
    transaction.query_one(ADVANCE_IDS, &[&second]).await.map_err(failed)?;
    Ok(())
}
