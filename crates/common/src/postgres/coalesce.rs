//! Coalesced reads: requests that arrive while others are being read are read together, in one
//! round trip with one statement per table. Each statement costs the database a fixed amount of
//! work, even if it finds few rows: see `docs/decisions/coalesced-reads.md`.

use std::{panic::AssertUnwindSafe, sync::Arc};

use futures_util::{FutureExt as _, StreamExt as _, stream::FuturesUnordered};
use tokio::{
    sync::{mpsc, oneshot},
    time::timeout,
};

use super::{ANSWER, Error};

/// Maximum number of requests in one read.
const BATCH_LENGTH: usize = 64;

/// Number of pending requests that starts a further read while another one runs.
const ANOTHER_AT: usize = 32;

/// Maximum number of pending requests.
const QUEUE_LENGTH: usize = 4096;

/// Why a request has no answer.
#[derive(Debug, Clone, thiserror::Error)]
pub enum CoalesceError {
    /// The queue is full. Nothing was read.
    #[error("too many reads are pending")]
    Overloaded,
    /// The database failed, or did not answer in time.
    #[error(transparent)]
    Failed(#[from] Arc<Error>),
    /// The read has no result. The log shows the panic.
    #[error("the operation panicked")]
    Panicked,
}

struct PendingRead<Q, A> {
    request: Q,
    answer: oneshot::Sender<Result<A, CoalesceError>>,
}

/// Answers concurrent requests together.
pub struct Coalesced<Q, A>(mpsc::Sender<PendingRead<Q, A>>);

impl<Q: Send + Sync + 'static, A: Send + 'static> Coalesced<Q, A> {
    /// Runs at most `max_reads` calls of `read` at the same time, until this value is dropped.
    /// `read` returns one answer per request, in their order.
    pub fn new<F>(max_reads: usize, read: impl Fn(Arc<Vec<Q>>) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<Vec<A>, Error>> + Send + 'static,
    {
        let (sender, requests) = mpsc::channel(QUEUE_LENGTH);
        tokio::spawn(run(max_reads, read, requests));
        Self(sender)
    }

    /// Returns the answer to `request`. The read starts after this call, so it sees every earlier
    /// commit.
    pub async fn query(&self, request: Q) -> Result<A, CoalesceError> {
        let (answer, answered) = oneshot::channel();
        self.0.try_send(PendingRead { request, answer }).map_err(|_| CoalesceError::Overloaded)?;
        match timeout(ANSWER, answered).await {
            Ok(answer) => answer.unwrap_or(Err(CoalesceError::Panicked)),
            Err(_) => Err(Arc::new(Error::Silent).into()),
        }
    }
}

/// Reads pending requests. A further read starts only if many requests are pending, because two
/// small reads cost more than one.
async fn run<Q: Send, A, F>(
    max_reads: usize,
    read: impl Fn(Arc<Vec<Q>>) -> F,
    mut requests: mpsc::Receiver<PendingRead<Q, A>>,
) where
    F: Future<Output = Result<Vec<A>, Error>>,
{
    let mut waiting = Vec::new();
    let mut running = FuturesUnordered::new();
    loop {
        let may_start =
            running.is_empty() || (running.len() < max_reads && waiting.len() >= ANOTHER_AT);
        if may_start && !waiting.is_empty() {
            let batch = waiting.drain(..waiting.len().min(BATCH_LENGTH)).collect();
            running.push(answer(&read, batch));
        }
        tokio::select! {
            biased;
            Some(()) = running.next() => {}
            received = requests.recv_many(&mut waiting, QUEUE_LENGTH),
                if waiting.len() < QUEUE_LENGTH =>
            {
                if received == 0 {
                    break;
                }
            }
        }
    }
}

async fn answer<Q, A, F>(read: impl Fn(Arc<Vec<Q>>) -> F, batch: Vec<PendingRead<Q, A>>)
where
    F: Future<Output = Result<Vec<A>, Error>>,
{
    // Callers that have disconnected need no answer.
    let wanted = batch.into_iter().filter(|read| !read.answer.is_closed());
    let (requests, senders): (Vec<_>, Vec<_>) =
        wanted.map(|read| (read.request, read.answer)).unzip();
    if requests.is_empty() {
        return;
    }
    let read = AssertUnwindSafe(read(Arc::new(requests))).catch_unwind();
    match read.await {
        // Dropping the senders reports the panic to the callers.
        Err(_panic) => {}
        Ok(Ok(answers)) => {
            for (sender, answer) in senders.into_iter().zip(answers) {
                let _ = sender.send(Ok(answer));
            }
        }
        Ok(Err(error)) => {
            let error = Arc::new(error);
            for sender in senders {
                let _ = sender.send(Err(Arc::clone(&error).into()));
            }
        }
    }
}
