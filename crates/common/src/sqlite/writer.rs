//! Group commit: one thread applies whatever waits, commits it at once and only then answers.

use std::{
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError, TrySendError, sync_channel},
    },
    thread::{Builder, JoinHandle},
    time::Duration,
};

use rusqlite::{Connection, ErrorCode, TransactionBehavior};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::{checkpoint::Checkpointer, open, reader::Lookups};

/// Operations that may wait for the writer.
const QUEUE_LENGTH: usize = 4096;

/// Bytes that waiting operations may hold; one operation may always wait.
const QUEUE_BYTES: usize = 64 * 1024 * 1024;

/// Operations that share a commit at most.
const BATCH_LENGTH: usize = 512;

/// Bytes after which a batch takes no more operations.
const BATCH_BYTES: usize = 8 * 1024 * 1024;

/// How often an idle writer lets its engine write what waits without a client.
const TICK: Duration = Duration::from_secs(1);

/// What a service does inside the writer's transactions.
pub trait Engine: Send + 'static {
    /// A write as it is asked for.
    type Operation: Send + 'static;
    /// What its client is told once it is on disk. Refusals are answers too.
    type Answer: Send + 'static;

    /// Bytes that an operation holds while it waits.
    fn weight(operation: &Self::Operation) -> usize;

    /// Whether there is something to do though no operation waits. Asked once a second.
    fn is_due(&self) -> bool;

    /// Whether there is something that must be on disk before the writer ends.
    fn has_unwritten(&self) -> bool;

    /// Applies one operation. A panic, and an error that is about this operation, fail it alone, and
    /// the others of its batch are applied again without it; any other error fails the whole batch.
    fn apply(
        &mut self,
        transaction: &Connection,
        operation: &Self::Operation,
    ) -> rusqlite::Result<Self::Answer>;

    /// Writes what belongs to the batch as a whole, last before the commit.
    fn finish(&mut self, transaction: &Connection) -> rusqlite::Result<()>;

    /// The batch is on disk.
    fn committed(&mut self);

    /// The batch is undone: forget what it changed in memory.
    fn rolled_back(&mut self);
}

/// Why a writer did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The database cannot be opened.
    #[error("the database cannot be opened: {0}")]
    Sqlite(#[from] rusqlite::Error),
    /// The database's file cannot be opened.
    #[error("the database's file cannot be opened: {0}")]
    File(#[source] io::Error),
    /// A thread cannot be had.
    #[error("a thread cannot be started: {0}")]
    Thread(#[source] io::Error),
}

/// Why a write was not answered by the engine.
#[derive(Debug, Clone, thiserror::Error)]
pub enum WriteError {
    /// Too much waits already. Nothing was written.
    #[error("too many writes are waiting")]
    Overloaded,
    /// The commit failed. Whether anything was written is unknown.
    #[error("the write could not be committed")]
    NotCommitted(#[source] Arc<rusqlite::Error>),
    /// The operation panicked. Nothing of it was written.
    #[error("the operation panicked")]
    Panicked,
    /// The writer has stopped. Whether anything was written is unknown.
    #[error("the writer has stopped")]
    Stopped,
}

enum Item<E: Engine> {
    Write(Job<E>),
    Stop,
}

struct Job<E: Engine> {
    operation: E::Operation,
    weight: usize,
    answer: oneshot::Sender<Result<E::Answer, WriteError>>,
}

/// Where operations are handed to the writer, and what they have written is looked up.
pub struct Handle<E: Engine> {
    queue: SyncSender<Item<E>>,
    waiting_bytes: Arc<AtomicUsize>,
    lookups: Arc<Lookups>,
}

impl<E: Engine> Clone for Handle<E> {
    fn clone(&self) -> Self {
        Self {
            queue: self.queue.clone(),
            waiting_bytes: Arc::clone(&self.waiting_bytes),
            lookups: Arc::clone(&self.lookups),
        }
    }
}

impl<E: Engine> Handle<E> {
    /// Applies `operation` in the next batch; its answer comes when the batch is on disk.
    pub async fn write(&self, operation: E::Operation) -> Result<E::Answer, WriteError> {
        let weight = E::weight(&operation);
        let before = self.waiting_bytes.fetch_add(weight, Ordering::Relaxed);
        if before > 0 && before + weight > QUEUE_BYTES {
            self.waiting_bytes.fetch_sub(weight, Ordering::Relaxed);
            return Err(WriteError::Overloaded);
        }
        let (answer, answered) = oneshot::channel();
        let job = Item::Write(Job { operation, weight, answer });
        self.queue.try_send(job).map_err(|error| {
            self.waiting_bytes.fetch_sub(weight, Ordering::Relaxed);
            match error {
                TrySendError::Full(_) => WriteError::Overloaded,
                TrySendError::Disconnected(_) => WriteError::Stopped,
            }
        })?;
        answered.await.unwrap_or(Err(WriteError::Stopped))
    }

    /// Looks single rows up, on this thread. Sees every write that was answered before; those of
    /// another process within a second.
    pub fn look_up<T>(
        &self,
        read: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<T> {
        self.lookups.read(read)
    }

    /// Lets the writer end once it has written everything handed over so far. Blocks while the
    /// queue is full.
    pub fn stop(&self) {
        // A writer that is gone already has stopped.
        let _ = self.queue.send(Item::Stop);
    }

    /// Bytes that operations now hold while they wait.
    pub fn waiting_bytes(&self) -> usize {
        self.waiting_bytes.load(Ordering::Relaxed)
    }
}

/// The writer's thread. It ends when a [`Handle`] stops it or all of them are gone.
pub struct Writer {
    thread: JoinHandle<()>,
    ended: CancellationToken,
}

impl Writer {
    /// Opens the database at `path` and starts the thread that alone writes to it. At most
    /// `lookups` look-ups run at once.
    pub fn start<E: Engine>(
        path: &Path,
        engine: E,
        lookups: usize,
    ) -> Result<(Self, Handle<E>), StartError> {
        let connection = open(path)?;
        let lookups = Arc::new(Lookups::open(path, lookups)?);
        let checkpointer = Checkpointer::start(path, Arc::clone(&lookups))?;
        let (queue, items) = sync_channel(QUEUE_LENGTH);
        let waiting_bytes = Arc::new(AtomicUsize::new(0));
        let ended = CancellationToken::new();
        let thread = Builder::new()
            .name("writer".to_owned())
            .spawn({
                let waiting_bytes = Arc::clone(&waiting_bytes);
                let lookups = Arc::clone(&lookups);
                let at_the_end = ended.clone().drop_guard();
                move || {
                    let _at_the_end = at_the_end;
                    Loop {
                        connection,
                        checkpointer,
                        engine,
                        queue: items,
                        waiting_bytes,
                        lookups,
                        stopping: false,
                    }
                    .run();
                }
            })
            .map_err(StartError::Thread)?;
        Ok((Self { thread, ended }, Handle { queue, waiting_bytes, lookups }))
    }

    /// Cancelled when the thread has ended, however it ended.
    pub fn ended(&self) -> CancellationToken {
        self.ended.clone()
    }

    /// Waits for the thread; false when it panicked.
    pub fn join(self) -> bool {
        self.thread.join().is_ok()
    }
}

struct Loop<E: Engine> {
    connection: Connection,
    checkpointer: Checkpointer,
    engine: E,
    queue: Receiver<Item<E>>,
    waiting_bytes: Arc<AtomicUsize>,
    lookups: Arc<Lookups>,
    stopping: bool,
}

impl<E: Engine> Loop<E> {
    fn run(mut self) {
        while !self.stopping {
            let bytes = match self.queue.recv_timeout(TICK) {
                Ok(Item::Write(first)) => {
                    let batch = self.gather(first);
                    let bytes = batch.iter().map(|job| job.weight).sum();
                    self.write(batch);
                    bytes
                }
                Err(RecvTimeoutError::Timeout) => {
                    if self.engine.is_due() {
                        self.write(Vec::new());
                    }
                    // Another process may have.
                    self.lookups.committed();
                    usize::MAX
                }
                Ok(Item::Stop) | Err(RecvTimeoutError::Disconnected) => break,
            };
            if let Err(error) = self.checkpointer.after_batch(&self.connection, bytes) {
                tracing::warn!(cause = %error, "checkpoint failed");
            }
        }
        while self.engine.has_unwritten() && self.write(Vec::new()) {}
        self.checkpointer.stop(&self.connection);
    }

    /// What waits now, up to the limits of one batch.
    fn gather(&mut self, first: Job<E>) -> Vec<Job<E>> {
        let mut bytes = first.weight;
        let mut batch = vec![first];
        while batch.len() < BATCH_LENGTH && bytes < BATCH_BYTES {
            match self.queue.try_recv() {
                Ok(Item::Write(job)) => {
                    bytes += job.weight;
                    batch.push(job);
                }
                Ok(Item::Stop) => {
                    self.stopping = true;
                    break;
                }
                Err(TryRecvError::Empty | TryRecvError::Disconnected) => break,
            }
        }
        self.waiting_bytes.fetch_sub(bytes, Ordering::Relaxed);
        batch
    }

    /// Commits a batch, again without the operation that failed if one does, and answers it.
    /// False when it could not be committed.
    fn write(&mut self, mut batch: Vec<Job<E>>) -> bool {
        loop {
            match self.commit(&batch) {
                Ok(answers) => {
                    self.engine.committed();
                    for (job, answer) in batch.into_iter().zip(answers) {
                        // A client that is gone needs no answer.
                        let _ = job.answer.send(Ok(answer));
                    }
                    return true;
                }
                Err(Failure::Operation(culprit, error)) => {
                    self.engine.rolled_back();
                    let job = batch.remove(culprit);
                    let _ = job.answer.send(Err(error));
                }
                Err(Failure::Sqlite(error)) => {
                    self.engine.rolled_back();
                    tracing::debug!(cause = %error, operations = batch.len(), "batch not committed");
                    let error = Arc::new(error);
                    for job in batch {
                        let _ = job.answer.send(Err(WriteError::NotCommitted(Arc::clone(&error))));
                    }
                    return false;
                }
            }
        }
    }

    fn commit(&mut self, batch: &[Job<E>]) -> Result<Vec<E::Answer>, Failure> {
        if !self.connection.is_autocommit() {
            // The last rollback failed, too.
            self.connection.execute_batch("ROLLBACK")?;
        }
        let transaction =
            self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut answers = Vec::with_capacity(batch.len());
        for (index, job) in batch.iter().enumerate() {
            let applied = AssertUnwindSafe(|| self.engine.apply(&transaction, &job.operation));
            match catch_unwind(applied) {
                Ok(Ok(answer)) => answers.push(answer),
                Ok(Err(error)) if is_its_own(&error) => {
                    let error = WriteError::NotCommitted(Arc::new(error));
                    return Err(Failure::Operation(index, error));
                }
                Ok(Err(error)) => return Err(error.into()),
                Err(_) => return Err(Failure::Operation(index, WriteError::Panicked)),
            }
        }
        self.engine.finish(&transaction)?;
        transaction.commit()?;
        self.lookups.committed();
        Ok(answers)
    }
}

enum Failure {
    /// That of one operation of the batch.
    Operation(usize, WriteError),
    /// That of all of them.
    Sqlite(rusqlite::Error),
}

/// Whether an error is about one operation: what it writes breaks a rule of the database, or what
/// it reads is not what it should be. The others of its batch have nothing to do with it.
fn is_its_own(error: &rusqlite::Error) -> bool {
    match error {
        rusqlite::Error::SqliteFailure(error, _) => matches!(
            error.code,
            ErrorCode::ConstraintViolation | ErrorCode::TypeMismatch | ErrorCode::TooBig
        ),
        _ => true,
    }
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

#[cfg(test)]
mod tests;
