//! Counters of the batching loop.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counters since the start of the process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stats {
    /// Committed batches.
    pub commits: u64,
    /// Writes of callers in committed batches, without the engine's own work.
    pub writes: u64,
    /// Retries of batches because another transaction was faster.
    pub conflicts: u64,
    /// Writes left for a later batch because their rows were locked.
    pub postponed: u64,
}

#[derive(Debug, Default)]
pub(super) struct Counters {
    commits: AtomicU64,
    writes: AtomicU64,
    conflicts: AtomicU64,
    postponed: AtomicU64,
}

impl Counters {
    /// Nothing was committed if all rows were locked.
    pub(super) fn ended(&self, is_committed: bool, writes: usize, postponed: usize) {
        self.commits.fetch_add(is_committed.into(), Ordering::Relaxed);
        add(&self.writes, writes);
        add(&self.postponed, postponed);
    }

    pub(super) fn conflict(&self) {
        self.conflicts.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn stats(&self) -> Stats {
        Stats {
            commits: self.commits.load(Ordering::Relaxed),
            writes: self.writes.load(Ordering::Relaxed),
            conflicts: self.conflicts.load(Ordering::Relaxed),
            postponed: self.postponed.load(Ordering::Relaxed),
        }
    }
}

fn add(counter: &AtomicU64, more: usize) {
    counter.fetch_add(u64::try_from(more).unwrap_or(u64::MAX), Ordering::Relaxed);
}
