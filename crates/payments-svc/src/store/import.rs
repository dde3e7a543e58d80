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
    exit::{Fatal as _, USAGE},
    import::{self, ImportError},
    postgres::Database,
    progress::Progress,
};
use rusqlite::{Connection, TransactionBehavior};
use tokio_postgres::Transaction;

use super::{
    StoreConfig,
    check::{CheckError, Findings, Scope},
    postgres, sqlite,
};

/// The last ID of SQLite, which [`ADVANCE_IDS`] replaces in PostgreSQL, and the time of the last turn
/// of jobs.
const SKIPPED: [&str; 2] = ["ids", "clock"];

/// Removes the first rows of a new database, which the copy brings, too.
const CLEAR: &str = "DELETE FROM expiry WHERE through = decode(repeat('00', 12), 'hex');
     DELETE FROM day_cursors WHERE number = 0";

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

/// Copies the SQLite store in `directory` into the database of `config`. The source
/// keeps its data; only its schema is migrated.
#[tokio::main(flavor = "current_thread")]
pub(crate) async fn import(
    config: &StoreConfig,
    directory: &Path,
    progress: &Progress,
) -> Result<(), ImportError> {
    let no_target = ImportError::NoTarget("PAYMENTS_DATABASE_URL");
    let config = config.database.as_ref().ok_or(no_target)?;
    let mut source = import::open(directory, sqlite::DATABASE, sqlite::migrate)?;
    let store = source.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    import::run(directory, config, progress, postgres::migrate, async |transaction, database| {
        fill(&store, transaction, database, progress).await
    })
    .await
}

async fn fill(
    store: &Connection,
    transaction: &Transaction<'_>,
    database: &Database,
    progress: &Progress,
) -> Result<(), ImportError> {
    let failed = |error| database.failed(error);
    transaction.batch_execute(CLEAR).await.map_err(failed)?;
    if transaction.query_one(IS_IN_USE, &[]).await.map_err(failed)?.get(0) {
        return Err(ImportError::InUse(database.setting()));
    }
    import::copy(store, transaction, database, &SKIPPED, progress).await?;
    transaction.execute(ADD_SHARDS, &[&postgres::SHARDS]).await.map_err(failed)?;
    transaction.batch_execute("ANALYZE").await.map_err(failed)?;
    let findings = postgres::findings(database, transaction, true, Scope::ALL, progress).await;
    findings.and_then(Findings::into_result).map_err(unchecked)?;
    let second = i64::from(sqlite::last_id(store)?.second());
    transaction.query_one(ADVANCE_IDS, &[&second]).await.map_err(failed)?;
    Ok(())
}

fn unchecked(error: CheckError) -> ImportError {
    let code = if matches!(error, CheckError::Disagree(_)) { USAGE } else { error.exit_code() };
    ImportError::Check { reason: error.to_string(), code }
}
