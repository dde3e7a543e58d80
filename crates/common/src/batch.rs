//! Group commit: operations that wait share one database transaction.
//!
//! Callers hand operations to a [`Queue`]. A [`Runner`] gathers those that wait into a batch, lets
//! the [`Engine`] load the rows that the batch needs, lets it decide every operation in memory, and
//! lets it write and commit the changes. Callers are answered after the commit.

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

/// Operations that may wait at once.
const QUEUE_LENGTH: usize = 4096;

/// Bytes that waiting operations may hold.
const QUEUE_BYTES: usize = 64 * 1024 * 1024;

/// How many batches an engine runs at once, and how much goes into one.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Batches that run at once.
    pub batches: usize,
    /// Waiting operations that start a further batch while another one runs.
    pub another_at: usize,
    /// Operations in a batch.
    pub operations: usize,
    /// Rows that the operations of a batch read and write.
    pub rows: usize,
    /// Bytes that the operations of a batch hold.
    pub bytes: usize,
    /// How long an operation waits to be started before it is refused.
    pub patience: Duration,
}

/// The share of an operation in the limits.
#[derive(Debug, Clone, Copy, Default)]
pub struct Cost {
    /// Rows that it reads and writes.
    pub rows: usize,
    /// Bytes that it holds while it waits.
    pub bytes: usize,
    /// Whether it finishes work that was admitted before. Such an operation is never refused for a
    /// full queue.
    pub follows_up: bool,
}

/// A cause that several callers are answered with.
pub type Cause = Arc<dyn Error + Send + Sync>;

/// A service's store, as the runner uses it.
pub trait Engine: Sized + 'static {
    /// The limits of its batches.
    const LIMITS: Limits;
    /// A write as it is asked for.
    type Operation: Send + 'static;
    /// The answer to a caller. A refusal is an answer, too.
    type Answer: Send + 'static;
    /// The rows that a batch needs.
    type Known;
    /// The rows that a batch changes.
    type Changes;
    /// An open database transaction, rolled back when dropped.
    type Open<'e>
    where
        Self: 'e;

    /// The share of an operation in the limits.
    fn cost(operation: &Self::Operation) -> Cost;

    /// Adds the names that no two running batches may share, such as the hash of a row's key.
    fn exclusive(_: &Self::Operation, _: &mut Vec<u64>) {}

    /// Work of the engine's own, to be done with the next batch, or by itself when `is_idle`.
    fn own_work(&self, _is_idle: bool) -> Option<Self::Operation> {
        None
    }

    /// Begins a transaction, locks and reads the rows that the batch needs.
    fn load(
        &self,
        batch: &[&Self::Operation],
    ) -> impl Future<Output = Result<Loaded<Self::Open<'_>, Self::Known>, Failure>>;

    /// Decides the operations one after the other. Each sees the changes of those before it.
    fn decide(
        &self,
        known: Self::Known,
        batch: &[&Self::Operation],
    ) -> Result<Decided<Self::Answer, Self::Changes>, Panicked>;

    /// Writes the changes and commits. Returns one answer for each operation.
    fn write<'e>(
        &'e self,
        open: Self::Open<'e>,
        decided: Decided<Self::Answer, Self::Changes>,
    ) -> impl Future<Output = Result<Vec<Self::Answer>, Failure>>;

    /// Called after a batch was answered, with the bytes of its operations.
    fn after_batch(&self, _bytes: usize) {}

    /// Called once a second while nothing waits.
    fn idle(&self) {}
}

/// A transaction that has been begun.
#[derive(Debug)]
pub struct Loaded<O, K> {
    /// The transaction.
    pub open: O,
    /// The rows that the batch needs.
    pub known: K,
    /// Operations whose rows somebody else has locked, by their places in the batch, ascending.
    /// They are not decided now, and wait for a later batch.
    pub locked: Vec<usize>,
}

/// The decisions on a batch.
#[derive(Debug)]
pub struct Decided<A, C> {
    /// One answer for each operation.
    pub answers: Vec<A>,
    /// The rows to write.
    pub changes: C,
}

/// The operation at this place of a batch panicked while it was decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Panicked(pub usize);

/// Why a batch was not committed.
#[derive(Debug, Clone)]
pub enum Failure {
    /// Another transaction was faster. The batch may succeed when it runs again.
    Conflict(Cause),
    /// One operation breaks a rule of the database, or reads a broken row.
    Operation(Cause),
    /// The database had no time for the batch. Nothing was written.
    Overload(Cause),
    /// The database failed. Whether the batch was committed is unknown.
    Unknown(Cause),
}

/// Why an operation has no answer of the engine.
#[derive(Debug, Clone, thiserror::Error)]
pub enum WriteError {
    /// Too many operations wait. Nothing was written.
    #[error("too many writes are waiting")]
    Overloaded,
    /// The commit failed. Whether the operation was written is unknown.
    #[error("the write could not be committed")]
    NotCommitted(#[source] Cause),
    /// The operation panicked. Nothing of it was written.
    #[error("the operation panicked")]
    Panicked,
    /// The runner has stopped. Whether the operation was written is unknown.
    #[error("the writer has stopped")]
    Stopped,
}

struct Job<E: Engine> {
    operation: E::Operation,
    cost: Cost,
    names: Vec<u64>,
    queued: Instant,
    /// Missing of the engine's own work.
    answer: Option<oneshot::Sender<Result<E::Answer, WriteError>>>,
    _permits: Option<[Permit; 2]>,
}

impl<E: Engine> Job<E> {
    fn new(operation: E::Operation, cost: Cost) -> Self {
        let mut names = Vec::new();
        if E::LIMITS.batches > 1 {
            E::exclusive(&operation, &mut names);
        }
        Self { operation, cost, names, queued: Instant::now(), answer: None, _permits: None }
    }

    fn answer(self, answer: Result<E::Answer, WriteError>) {
        if let Some(sender) = self.answer {
            // The caller may have left.
            let _ = sender.send(answer);
        }
    }
}

/// Takes operations for a [`Runner`].
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
    /// A queue, and the runner that empties it.
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

    /// Runs `operation` in a batch. The operation is carried out even when the caller leaves.
    pub async fn write(&self, operation: E::Operation) -> Result<E::Answer, WriteError> {
        let cost = E::cost(&operation);
        let mut job = Job::new(operation, cost);
        if !cost.follows_up {
            // An operation that is larger than the whole budget may wait alone.
            let bytes = self.bytes.take(cost.bytes.min(QUEUE_BYTES));
            let permits = self.length.take(1).zip(bytes).ok_or(WriteError::Overloaded)?;
            job._permits = Some(permits.into());
        }
        let (answer, answered) = oneshot::channel();
        job.answer = Some(answer);
        self.jobs.send(job).map_err(|_| WriteError::Stopped)?;
        answered.await.unwrap_or(Err(WriteError::Stopped))
    }

    /// Lets the runner end once it has written everything that was handed over so far.
    pub fn stop(&self) {
        self.stop.cancel();
    }

    /// The limits of the queue, for the metrics.
    pub fn limits(&self) -> [Arc<dyn Limited>; 2] {
        [Arc::clone(&self.length) as _, Arc::clone(&self.bytes) as _]
    }

    /// Counts for the metrics.
    pub fn stats(&self) -> Stats {
        self.counters.stats(self.bytes.usage().used)
    }
}

#[cfg(test)]
mod tests;
