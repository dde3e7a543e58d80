//! Group commit: pending writes share one database transaction.
//!
//! Callers add writes to a [`Queue`]. A [`Runner`] gathers pending writes into a batch. The
//! [`Engine`] loads the rows that the batch needs, decides every write in memory, and writes and
//! commits the changes. Callers are answered after the commit, also with a rejection.
//!
//! `docs/decisions/group-commit.md` has the reasons at length. Before a change, know:
//! 1. **No timer delays the first batch.** It starts immediately. While it commits, the next one
//!    gathers: the more writes are pending, the more share one commit.
//! 2. **A further batch needs a reason.** While another one runs, it starts only if
//!    [`Limits::another_at`] writes are ready, or if the oldest has waited for 20 ms. Several small
//!    batches cost the database more than one large batch.
//! 3. **Two running batches never have a lock key in common** ([`Engine::lock_keys`]): otherwise
//!    they would contend for the same rows. A write that has a key of a running batch is parked
//!    until a batch ends. Later writes with its keys are parked behind it, so that they do not
//!    overtake it.
//! 4. **A batch does not wait for row locks.** If another transaction has locked the rows of a
//!    write ([`Loaded::locked`]), this write leaves the batch and is retried after 2 to 16 ms. The
//!    others continue.
//! 5. **One bad write fails alone.** A panic in [`Engine::decide`] names its write, and the batch
//!    runs again without it. After [`Failure::Write`], or a panic in [`Engine::load`] or
//!    [`Engine::write`], the batch runs again in halves until the write is found. After
//!    [`Failure::Conflict`] the batch is retried five times with jitter, and then halved, too. The
//!    other failures fail the whole batch.
//! 6. **[`WriteError::Overloaded`] and [`WriteError::Locked`] promise that nothing was written**, so
//!    callers may retry. After [`WriteError::DiskFull`], [`WriteError::Failed`] and
//!    [`WriteError::Stopped`] the outcome is unknown. Do not mix them up.
//! 7. **A write belongs to the queue, not to its caller.** It runs even if the caller disconnects,
//!    and its permits are held until it is answered. Follow-up work ([`Cost::is_follow_up`]) enters
//!    a full queue, because it finishes work that was admitted before.
//! 8. **A stop loses no queued write.** The runner executes all queued writes, then the engine's
//!    own work, and ends. It leaves own work undone only if the database fails.

use std::{error::Error, sync::Arc, time::Duration};

use tokio::{
    sync::{mpsc, oneshot},
    time::Instant,
};
use tokio_util::sync::CancellationToken;

use crate::limits::{Budget, Limited, Permit};

mod attempt;
mod runner;
mod stats;
mod waiting;

pub use runner::Runner;
pub use stats::Stats;

use stats::Counters;

/// Limit of unanswered writes.
const QUEUE_LENGTH: usize = 4096;

/// Limit of the bytes that unanswered writes hold.
const QUEUE_BYTES: usize = 64 * 1024 * 1024;

/// How many batches an engine runs at the same time, and how large they are.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Maximum number of batches that run at the same time.
    pub batches: usize,
    /// Number of ready writes that start a further batch while another one runs.
    pub another_at: usize,
    /// Maximum number of writes in a batch.
    pub writes: usize,
    /// Maximum number of rows that the writes of a batch read and write.
    pub rows: usize,
    /// Maximum number of bytes that the writes of a batch hold.
    pub bytes: usize,
    /// A write that is not started within this time gets [`WriteError::Overloaded`] or
    /// [`WriteError::Locked`].
    pub start_timeout: Duration,
}

/// How much of the limits a write uses.
#[derive(Debug, Clone, Copy, Default)]
pub struct Cost {
    /// Rows that the write reads and writes.
    pub rows: usize,
    /// Bytes that the write holds until it is answered.
    pub bytes: usize,
    /// Whether the write finishes work that was admitted before. A full queue never rejects it.
    pub is_follow_up: bool,
}

/// The error behind a failed batch, shared by all of its callers.
pub type Cause = Arc<dyn Error + Send + Sync>;

/// An engine of a store (SQLite or PostgreSQL), as the [`Runner`] uses it.
pub trait Engine: Sized + 'static {
    /// Limits of every batch of this engine.
    const LIMITS: Limits;
    /// A write that a caller requests.
    type Write: Send + 'static;
    /// The answer to a caller. A rejection is an answer, too.
    type Answer: Send + 'static;
    /// Rows that [`load`](Self::load) has read for [`decide`](Self::decide).
    type LoadedRows;
    /// Rows that [`decide`](Self::decide) has changed, for [`write`](Self::write).
    type Changes;
    /// An open database transaction, rolled back when dropped.
    type Open<'e>
    where
        Self: 'e;

    /// How much of the limits a write uses.
    fn cost(write: &Self::Write) -> Cost;

    /// Adds the lock keys of a write, such as the hash of a row's key. Two running batches never
    /// have one in common. Not called if [`Limits::batches`] is 1.
    fn lock_keys(_: &Self::Write, _lock_keys: &mut Vec<u64>) {}

    /// Returns work that no caller requests, such as deleting old rows. It joins the next batch. If
    /// `is_idle` (no write is pending or running), it is a batch by itself.
    fn own_work(&self, _is_idle: bool) -> Option<Self::Write> {
        None
    }

    /// Begins a transaction, and locks and reads the rows that the batch needs.
    fn load(
        &self,
        batch: &[&Self::Write],
    ) -> impl Future<Output = Result<Loaded<Self::Open<'_>, Self::LoadedRows>, Failure>>;

    /// Decides the writes in order. Each one sees the changes of the earlier ones.
    fn decide(
        &self,
        known: Self::LoadedRows,
        batch: &[&Self::Write],
    ) -> Result<Decided<Self::Answer, Self::Changes>, Panicked>;

    /// Writes the changes and commits. Returns one answer for each write, in their order.
    fn write<'e>(
        &'e self,
        open: Self::Open<'e>,
        decided: Decided<Self::Answer, Self::Changes>,
    ) -> impl Future<Output = Result<Vec<Self::Answer>, Failure>>;

    /// Called after a batch was answered, with the bytes of its writes.
    fn after_batch(&self, _bytes: usize) {}

    /// Called after [`Failure::DiskFull`], with the number of writes of the batch.
    fn disk_full(&self, _writes: usize) {}

    /// Called when writes got [`WriteError::Locked`].
    fn locked(&self) {}

    /// Called once a second while no write is pending or running.
    fn idle(&self) {}
}

/// An open transaction and the rows that it has read.
#[derive(Debug)]
pub struct Loaded<O, K> {
    /// Passed to [`Engine::write`].
    pub open: O,
    /// Passed to [`Engine::decide`].
    pub known: K,
    /// Indexes of the writes whose rows another transaction has locked, ascending. They are not
    /// decided, and wait for a later batch.
    pub locked: Vec<usize>,
}

/// The decisions on a batch.
#[derive(Debug)]
pub struct Decided<A, C> {
    /// One answer for each write, in their order.
    pub answers: Vec<A>,
    /// Passed to [`Engine::write`].
    pub changes: C,
}

/// The write at this index of a batch panicked in [`Engine::decide`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Panicked(pub usize);

/// Why a batch was not committed.
#[derive(Debug, Clone)]
pub enum Failure {
    /// Another transaction was faster: a unique violation, a deadlock or a serialization failure. A
    /// retry of the batch may succeed.
    Conflict(Cause),
    /// One write violates a constraint of the database, or reads a broken row.
    Write(Cause),
    /// The database was too busy for the batch. Nothing was written.
    Overload(Cause),
    /// Somebody else holds a lock for too long. Nothing was written.
    Locked(Cause),
    /// The disk has no room for the batch.
    DiskFull(Cause),
    /// The database failed. Whether the batch was committed is unknown.
    Unknown(Cause),
}

/// Why a write got no answer from the engine.
#[derive(Debug, Clone, thiserror::Error)]
pub enum WriteError {
    /// The queue is full, the write was not started in time, or the database was too busy.
    /// Nothing was written.
    #[error("too many writes are pending")]
    Overloaded,
    /// Somebody else holds a lock for too long. Nothing was written.
    #[error("somebody else holds a lock in the database")]
    Locked,
    /// The disk is full. Whether it was written is unknown, but probably not.
    #[error("the disk is full")]
    DiskFull,
    /// The batch failed. Whether it was committed is unknown.
    #[error("the write failed: it may or may not be committed")]
    Failed(#[source] Cause),
    /// The write panicked. Nothing of it was written.
    #[error("the write panicked")]
    Panicked,
    /// The runner has stopped. Whether it was written is unknown.
    #[error("the writer has stopped")]
    Stopped,
}

/// A write in the queue, with the channel for its answer.
struct Job<E: Engine> {
    write: E::Write,
    cost: Cost,
    lock_keys: Vec<u64>,
    queued: Instant,
    /// Whether a batch has found a row of it locked.
    is_locked: bool,
    /// `None` for the engine's own work.
    answer: Option<oneshot::Sender<Result<E::Answer, WriteError>>>,
    _permits: Option<[Permit; 2]>,
}

impl<E: Engine> Job<E> {
    fn new(write: E::Write, cost: Cost) -> Self {
        let mut lock_keys = Vec::new();
        if E::LIMITS.batches > 1 {
            E::lock_keys(&write, &mut lock_keys);
        }
        let queued = Instant::now();
        Self { write, cost, lock_keys, queued, is_locked: false, answer: None, _permits: None }
    }

    fn answer(self, answer: Result<E::Answer, WriteError>) {
        if let Some(sender) = self.answer {
            // The caller may have disconnected.
            let _ = sender.send(answer);
        }
    }
}

/// Accepts writes for a [`Runner`]. Clones share one queue.
pub struct Queue<E: Engine> {
    jobs: mpsc::UnboundedSender<Job<E>>,
    length: Arc<Budget>,
    bytes: Arc<Budget>,
    counters: Arc<Counters>,
    stop: CancellationToken,
}

impl<E: Engine> Clone for Queue<E> {
    fn clone(&self) -> Self {
        Self {
            jobs: self.jobs.clone(),
            length: Arc::clone(&self.length),
            bytes: Arc::clone(&self.bytes),
            counters: Arc::clone(&self.counters),
            stop: self.stop.clone(),
        }
    }
}

impl<E: Engine> Queue<E> {
    /// Creates a queue and the runner that executes its writes.
    pub fn new(engine: E) -> (Self, Runner<E>) {
        let (sender, jobs) = mpsc::unbounded_channel();
        let queue = Self {
            jobs: sender,
            length: Budget::new("queued_writes", QUEUE_LENGTH),
            bytes: Budget::new("write_queue_bytes", QUEUE_BYTES),
            counters: Arc::default(),
            stop: CancellationToken::new(),
        };
        let runner = Runner::new(engine, jobs, Arc::clone(&queue.counters), queue.stop.clone());
        (queue, runner)
    }

    /// Runs `write` in a batch, and returns its answer after the commit. The write runs even if the
    /// caller drops this future.
    pub async fn write(&self, write: E::Write) -> Result<E::Answer, WriteError> {
        let cost = E::cost(&write);
        let mut job = Job::new(write, cost);
        if !cost.is_follow_up {
            // A write that is larger than the whole budget is admitted if no other one is
            // pending.
            let bytes = self.bytes.take(cost.bytes.min(QUEUE_BYTES));
            let permits = self.length.take(1).zip(bytes).ok_or(WriteError::Overloaded)?;
            job._permits = Some(permits.into());
        }
        let (answer, answered) = oneshot::channel();
        job.answer = Some(answer);
        self.jobs.send(job).map_err(|_| WriteError::Stopped)?;
        answered.await.unwrap_or(Err(WriteError::Stopped))
    }

    /// Ends the runner after it has executed every write that is already queued.
    pub fn stop(&self) {
        self.stop.cancel();
    }

    /// The limits of the queue in writes and bytes, for the metrics.
    pub fn limits(&self) -> [Arc<dyn Limited>; 2] {
        [Arc::clone(&self.length) as _, Arc::clone(&self.bytes) as _]
    }

    /// Counters since the start of the process.
    pub fn stats(&self) -> Stats {
        self.counters.stats()
    }
}

#[cfg(test)]
mod tests;
