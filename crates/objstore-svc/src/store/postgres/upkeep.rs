//! A task that trims the change log and reads the numbers for the metrics, once a second.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use common::{
    postgres::{Error, Pool, Statement, query},
    sql::Columns,
};
use deadpool_postgres::ClientWrapper;
use tokio::time::sleep;

use super::super::{Stats, StoreConfig, rows};

const EVERY: Duration = Duration::from_secs(1);

/// Number of failures in a row that log a warning, once per outage. A short outage needs no action,
/// because the log does not grow while the database is down.
const WARN_AFTER: u32 = 10;

/// Maximum number of records that one statement looks at.
const TRIM_BATCH: i64 = 4096;

/// Looks at the `$1` oldest records, and finds the first that must be kept. A record must be kept
/// if it is the newest, or if it is not older than `$2` milliseconds and the records after it have
/// at most `$3` bytes. Deletes all records before it; if none must be kept, deletes all but the
/// last that it looked at. Also deletes the watches that ended before the oldest kept record. An
/// advisory lock lets one replica trim at a time.
const TRIM: &str = "WITH oldest AS (
         SELECT revision, at, bytes_through FROM log
         WHERE (SELECT pg_try_advisory_xact_lock(hashtext('objstore-svc trim')))
         ORDER BY revision LIMIT $1
     ), kept AS (
         SELECT coalesce(
             (SELECT min(oldest.revision) FROM oldest WHERE oldest.revision = store.revision OR
                 (oldest.at >= floor(extract(epoch FROM clock_timestamp()) * 1000) - $2::bigint
                  AND store.bytes_through - oldest.bytes_through <= $3::bigint)),
             (SELECT max(oldest.revision) FROM oldest)
         ) AS revision FROM store
     ), ended AS (
         DELETE FROM watches USING kept WHERE until < kept.revision
     ), dropped AS (
         DELETE FROM log USING kept WHERE log.revision < kept.revision RETURNING 1
     )
     SELECT count(*) FROM dropped";

/// The numbers of the `store` row, and those of the oldest record.
const STATS: &str = "SELECT store.revision, store.bytes_through, clients,
         greatest(coalesce(oldest.revision, store.revision + 1), epoch_start + 1),
         coalesce(oldest.bytes_through, store.bytes_through)
     FROM store LEFT JOIN
         (SELECT revision, bytes_through FROM log ORDER BY revision LIMIT 1) AS oldest ON TRUE";

/// Runs until it is aborted.
pub(super) async fn run(pool: Arc<Pool>, config: StoreConfig, stats: Arc<Mutex<Stats>>) {
    let mut failures = 0_u32;
    loop {
        let pass = pool.acquire(async |connection| run_once(connection, &config, &stats).await);
        match pass.await {
            Ok(has_more) => {
                failures = 0;
                if has_more {
                    continue;
                }
            }
            Err(error) => {
                failures = failures.saturating_add(1);
                if failures == WARN_AFTER {
                    tracing::warn!(cause = %error, "cannot trim the change log, retrying");
                } else {
                    tracing::debug!(cause = %error, failures, "could not trim the change log");
                }
            }
        }
        sleep(EVERY).await;
    }
}

/// Returns whether there is more to trim.
async fn run_once(
    connection: &ClientWrapper,
    config: &StoreConfig,
    stats: &Mutex<Stats>,
) -> Result<bool, Error> {
    let retention = i64::try_from(config.log_retention.as_millis()).unwrap_or(i64::MAX / 2);
    let size = i64::try_from(config.log_size).unwrap_or(i64::MAX);
    let trim: Statement<'_> = (TRIM, &[&TRIM_BATCH, &retention, &size]);
    let [trimmed, found] = query(connection, [trim, (STATS, &[])]).await?;
    let mut columns = Columns::from(found.first().ok_or(Error::NoRow)?);
    let mut number = || rows::number(&mut columns);
    let (revision, bytes, clients) = (number()?, number()?, number()?);
    let (oldest, dropped_bytes) = (number()?, number()?);
    let current = Stats {
        revision,
        log_floor: oldest.saturating_sub(1),
        log_bytes: bytes.saturating_sub(dropped_bytes),
        clients,
        ..Stats::default()
    };
    *stats.lock().unwrap_or_else(PoisonError::into_inner) = current;
    let dropped: i64 = trimmed.first().ok_or(Error::NoRow)?.try_get(0)?;
    Ok(dropped >= TRIM_BATCH - 1)
}
