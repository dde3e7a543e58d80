//! Coalesced reads: whatever is asked for while others are being read is read together, with one
//! round trip and one statement each. The database works for a statement as a whole, however few
//! rows it finds.

use std::{panic::AssertUnwindSafe, sync::Arc};

use futures_util::{FutureExt as _, StreamExt as _, stream::FuturesUnordered};
use tokio::{
    sync::{mpsc, oneshot},
    time::timeout,
};

use super::{ANSWER, Error};

/// Questions that are read together at most.
const BATCH_LENGTH: usize = 64;

/// Waiting questions that start a further read while another one is under way.
const ANOTHER_AT: usize = 32;

/// Questions that may wait.
const QUEUE_LENGTH: usize = 4096;

/// Why a question has no answer.
#[derive(Debug, Clone, thiserror::Error)]
pub enum CoalesceError {
    /// Too many questions wait.
    #[error("too many reads are waiting")]
    Overloaded,
    /// The database did not answer them.
    #[error(transparent)]
    Failed(#[from] Arc<Error>),
    /// The read panicked.
    #[error("the read panicked")]
    Panicked,
}

struct Job<Q, A> {
    question: Q,
    answer: oneshot::Sender<Result<A, CoalesceError>>,
}

/// Takes questions that are answered together.
pub struct Coalesced<Q, A>(mpsc::Sender<Job<Q, A>>);

impl<Q: Send + Sync + 'static, A: Send + 'static> Coalesced<Q, A> {
    /// Answers with `read`, at most so many times at once, until nobody can ask any more. Its answers
    /// are in the order of the questions.
    pub fn new<F>(at_once: usize, read: impl Fn(Arc<Vec<Q>>) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<Vec<A>, Error>> + Send + 'static,
    {
        let (sender, jobs) = mpsc::channel(QUEUE_LENGTH);
        tokio::spawn(run(at_once, read, jobs));
        Self(sender)
    }

    /// The answer to a question, as it is after the moment of asking.
    pub async fn ask(&self, question: Q) -> Result<A, CoalesceError> {
        let (answer, answered) = oneshot::channel();
        self.0.try_send(Job { question, answer }).map_err(|_| CoalesceError::Overloaded)?;
        match timeout(ANSWER, answered).await {
            Ok(answer) => answer.unwrap_or(Err(CoalesceError::Panicked)),
            Err(_) => Err(Arc::new(Error::Silent).into()),
        }
    }
}

/// Reads what waits. A further read starts only when many questions wait: two reads of a few
/// questions cost more than one.
async fn run<Q: Send, A, F>(
    at_once: usize,
    read: impl Fn(Arc<Vec<Q>>) -> F,
    mut jobs: mpsc::Receiver<Job<Q, A>>,
) where
    F: Future<Output = Result<Vec<A>, Error>>,
{
    let mut waiting = Vec::new();
    let mut running = FuturesUnordered::new();
    loop {
        let may_start =
            running.is_empty() || (running.len() < at_once && waiting.len() >= ANOTHER_AT);
        if may_start && !waiting.is_empty() {
            let batch = waiting.drain(..waiting.len().min(BATCH_LENGTH)).collect();
            running.push(answer(&read, batch));
        }
        tokio::select! {
            biased;
            Some(()) = running.next() => {}
            received = jobs.recv_many(&mut waiting, QUEUE_LENGTH),
                if waiting.len() < QUEUE_LENGTH =>
            {
                if received == 0 {
                    break;
                }
            }
        }
    }
}

async fn answer<Q, A, F>(read: impl Fn(Arc<Vec<Q>>) -> F, batch: Vec<Job<Q, A>>)
where
    F: Future<Output = Result<Vec<A>, Error>>,
{
    // A caller that has left needs no answer.
    let asked = batch.into_iter().filter(|job| !job.answer.is_closed());
    let (questions, senders): (Vec<_>, Vec<_>) =
        asked.map(|job| (job.question, job.answer)).unzip();
    if questions.is_empty() {
        return;
    }
    let read = AssertUnwindSafe(read(Arc::new(questions))).catch_unwind();
    match read.await {
        // The callers learn of it, since nobody answers them.
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
