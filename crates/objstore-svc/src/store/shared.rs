//! What each engine's writer uses alike.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use common::batch::{Cost, Decided, Limits, Panicked};

use super::{StoreConfig, positions::Positions, sessions::SessionCache};
use crate::domain::{
    Answer, Epoch, Operation, Rules,
    fold::{self, Changes, Known},
};

/// One batch at a time, since a batch counts revisions from the one before. [`Operation::Reap`] fills
/// a batch by its rows.
pub(super) const LIMITS: Limits = Limits {
    batches: 1,
    another_at: usize::MAX,
    operations: 512,
    rows: 1024,
    bytes: 8 * 1024 * 1024,
    patience: Duration::from_secs(5),
};

/// What an engine shares with its writer.
pub(super) struct Shared {
    pub(super) rules: Rules,
    pub(super) sessions: SessionCache,
    positions: Mutex<Positions>,
}

impl Shared {
    pub(super) fn new(config: &StoreConfig, epoch: Epoch) -> Arc<Self> {
        let rules = Rules {
            epoch,
            owner: config.owner,
            lifetime: config.lifetime,
            max_clients: u64::try_from(config.max_clients).unwrap_or(u64::MAX),
            max_watches: u64::try_from(config.max_watches).unwrap_or(u64::MAX),
        };
        let (sessions, positions) = (SessionCache::new(), Mutex::default());
        Arc::new(Self { rules, sessions, positions })
    }

    pub(super) fn positions(&self) -> MutexGuard<'_, Positions> {
        self.positions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Decides a batch by the rules of this store.
    pub(super) fn decide(
        &self,
        known: Known,
        batch: &[&Operation],
    ) -> Result<Decided<Answer, Changes>, Panicked> {
        let (answers, changes) = fold::decide(&self.rules, known, batch).map_err(Panicked)?;
        Ok(Decided { answers, changes })
    }

    /// A batch is committed.
    pub(super) fn committed(&self, changes: &Changes) {
        changes.ended.iter().for_each(|&token| self.sessions.remove(token));
        if !changes.positions.is_empty() {
            self.positions().written();
        }
    }
}

/// The share of an operation in the limits of a batch.
pub(super) fn cost(operation: &Operation) -> Cost {
    let rows = if matches!(operation, Operation::Reap { .. }) { LIMITS.rows } else { 1 };
    Cost { rows, bytes: operation.size(), follows_up: false }
}
