//! Group commit: one task folds whatever waits, commits it at once and only then answers.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicI32, AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use common::postgres::{Error, Sessions};
use deadpool_postgres::ClientWrapper;
use tokio::{
    sync::{mpsc, oneshot},
    time::{Instant, timeout_at},
};
use tokio_util::sync::CancellationToken;

use super::{
    super::{StoreError, positions::Positions},
    batch::{self, Locked, Needs},
    fold::{Answer, Fold, Known, Operation, Rules},
};
use crate::domain::{ClientId, Record, Revision};

/// Operations that may wait for the writer.
const QUEUE_LENGTH: usize = 4096;

/// Bytes that waiting operations may hold; one operation may always wait.
const QUEUE_BYTES: usize = 64 * 1024 * 1024;

/// Operations that share a commit at most.
const BATCH_LENGTH: usize = 512;

/// Bytes after which a batch takes no more operations.
const BATCH_BYTES: usize = 8 * 1024 * 1024;

/// Positions written with one commit.
const POSITIONS_BATCH: usize = 512;

/// How often positions are written.
const POSITIONS_EVERY: Duration = Duration::from_secs(1);

struct Job {
    operation: Operation,
    weight: usize,
    answer: oneshot::Sender<Result<Answer, StoreError>>,
}

/// Where operations are handed to the writer.
pub(super) struct Queue {
    jobs: mpsc::Sender<Job>,
    shared: Arc<Shared>,
}

/// What the writer shares with others.
#[derive(Default)]
pub(super) struct Shared {
    pub(super) positions: Mutex<Positions>,
    /// The writer's process in the database: what it notifies of is known here already.
    pub(super) backend: AtomicI32,
    pub(super) waiting_bytes: AtomicUsize,
    pub(super) commits: AtomicU64,
    pub(super) operations: AtomicU64,
}

impl Shared {
    pub(super) fn positions(&self) -> MutexGuard<'_, Positions> {
        self.positions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queue {
    /// Applies `operation` in the next batch; its answer comes when the batch is committed.
    pub(super) async fn write(&self, operation: Operation) -> Result<Answer, StoreError> {
        let weight = operation.weight();
        let waiting = &self.shared.waiting_bytes;
        let before = waiting.fetch_add(weight, Ordering::Relaxed);
        if before > 0 && before + weight > QUEUE_BYTES {
            waiting.fetch_sub(weight, Ordering::Relaxed);
            return Err(StoreError::Overloaded);
        }
        let (answer, answered) = oneshot::channel();
        self.jobs.try_send(Job { operation, weight, answer }).map_err(|error| {
            waiting.fetch_sub(weight, Ordering::Relaxed);
            match error {
                mpsc::error::TrySendError::Full(_) => StoreError::Overloaded,
                mpsc::error::TrySendError::Closed(_) => StoreError::NotWritten(Stopped.into()),
            }
        })?;
        answered.await.unwrap_or_else(|_| Err(StoreError::NotWritten(Stopped.into())))
    }
}

/// There is no writer any more.
#[derive(Debug, thiserror::Error)]
#[error("the writer has stopped")]
struct Stopped;

/// The one task of a replica that changes anything but sessions.
pub(super) struct Writer {
    session: Sessions,
    rules: Rules,
    shared: Arc<Shared>,
    jobs: mpsc::Receiver<Job>,
    /// Where what was committed goes.
    committed: mpsc::Sender<Vec<Record>>,
    stop: CancellationToken,
    positions_due: Instant,
}

impl Writer {
    /// A writer on a pool of one session, and the queue before it.
    pub(super) fn new(
        session: Sessions,
        rules: Rules,
        committed: mpsc::Sender<Vec<Record>>,
        stop: CancellationToken,
    ) -> (Self, Queue, Arc<Shared>) {
        let shared = Arc::<Shared>::default();
        let (sender, jobs) = mpsc::channel(QUEUE_LENGTH);
        let queue = Queue { jobs: sender, shared: Arc::clone(&shared) };
        let positions_due = Instant::now() + POSITIONS_EVERY;
        let writer = Self {
            session,
            rules,
            shared: Arc::clone(&shared),
            jobs,
            committed,
            stop,
            positions_due,
        };
        (writer, queue, shared)
    }

    /// Writes until it is told to stop, and then what is left.
    pub(super) async fn run(mut self) {
        while let Some(batch) = self.gather().await {
            self.write(batch).await;
        }
        while !self.shared.positions().is_empty() && self.write(Vec::new()).await {}
    }

    /// What waits now, up to the limits of one batch; nothing when positions are due; none when
    /// there will be nothing any more.
    async fn gather(&mut self) -> Option<Vec<Job>> {
        let first = tokio::select! {
            biased;
            () = self.stop.cancelled(), if !self.jobs.is_closed() => {
                self.jobs.close();
                self.jobs.recv().await
            }
            first = timeout_at(self.positions_due, self.jobs.recv()) => match first {
                Ok(first) => first,
                Err(_) => return Some(Vec::new()),
            }
        };
        let mut batch = vec![first?];
        let mut bytes = batch[0].weight;
        while batch.len() < BATCH_LENGTH
            && bytes < BATCH_BYTES
            && let Ok(job) = self.jobs.try_recv()
        {
            bytes += job.weight;
            batch.push(job);
        }
        self.shared.waiting_bytes.fetch_sub(bytes, Ordering::Relaxed);
        Some(batch)
    }

    /// Commits a batch and answers it. False when it could not be committed.
    async fn write(&mut self, mut batch: Vec<Job>) -> bool {
        let positions = self.due_positions();
        if batch.is_empty() && positions.is_empty() {
            return true;
        }
        match self.commit(&mut batch, &positions).await {
            Ok((records, answers)) => {
                self.shared.positions().written();
                self.shared.commits.fetch_add(1, Ordering::Relaxed);
                let operations = u64::try_from(batch.len()).unwrap_or(u64::MAX);
                self.shared.operations.fetch_add(operations, Ordering::Relaxed);
                if !records.is_empty() {
                    // Whoever follows the log reads there what it was not handed.
                    let _ = self.committed.try_send(records);
                }
                for (job, answer) in batch.into_iter().zip(answers) {
                    // A client that is gone needs no answer.
                    let _ = job.answer.send(Ok(answer));
                }
                true
            }
            Err(error) => {
                self.shared.positions().put_back();
                self.positions_due = Instant::now() + POSITIONS_EVERY;
                tracing::debug!(cause = %error, operations = batch.len(), "batch not committed");
                let error = Arc::new(error);
                for job in batch {
                    let _ = job.answer.send(Err(not_written(&error)));
                }
                false
            }
        }
    }

    /// Some of the positions, once a second, and the others of that second with the next batches.
    fn due_positions(&mut self) -> Vec<(ClientId, Revision)> {
        let mut positions = self.shared.positions();
        let is_due = self.positions_due <= Instant::now() || self.jobs.is_closed();
        let taken = if is_due || positions.is_amid() {
            positions.take(POSITIONS_BATCH)
        } else {
            Vec::new()
        };
        if is_due {
            self.positions_due = Instant::now();
            if !positions.is_amid() {
                self.positions_due += POSITIONS_EVERY;
            }
        }
        taken
    }

    async fn commit(
        &self,
        batch: &mut Vec<Job>,
        positions: &[(ClientId, Revision)],
    ) -> Result<(Vec<Record>, Vec<Answer>), Error> {
        let transaction = async |session: &ClientWrapper| {
            batch::or_roll_back(session, self.transact(session, batch, positions)).await
        };
        self.session.lend(transaction).await
    }

    async fn transact(
        &self,
        session: &ClientWrapper,
        batch: &mut Vec<Job>,
        positions: &[(ClientId, Revision)],
    ) -> Result<(Vec<Record>, Vec<Answer>), Error> {
        let needs = Needs::of(batch.iter().map(|job| &job.operation));
        let (known, begun) = if needs.is_empty() {
            (Known::default(), None)
        } else {
            let (known, begun) = batch::begin(session, &needs, self.rules.max_watches).await?;
            (known, Some(begun))
        };
        loop {
            match Fold::of(self.rules, &known, batch.iter().map(|job| &job.operation)) {
                Ok((fold, answers)) => {
                    let Locked { head, backend } =
                        batch::commit(session, begun, &fold, positions).await?;
                    self.shared.backend.store(backend, Ordering::Relaxed);
                    let shift = head.revision - known.head.revision;
                    let mut records: Vec<_> = fold.records.into_iter().map(|it| it.0).collect();
                    records.iter_mut().for_each(|record| record.revision += shift);
                    let answers = answers.into_iter().map(|answer| answer.map(|it| it + shift));
                    return Ok((records, answers.collect()));
                }
                Err(culprit) => {
                    let _ = batch.remove(culprit).answer.send(Err(StoreError::Panicked));
                }
            }
        }
    }
}

fn not_written(error: &Arc<Error>) -> StoreError {
    if error.is_overload() {
        StoreError::Overloaded
    } else {
        StoreError::NotWritten(Arc::clone(error).into())
    }
}
