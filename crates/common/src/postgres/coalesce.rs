//! Coalesced reads: whatever is asked for while others are being read is read together, with one
//! round trip and one statement each. The database works for a statement as a whole, however few
//! rows it finds.

use std::sync::Arc;

use tokio::{
    sync::{Mutex, mpsc, oneshot},
    time::timeout,
};

use super::{ANSWER, Error};

/// Questions that are read together at most.
const BATCH_LENGTH: usize = 64;

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
    pub fn new<F>(
        at_once: usize,
        read: impl Fn(Arc<Vec<Q>>) -> F + Clone + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<Vec<A>, Error>> + Send + 'static,
    {
        let (sender, jobs) = mpsc::channel(QUEUE_LENGTH);
        let jobs = Arc::new(Mutex::new(jobs));
        for _ in 0..at_once {
            tokio::spawn(run(read.clone(), Arc::clone(&jobs)));
        }
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

async fn run<Q, A, F>(read: impl Fn(Arc<Vec<Q>>) -> F, jobs: Arc<Mutex<mpsc::Receiver<Job<Q, A>>>>)
where
    F: Future<Output = Result<Vec<A>, Error>>,
{
    let mut batch = Vec::with_capacity(BATCH_LENGTH);
    while jobs.lock().await.recv_many(&mut batch, BATCH_LENGTH).await > 0 {
        // A caller that has left needs no answer.
        let asked = batch.drain(..).filter(|job: &Job<Q, A>| !job.answer.is_closed());
        let (questions, senders): (Vec<_>, Vec<_>) =
            asked.map(|job| (job.question, job.answer)).unzip();
        if questions.is_empty() {
            continue;
        }
        match read(Arc::new(questions)).await {
            Ok(answers) => {
                for (sender, answer) in senders.into_iter().zip(answers) {
                    let _ = sender.send(Ok(answer));
                }
            }
            Err(error) => {
                let error = Arc::new(error);
                for sender in senders {
                    let _ = sender.send(Err(Arc::clone(&error).into()));
                }
            }
        }
    }
}
