//! Pending writes: which ones may start, and which ones wait for a running batch or a row lock.

use std::{
    collections::{HashSet, VecDeque},
    time::Duration,
};

use rand::random_range;
use tokio::time::Instant;

use super::{Engine, Job};

/// Waiting time of the oldest write after which a batch starts although another one runs.
const ANOTHER_AFTER: Duration = Duration::from_millis(20);

/// Jitter before a write with locked rows is retried, in milliseconds.
const LOCKED_FOR: std::ops::RangeInclusive<u64> = 2..=16;

pub(super) struct Waiting<E: Engine> {
    ready: VecDeque<Job<E>>,
    /// Writes that have a lock key of a running batch or of an earlier parked write.
    parked: VecDeque<Job<E>>,
    /// Writes whose rows another transaction has locked, with the time of their retry.
    delayed: Vec<(Instant, Job<E>)>,
    /// Lock keys of the running batches.
    running: HashSet<u64>,
}

impl<E: Engine> Waiting<E> {
    pub(super) fn new() -> Self {
        Self {
            ready: VecDeque::new(),
            parked: VecDeque::new(),
            delayed: Vec::new(),
            running: HashSet::new(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ready.is_empty() && self.parked.is_empty() && self.delayed.is_empty()
    }

    pub(super) fn add(&mut self, job: Job<E>) {
        self.ready.push_back(job);
    }

    /// Whether a further batch may start while `running` batches run.
    pub(super) fn may_start(&self, running: usize, now: Instant) -> bool {
        let Some(oldest) = self.ready.front() else { return false };
        let is_worthwhile = self.ready.len() >= E::LIMITS.another_at
            || now.duration_since(oldest.queued) >= ANOTHER_AFTER;
        running == 0 || (running < E::LIMITS.batches && is_worthwhile)
    }

    /// Removes the next batch. It is empty if every ready write conflicts with a running batch.
    pub(super) fn gather(&mut self) -> Vec<Job<E>> {
        let limits = E::LIMITS;
        let mut batch: Vec<Job<E>> = Vec::new();
        let (mut rows, mut bytes) = (0_usize, 0_usize);
        let mut parked: HashSet<u64> = self.parked.iter().flat_map(lock_keys).collect();
        while let Some(job) = self.ready.pop_front() {
            let conflicts = |key| self.running.contains(&key) || parked.contains(&key);
            if lock_keys(&job).any(conflicts) {
                parked.extend(lock_keys(&job));
                self.parked.push_back(job);
                continue;
            }
            let sums = (rows.saturating_add(job.cost.rows), bytes.saturating_add(job.cost.bytes));
            let is_full = batch.len() >= limits.writes
                || (!batch.is_empty() && (sums.0 > limits.rows || sums.1 > limits.bytes));
            if is_full {
                self.ready.push_front(job);
                break;
            }
            (rows, bytes) = sums;
            batch.push(job);
        }
        self.running.extend(batch.iter().flat_map(lock_keys));
        batch
    }

    /// Called after a batch. `locked` are its writes that have to be retried.
    pub(super) fn ended(&mut self, lock_keys: &[u64], locked: Vec<Job<E>>, now: Instant) {
        for key in lock_keys {
            self.running.remove(key);
        }
        while let Some(job) = self.parked.pop_back() {
            self.ready.push_front(job);
        }
        let retry_at = || now + Duration::from_millis(random_range(LOCKED_FOR));
        self.delayed.extend(locked.into_iter().map(|job| (retry_at(), job)));
    }

    /// Makes the delayed writes ready whose retry is due.
    pub(super) fn end_delays(&mut self, now: Instant) {
        for (_, job) in self.delayed.extract_if(.., |(retry_at, _)| *retry_at <= now) {
            self.ready.push_front(job);
        }
    }

    /// Removes the writes that have waited for too long
    /// ([`Limits::start_timeout`](super::Limits::start_timeout)).
    pub(super) fn take_overdue(&mut self, now: Instant) -> Vec<Job<E>> {
        let mut overdue = Vec::new();
        if self.overdue_at().is_some_and(|at| at <= now) {
            let is_overdue =
                |job: &Job<E>| now.duration_since(job.queued) >= E::LIMITS.start_timeout;
            for waiting in [&mut self.ready, &mut self.parked] {
                let (expired, kept) = waiting.drain(..).partition::<Vec<_>, _>(is_overdue);
                overdue.extend(expired);
                waiting.extend(kept);
            }
            overdue.extend(
                self.delayed.extract_if(.., |(_, job)| is_overdue(job)).map(|(_, job)| job),
            );
        }
        overdue
    }

    /// When the runner must wake up even if no batch ends and no write arrives.
    pub(super) fn wake_at(&self, running: usize) -> Option<Instant> {
        let retry = self.delayed.iter().map(|(retry_at, _)| *retry_at).min();
        let another = self.ready.front().filter(|_| running < E::LIMITS.batches);
        let another = another.map(|job| job.queued + ANOTHER_AFTER);
        [retry, another, self.overdue_at()].into_iter().flatten().min()
    }

    /// When the oldest write becomes overdue. Each queue is roughly in the order of arrival.
    fn overdue_at(&self) -> Option<Instant> {
        let first =
            [self.ready.front(), self.parked.front(), self.delayed.first().map(|(_, job)| job)];
        let oldest = first.into_iter().flatten().map(|job| job.queued).min();
        oldest?.checked_add(E::LIMITS.start_timeout)
    }
}

fn lock_keys<E: Engine>(job: &Job<E>) -> impl Iterator<Item = u64> {
    job.lock_keys.iter().copied()
}
