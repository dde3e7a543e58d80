//! A task that trims the change log and reads the numbers for the metrics, once a second.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use common::{
    outage::Outage,
    postgres::{Error, Pool, Statement, query},
    sql::Columns,
};
use deadpool_postgres::ClientWrapper;
use tokio::time::sleep;

use super::super::{Shared, Stats, StoreConfig};

const EVERY: Duration = Duration::from_secs(1);

/// Maximum number of records that one statement looks at.
const TRIM_BATCH: i64 = 4096;

/// Looks at the `$1` oldest records, and finds the first that must be kept. A record must be kept
/// if it is the newest, or if it is not from before `$2` and the records after it have at most `$3`
/// bytes. Deletes all records before it; if none must be kept, deletes all but the
/// last that it looked at. Also deletes the watches that ended before the oldest kept record. An
/// advisory lock lets one replica trim at a time.
const TRIM: &str = "WITH oldest AS (
         SELECT revision, at, bytes_through FROM log
         WHERE (SELECT pg_try_advisory_xact_lock(hashtext('objstore-svc trim')))
         ORDER BY revision LIMIT $1
     ), kept AS (
         SELECT coalesce(
             (SELECT min(oldest.revision) FROM oldest WHERE oldest.revision = store.revision OR
                 (oldest.at >= $2 AND store.bytes_through - oldest.bytes_through <= $3::bigint)),
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

pub(super) struct Upkeep {
    pub(super) shared: Arc<Shared>,
    pub(super) config: StoreConfig,
    pub(super) stats: Arc<Mutex<Stats>>,
}

impl Upkeep {
    /// Runs until it is aborted.
    pub(super) async fn run(self, pool: Arc<Pool>) {
        let outage = Outage::of("trimming the change log");
        loop {
            let turn = pool.acquire(async |connection| self.run_once(connection).await).await;
            let has_more = outage.observe(turn).unwrap_or(false);
            if !has_more {
                sleep(EVERY).await;
            }
        }
    }

    /// Returns whether there is more to trim.
    async fn run_once(&self, connection: &ClientWrapper) -> Result<bool, Error> {
        let retention = i64::try_from(self.config.log_retention.as_millis()).unwrap_or(i64::MAX);
        // After a jump of the clock, no record is too old.
        let now = self.shared.clock.latest();
        let before = now.map_or(i64::MIN, |now| now.saturating_sub(retention));
        let size = i64::try_from(self.config.log_size).unwrap_or(i64::MAX);
        let trim: Statement<'_> = (TRIM, &[&TRIM_BATCH, &before, &size]);
        let [trimmed, found] = query(connection, [trim, (STATS, &[])]).await?;
        let mut columns = Columns::from(found.first().ok_or(Error::NoRow)?);
        let mut number = || columns.read::<u64>();
        let (revision, bytes, clients) = (number()?, number()?, number()?);
        let (oldest, dropped_bytes) = (number()?, number()?);
        let current = Stats {
            revision,
            log_floor: oldest.saturating_sub(1),
            log_bytes: bytes.saturating_sub(dropped_bytes),
            clients,
            ..Stats::default()
        };
        *self.stats.lock().unwrap_or_else(PoisonError::into_inner) = current;
        let dropped: i64 = trimmed.first().ok_or(Error::NoRow)?.try_get(0)?;
        Ok(dropped >= TRIM_BATCH - 1)
    }
}
