//! Limits, state and decisions that the writers of both engines have in common.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use common::{
    batch::{Cost, Decided, Limits, Panicked},
    clock::JobClock,
};

use super::{StoreConfig, now, positions::Positions, sessions::SessionCache};
use crate::domain::{
    Answer, ClientId, Entry, Epoch, PresenceGrace, Revision, Rules, Timestamp, Write,
    decide::{self, Changes, LoadedRows},
};

/// One batch runs at a time, because its revisions follow those of the batch before it; so
/// `another_at` is never reached. A write that must be alone in its batch costs all rows of a
/// batch.
pub(super) const LIMITS: Limits = Limits {
    batches: 1,
    another_at: usize::MAX,
    writes: 512,
    rows: 1024,
    bytes: 8 * 1024 * 1024,
    start_timeout: Duration::from_secs(5),
};

/// The state that an engine shares with its writer.
pub(super) struct Shared {
    pub(super) rules: Rules,
    pub(super) sessions: SessionCache,
    positions: Mutex<Positions>,
    /// The newest epoch that this process has seen.
    epoch: Mutex<Epoch>,
    expired: AtomicU64,
    pub(super) clock: Arc<JobClock>,
}

impl Shared {
    pub(super) fn new(config: &StoreConfig, epoch: Epoch, clock: JobClock) -> Arc<Self> {
        let rules = Rules {
            owner: config.owner,
            lifetime: config.lifetime,
            grace: PresenceGrace::new(config.presence_grace),
            max_clients: u64::try_from(config.max_clients).unwrap_or(u64::MAX),
            max_watches: u64::try_from(config.max_watches).unwrap_or(u64::MAX),
        };
        let (sessions, positions) = (SessionCache::new(), Mutex::default());
        Arc::new(Self {
            rules,
            sessions,
            positions,
            epoch: Mutex::new(epoch),
            expired: AtomicU64::new(0),
            clock: Arc::new(clock),
        })
    }

    pub(super) fn epoch(&self) -> Epoch {
        *self.epoch.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records the epoch that a read has found. A new one drops the state in memory: sessions and
    /// positions may be of commits that are lost. An old one has no effect: a connection to a
    /// server that is not the primary anymore may be slow to fail.
    pub(super) fn observe(&self, epoch: Epoch) {
        {
            let mut newest = self.epoch.lock().unwrap_or_else(PoisonError::into_inner);
            if epoch.start <= newest.start {
                return;
            }
            *newest = epoch;
        }
        self.sessions.clear();
        self.positions().clear();
        tracing::warn!(
            revision = epoch.start,
            "the database failed over or was restored; the newest changes may be lost"
        );
    }

    /// Records an acknowledged position, unless it is of an earlier epoch.
    pub(super) fn acknowledge(&self, client: ClientId, position: Revision) {
        // Under this lock, `observe` cannot clear the positions before this one is added.
        let mut positions = self.positions();
        if position >= self.epoch().start {
            positions.advance(client, position);
        }
    }

    /// The time from which objects of a SQLite store count their time to live. Its millisecond can end
    /// at another moment than that of the wall clock, so it is rounded up.
    pub(super) fn time(&self) -> Timestamp {
        self.clock.steady().map_or_else(now, |steady| steady.saturating_add(1))
    }

    pub(super) fn positions(&self) -> MutexGuard<'_, Positions> {
        self.positions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn decide(
        &self,
        known: LoadedRows,
        batch: &[&Write],
    ) -> Result<Decided<Answer, Changes>, Panicked> {
        let (answers, changes) = decide::decide(&self.rules, known, batch).map_err(Panicked)?;
        Ok(Decided { answers, changes })
    }

    /// Updates the state after the commit of a batch.
    pub(super) fn committed(&self, changes: &Changes) {
        let ended = changes.ended_sessions.iter().map(|(token, _)| token);
        let gone = changes.deleted_sessions.iter().chain(ended);
        gone.for_each(|&token| self.sessions.remove(token));
        if !changes.positions.is_empty() {
            self.positions().written();
        }
        let entries = changes.records.iter().map(|(record, _)| &record.entry);
        let expired = entries.filter(|entry| matches!(entry, Entry::Delete(_, Some(_)))).count();
        self.expired.fetch_add(u64::try_from(expired).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// Objects that this process deleted because they expired or their client was gone.
    pub(super) fn expired(&self) -> u64 {
        self.expired.load(Ordering::Relaxed)
    }
}

/// How much of the limits of a batch a write uses.
pub(super) fn cost(write: &Write) -> Cost {
    let is_timed = matches!(write, Write::Expire { .. } | Write::KeepPresences { .. });
    let is_alone = is_timed || matches!(write, Write::Reap { .. });
    Cost {
        rows: if is_alone { LIMITS.rows } else { write.operations().len().max(1) },
        bytes: write.size(),
        // The set that limits the life of the object was admitted before.
        is_follow_up: is_timed,
    }
}
