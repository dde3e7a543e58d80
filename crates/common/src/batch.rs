//! Group commit: pending operations share one database transaction.
//!
//! Callers add operations to a [`Queue`]. A [`Runner`] gathers pending operations into a batch.
//! The [`Engine`] loads the rows that the batch needs, decides every operation in memory, and
//! writes and commits the changes. Callers are answered after the commit, also with a rejection.
//!
//! `docs/decisions/group-commit.md` has the reasons at length. Before a change, know:
//! 1. **No timer delays the first batch.** It starts immediately. While it commits, the next one
//!    gathers: the more writes are pending, the more share one commit.
//! 2. **A further batch needs a reason.** While another one runs, it starts only if
//!    [`Limits::another_at`] operations are ready, or if the oldest has waited for 20 ms. Several
//!    small batches cost the database more than one large batch.
//! 3. **Two running batches never have a conflict key in common** ([`Engine::exclusive`]):
//!    otherwise they would contend for the same rows. An operation that has a key of a running
//!    batch is parked until a batch ends. Later operations with its keys are parked behind it, so
//!    that they do not overtake it.
//! 4. **A batch does not wait for row locks.** If another transaction has locked the rows of an
//!    operation ([`Loaded::locked`]), this operation leaves the batch and is retried after 2 to 16
//!    ms. The others continue.
//! 5. **One bad operation fails alone.** A panic in [`Engine::decide`] names its operation, and the
//!    batch runs again without it. After [`Failure::Operation`], or a panic in [`Engine::load`] or
//!    [`Engine::write`], the batch runs again in halves until the operation is found. After
//!    [`Failure::Conflict`] the batch is retried five times with jitter, and then halved, too. The
//!    other failures fail the whole batch.
//! 6. **[`WriteError::Overloaded`] promises that nothing was written**, so callers may retry. After
//!    [`WriteError::DiskFull`], [`WriteError::OutcomeUnknown`] and [`WriteError::Stopped`] the outcome is unknown. Do not mix
//!    them up.
//! 7. **An operation belongs to the queue, not to its caller.** It runs even if the caller
//!    disconnects, and its permits are held until it is answered. Follow-up work
//!    ([`Cost::is_follow_up`]) enters a full queue, because it finishes work that was admitted
//!    before.
//! 8. **A stop loses no queued operation.** The runner executes all queued operations, then the
//!    engine's own work, and ends. It leaves own work undone only if the database fails.

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

/// Limit of unanswered operations.
const QUEUE_LENGTH: usize = 4096;

/// Limit of the bytes that unanswered operations hold.
const QUEUE_BYTES: usize = 64 * 1024 * 1024;

/// How many batches an engine runs at the same time, and how large they are.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Maximum number of batches that run at the same time.
    pub batches: usize,
    /// Number of ready operations that start a further batch while another one runs.
    pub another_at: usize,
    /// Maximum number of operations in a batch.
    pub operations: usize,
    /// Maximum number of rows that the operations of a batch read and write.
    pub rows: usize,
    /// Maximum number of bytes that the operations of a batch hold.
    pub bytes: usize,
    /// An operation that is not started within this time gets [`WriteError::Overloaded`].
    pub start_timeout: Duration,
}

/// How much of the limits an operation uses.
#[derive(Debug, Clone, Copy, Default)]
pub struct Cost {
    /// Rows that the operation reads and writes.
    pub rows: usize,
    /// Bytes that the operation holds until it is answered.
    pub bytes: usize,
    /// Whether the operation finishes work that was admitted before. A full queue never rejects it.
    pub is_follow_up: bool,
}

/// The error behind a failed batch, shared by all of its callers.
pub type Cause = Arc<dyn Error + Send + Sync>;

/// An engine of a store (SQLite or PostgreSQL), as the [`Runner`] uses it.
pub trait Engine: Sized + 'static {
    /// Limits of every batch of this engine.
    const LIMITS: Limits;
    /// A write that a caller requests.
    type Operation: Send + 'static;
    /// The answer to a caller. A rejection is an answer, too.
    type Answer: Send + 'static;
    /// Rows that [`load`](Self::load) has read for [`decide`](Self::decide).
    type Known;
    /// Rows that [`decide`](Self::decide) has changed, for [`write`](Self::write).
    type Changes;
    /// An open database transaction, rolled back when dropped.
    type Open<'e>
    where
        Self: 'e;

    /// How much of the limits an operation uses.
    fn cost(operation: &Self::Operation) -> Cost;

    /// Adds the conflict keys of an operation, such as the hash of a row's key. Two running batches
    /// never have one in common. Not called if [`Limits::batches`] is 1.
    fn exclusive(_: &Self::Operation, _conflict_keys: &mut Vec<u64>) {}

    /// Returns work that no caller requests, such as deleting old rows. It joins the next batch. If
    /// `is_idle` (no operation is pending or running), it is a batch by itself.
    fn own_work(&self, _is_idle: bool) -> Option<Self::Operation> {
        None
    }

    /// Begins a transaction, and locks and reads the rows that the batch needs.
    fn load(
        &self,
        batch: &[&Self::Operation],
    ) -> impl Future<Output = Result<Loaded<Self::Open<'_>, Self::Known>, Failure>>;

    /// Decides the operations in order. Each one sees the changes of the earlier ones.
    fn decide(
        &self,
        known: Self::Known,
        batch: &[&Self::Operation],
    ) -> Result<Decided<Self::Answer, Self::Changes>, Panicked>;

    /// Writes the changes and commits. Returns one answer for each operation, in their order.
    fn write<'e>(
        &'e self,
        open: Self::Open<'e>,
        decided: Decided<Self::Answer, Self::Changes>,
    ) -> impl Future<Output = Result<Vec<Self::Answer>, Failure>>;

    /// Called after a batch was answered, with the bytes of its operations.
    fn after_batch(&self, _bytes: usize) {}

    /// Called after [`Failure::DiskFull`], with the number of operations of the batch.
    fn disk_full(&self, _operations: usize) {}

    /// Called once a second while no operation is pending or running.
    fn idle(&self) {}
}

/// An open transaction and the rows that it has read.
#[derive(Debug)]
pub struct Loaded<O, K> {
    /// Passed to [`Engine::write`].
    pub open: O,
    /// Passed to [`Engine::decide`].
    pub known: K,
    /// Indexes of the operations whose rows another transaction has locked, ascending. They are not
    /// decided, and wait for a later batch.
    pub locked: Vec<usize>,
}

/// The decisions on a batch.
#[derive(Debug)]
pub struct Decided<A, C> {
    /// One answer for each operation, in their order.
    pub answers: Vec<A>,
    /// Passed to [`Engine::write`].
    pub changes: C,
}

/// The operation at this index of a batch panicked in [`Engine::decide`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Panicked(pub usize);

/// Why a batch was not committed.
#[derive(Debug, Clone)]
pub enum Failure {
    /// Another transaction was faster: a unique violation, a deadlock or a serialization failure. A
    /// retry of the batch may succeed.
    Conflict(Cause),
    /// One operation violates a constraint of the database, or reads a broken row.
    Operation(Cause),
    /// The database was too busy for the batch. Nothing was written.
    Overload(Cause),
    /// The disk has no room for the batch.
    DiskFull(Cause),
    /// The database failed. Whether the batch was committed is unknown.
    Unknown(Cause),
}

/// Why an operation got no answer from the engine.
#[derive(Debug, Clone, thiserror::Error)]
pub enum WriteError {
    /// The queue is full, the operation was not started in time, or the database was too busy.
    /// Nothing was written.
    #[error("too many writes are pending")]
    Overloaded,
    /// The disk is full. Whether the operation was written is unknown, but probably not.
    #[error("the disk is full")]
    DiskFull,
    /// The batch failed. Whether it was committed is unknown.
    #[error("the write failed: it may or may not be committed")]
    OutcomeUnknown(#[source] Cause),
    /// The operation panicked. Nothing of it was written.
    #[error("the operation panicked")]
    Panicked,
    /// The runner has stopped. Whether the operation was written is unknown.
    #[error("the writer has stopped")]
    Stopped,
}

/// An operation in the queue, with the channel for its answer.
struct Job<E: Engine> {
    operation: E::Operation,
    cost: Cost,
    conflict_keys: Vec<u64>,
    queued: Instant,
    /// `None` for the engine's own work.
    answer: Option<oneshot::Sender<Result<E::Answer, WriteError>>>,
    _permits: Option<[Permit; 2]>,
}

impl<E: Engine> Job<E> {
    fn new(operation: E::Operation, cost: Cost) -> Self {
        let mut conflict_keys = Vec::new();
        if E::LIMITS.batches > 1 {
            E::exclusive(&operation, &mut conflict_keys);
        }
        let queued = Instant::now();
        Self { operation, cost, conflict_keys, queued, answer: None, _permits: None }
    }

    fn answer(self, answer: Result<E::Answer, WriteError>) {
        if let Some(sender) = self.answer {
            // The caller may have disconnected.
            let _ = sender.send(answer);
        }
    }
}

/// Accepts operations for a [`Runner`]. Clones share one queue.
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
    /// Creates a queue and the runner that executes its operations.
    pub fn new(engine: E) -> (Self, Runner<E>) {
        let (sender, jobs) = mpsc::unbounded_channel();
        let queue = Self {
            jobs: sender,
            length: Budget::new("write_queue_operations", QUEUE_LENGTH),
            bytes: Budget::new("write_queue_bytes", QUEUE_BYTES),
            counters: Arc::default(),
            stop: CancellationToken::new(),
        };
        let runner = Runner::new(engine, jobs, Arc::clone(&queue.counters), queue.stop.clone());
        (queue, runner)
    }

    /// Runs `operation` in a batch, and returns its answer after the commit. The operation runs
    /// even if the caller drops this future.
    pub async fn write(&self, operation: E::Operation) -> Result<E::Answer, WriteError> {
        let cost = E::cost(&operation);
        let mut job = Job::new(operation, cost);
        if !cost.is_follow_up {
            // An operation that is larger than the whole budget is admitted if no other one is
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

    /// Ends the runner after it has executed every operation that is already queued.
    pub fn stop(&self) {
        self.stop.cancel();
    }

    /// The limits of the queue in operations and bytes, for the metrics.
    pub fn limits(&self) -> [Arc<dyn Limited>; 2] {
        [Arc::clone(&self.length) as _, Arc::clone(&self.bytes) as _]
    }

    /// Counters since the start of the process.
    pub fn stats(&self) -> Stats {
        self.counters.stats(self.bytes.usage().used)
    }
}

#[cfg(test)]
mod tests;
