//! Runs one batch until every write is answered or left for a later batch.

use std::{any::Any, panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures_util::FutureExt as _;
use rand::random_range;
use tokio::time::sleep;

use super::{Cause, Engine, Failure, Job, Panicked, WriteError, stats::Counters};

/// Retries of a batch after a conflict with another transaction.
const RETRIES: u32 = 5;

/// Jitter before such a retry, in milliseconds.
const RETRY_AFTER: std::ops::RangeInclusive<u64> = 0..=8;

pub(super) struct Ended<E: Engine> {
    pub(super) lock_keys: Vec<u64>,
    pub(super) bytes: usize,
    /// Writes for a later batch, because another transaction has locked their rows.
    pub(super) locked: Vec<Job<E>>,
    /// False if a part of the batch failed in the database. Its writes have got an error.
    pub(super) is_written: bool,
    /// Whether a lock that somebody else holds has stopped a part of the batch.
    pub(super) found_lock: bool,
}

/// Why an attempt was not committed.
enum Fault {
    Panicked(Panicked),
    Failed(Failure),
}

impl From<Failure> for Fault {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

#[derive(Debug, thiserror::Error)]
#[error("the engine panicked")]
struct EnginePanicked;

/// Runs a batch. A write that panics or violates a constraint fails alone: the others run
/// again without it.
pub(super) async fn run<E: Engine>(engine: &E, jobs: Vec<Job<E>>, counters: &Counters) -> Ended<E> {
    let lock_keys = jobs.iter().flat_map(|job| job.lock_keys.iter().copied()).collect();
    let bytes = jobs.iter().map(|job| job.cost.bytes).sum();
    let mut ended =
        Ended { lock_keys, bytes, locked: Vec::new(), is_written: true, found_lock: false };
    let mut parts = vec![(jobs, 0)];
    while let Some((mut jobs, conflicts)) = parts.pop() {
        if jobs.is_empty() {
            continue;
        }
        let fault = match attempt(engine, &jobs).await {
            Ok((answers, locked)) => {
                let postponed = locked.len();
                for index in locked.into_iter().rev() {
                    let mut job = jobs.remove(index);
                    job.is_locked = true;
                    ended.locked.push(job);
                }
                let answered = jobs.iter().filter(|job| job.answer.is_some()).count();
                counters.ended(!jobs.is_empty(), answered, postponed);
                jobs.into_iter().zip(answers).for_each(|(job, answer)| job.answer(Ok(answer)));
                continue;
            }
            Err(fault) => fault,
        };
        match fault {
            Fault::Panicked(Panicked(index)) => {
                jobs.remove(index).answer(Err(WriteError::Panicked));
                parts.push((jobs, conflicts));
            }
            Fault::Failed(Failure::Conflict(_)) if conflicts < RETRIES => {
                counters.conflict();
                sleep(Duration::from_millis(random_range(RETRY_AFTER))).await;
                parts.push((jobs, conflicts + 1));
            }
            Fault::Failed(Failure::Conflict(_) | Failure::Write(_)) if jobs.len() > 1 => {
                let second = jobs.split_off(jobs.len() / 2);
                parts.extend([(second, 0), (jobs, 0)]);
            }
            Fault::Failed(Failure::Overload(cause)) => {
                tracing::debug!(%cause, writes = jobs.len(), "batch rejected");
                ended.is_written = false;
                jobs.into_iter().for_each(|job| job.answer(Err(WriteError::Overloaded)));
            }
            Fault::Failed(Failure::Locked(cause)) => {
                tracing::debug!(%cause, writes = jobs.len(), "a lock is not free");
                (ended.is_written, ended.found_lock) = (false, true);
                engine.locked();
                jobs.into_iter().for_each(|job| job.answer(Err(WriteError::Locked)));
            }
            Fault::Failed(Failure::DiskFull(cause)) => {
                tracing::debug!(%cause, writes = jobs.len(), "no room for a batch");
                ended.is_written = false;
                engine.disk_full(jobs.len());
                jobs.into_iter().for_each(|job| job.answer(Err(WriteError::DiskFull)));
            }
            Fault::Failed(
                Failure::Conflict(cause) | Failure::Write(cause) | Failure::Unknown(cause),
            ) => {
                tracing::debug!(%cause, writes = jobs.len(), "batch failed");
                ended.is_written = false;
                let error = WriteError::Failed(cause);
                jobs.into_iter().for_each(|job| job.answer(Err(error.clone())));
            }
        }
    }
    ended
}

/// Loads, decides and writes. Returns the answers, and the indexes of the writes without an
/// answer: another transaction has locked their rows.
async fn attempt<E: Engine>(
    engine: &E,
    jobs: &[Job<E>],
) -> Result<(Vec<E::Answer>, Vec<usize>), Fault> {
    let batch: Vec<&E::Write> = jobs.iter().map(|job| &job.write).collect();
    let loaded = caught(engine.load(&batch)).await?;
    let is_free = |index: &usize| loaded.locked.binary_search(index).is_err();
    let free: Vec<usize> = (0..batch.len()).filter(is_free).collect();
    if free.is_empty() {
        return Ok((Vec::new(), loaded.locked));
    }
    let batch: Vec<&E::Write> = free.iter().map(|&index| batch[index]).collect();
    let decided = engine
        .decide(loaded.known, &batch)
        .map_err(|Panicked(index)| Fault::Panicked(Panicked(free[index])))?;
    let answers = caught(engine.write(loaded.open, decided)).await?;
    Ok((answers, loaded.locked))
}

/// Calls the engine. A panic counts as [`Failure::Write`], so that halving the batch finds the
/// write.
async fn caught<T>(call: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let panicked = |_: Box<dyn Any + Send>| Failure::Write(Arc::new(EnginePanicked) as Cause);
    AssertUnwindSafe(call).catch_unwind().await.unwrap_or_else(|panic| Err(panicked(panic)))
}
