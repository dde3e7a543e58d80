//! Notices that the database was replaced by another version of itself.
//!
//! PostgreSQL begins another *timeline* when it promotes a standby or recovers to a point in time.
//! The new primary can lack the last commits of the old one. So state in memory that was read from
//! the database must not outlive a timeline.
//!
//! Each connection looks at the timeline once, when it is opened. This is enough: a server does not
//! change its timeline while it is a primary, and a connection to a standby fails here.
//!
//! An old primary that returns while another server has been promoted accepts writes, too, and these
//! would be lost later. So a connection to an older timeline of the same cluster fails.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicU64, Ordering},
};

use deadpool_postgres::ClientWrapper;

use super::Error;

/// The system identifier, which each cluster draws at its creation, the number of the timeline, and
/// when the server started: two standbys of one primary give their timelines the same number. Fails
/// on a standby.
const TIMELINE: &str = "SELECT system_identifier, left(pg_walfile_name(pg_current_wal_lsn()), 8),
         extract(epoch FROM pg_postmaster_start_time())::text
     FROM pg_control_system()";

#[derive(Debug, Clone, PartialEq, Eq)]
struct Timeline {
    system_identifier: i64,
    number: String,
    started: String,
}

impl Timeline {
    async fn read(client: &ClientWrapper) -> Result<Self, Error> {
        let row = client.query_one(TIMELINE, &[]).await?;
        let (system_identifier, number) = (row.try_get(0)?, row.try_get(1)?);
        Ok(Self { system_identifier, number, started: row.try_get(2)? })
    }

    fn is_older_than(&self, other: &Self) -> bool {
        // Numbers have eight hexadecimal digits.
        self.system_identifier == other.system_identifier && self.number < other.number
    }
}

/// The timelines that the connections of a [`Database`](super::Database) have seen.
#[derive(Clone, Default)]
pub(super) struct Timelines(Arc<Seen>);

#[derive(Default)]
struct Seen {
    newest: Mutex<Option<Timeline>>,
    changes: AtomicU64,
}

impl Timelines {
    /// Fails if the timeline of a connection is older than the newest one.
    pub(super) async fn check(&self, client: &ClientWrapper) -> Result<(), Error> {
        let timeline = Timeline::read(client).await?;
        let newest = self.0.newest.lock().unwrap_or_else(PoisonError::into_inner);
        let is_old = newest.as_ref().is_some_and(|newest| timeline.is_older_than(newest));
        if is_old { Err(Error::OldTimeline) } else { Ok(()) }
    }

    /// How often the timeline has changed, or its server has restarted.
    pub(super) fn changes(&self) -> u64 {
        self.0.changes.load(Ordering::Acquire)
    }

    /// Reads the timeline of a new connection, before anything else is read from it.
    pub(super) async fn observe(&self, client: &ClientWrapper) -> Result<(), Error> {
        let timeline = Timeline::read(client).await?;
        let mut newest = self.0.newest.lock().unwrap_or_else(PoisonError::into_inner);
        if newest.as_ref() == Some(&timeline) {
            return Ok(());
        }
        if newest.as_ref().is_some_and(|newest| timeline.is_older_than(newest)) {
            return Err(Error::OldTimeline);
        }
        if let Some(before) = newest.replace(timeline.clone()) {
            self.0.changes.fetch_add(1, Ordering::Release);
            let (before, now) = (before.number, timeline.number);
            if before == now {
                tracing::info!("the database has restarted");
            } else {
                tracing::warn!(
                    before,
                    now,
                    "the database has another timeline: the newest commits may be lost"
                );
            }
        }
        Ok(())
    }
}
