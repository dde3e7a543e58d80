//! Group reads: what is asked for while other objects are being read is read together.

use std::{collections::HashMap, sync::Arc};

use common::postgres::{ANSWER, Error, Pool, ask};
use tokio::{
    sync::{Mutex, mpsc, oneshot},
    time::timeout,
};

use super::{super::StoreError, load::Keys, read};
use crate::domain::{Key, Stored};

/// Statements under way at once.
const READERS: usize = 4;

/// Objects read with one statement at most.
const BATCH_LENGTH: usize = 64;

/// Objects that may wait to be read.
const QUEUE_LENGTH: usize = 4096;

struct Job {
    key: Key,
    answer: oneshot::Sender<Result<Option<Stored>, StoreError>>,
}

/// Where objects are asked for.
pub(super) struct Reader(mpsc::Sender<Job>);

impl Reader {
    /// Reads until nobody can ask any more.
    pub(super) fn new(pool: &Arc<Pool>) -> Self {
        let (sender, jobs) = mpsc::channel(QUEUE_LENGTH);
        let jobs = Arc::new(Mutex::new(jobs));
        for _ in 0..READERS {
            tokio::spawn(run(Arc::clone(pool), Arc::clone(&jobs)));
        }
        Self(sender)
    }

    /// The object under `key`, as it is after the moment of asking.
    pub(super) async fn get(&self, key: &Key) -> Result<Option<Stored>, StoreError> {
        let (answer, answered) = oneshot::channel();
        let job = Job { key: key.clone(), answer };
        self.0.try_send(job).map_err(|_| StoreError::Overloaded)?;
        match timeout(ANSWER, answered).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => Err(StoreError::Panicked),
            Err(_) => Err(StoreError::NotRead(Error::Silent.into())),
        }
    }
}

async fn run(pool: Arc<Pool>, jobs: Arc<Mutex<mpsc::Receiver<Job>>>) {
    let mut batch = Vec::with_capacity(BATCH_LENGTH);
    while jobs.lock().await.recv_many(&mut batch, BATCH_LENGTH).await > 0 {
        // A client that is gone needs no answer.
        batch.retain(|job| !job.answer.is_closed());
        if batch.is_empty() {
            continue;
        }
        match read(&pool, &batch).await {
            Ok(objects) => {
                for Job { key, answer } in batch.drain(..) {
                    let _ = answer.send(Ok(objects.get(&key).cloned()));
                }
            }
            Err(error) => {
                let error = Arc::new(error);
                for Job { answer, .. } in batch.drain(..) {
                    let _ = answer.send(Err(Arc::clone(&error).into()));
                }
            }
        }
    }
}

async fn read(pool: &Pool, batch: &[Job]) -> Result<HashMap<Key, Stored>, Error> {
    let keys = Keys::of(batch.iter().map(|job| job.key.parts()));
    let asked = (read::OBJECTS, &keys.parameters()[..]);
    let [rows] = pool.acquire(async |session| ask(session, [asked]).await).await?;
    read::objects(&rows)
}
