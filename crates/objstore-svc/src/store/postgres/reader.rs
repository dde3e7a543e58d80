//! Coalesced reads of objects: keys that arrive while the readers are busy share one statement.
//!
//! PostgreSQL's cost for a statement depends little on the number of rows, so few large reads are
//! cheaper than many small ones. An idle reader starts immediately, without a timer.

use std::{collections::HashMap, sync::Arc};

use common::postgres::{ANSWER, Error, Pool, query};
use tokio::{
    sync::{Mutex, mpsc, oneshot},
    time::timeout,
};

use super::{super::StoreError, load::Keys, read};
use crate::domain::{Key, StoredObject};

/// Maximum number of statements that run at the same time.
const READERS: usize = 4;

/// Maximum number of keys in one statement.
const BATCH_LENGTH: usize = 64;

/// Maximum number of pending keys. Above it, a read fails with [`StoreError::Overloaded`].
const QUEUE_LENGTH: usize = 4096;

struct Job {
    key: Key,
    answer: oneshot::Sender<Result<Option<StoredObject>, StoreError>>,
}

pub(super) struct Reader(mpsc::Sender<Job>);

impl Reader {
    /// Starts the reader tasks. They end when the `Reader` is dropped.
    pub(super) fn new(pool: &Arc<Pool>) -> Self {
        let (sender, jobs) = mpsc::channel(QUEUE_LENGTH);
        let jobs = Arc::new(Mutex::new(jobs));
        for _ in 0..READERS {
            tokio::spawn(run(Arc::clone(pool), Arc::clone(&jobs)));
        }
        Self(sender)
    }

    /// Reads an object. The result includes every write that was answered before this call.
    pub(super) async fn get(&self, key: &Key) -> Result<Option<StoredObject>, StoreError> {
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
        // Skip reads whose caller has left.
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

async fn read(pool: &Pool, batch: &[Job]) -> Result<HashMap<Key, StoredObject>, Error> {
    let keys = Keys::of(batch.iter().map(|job| job.key.parts()));
    let statement = (read::OBJECTS, &keys.parameters()[..]);
    let [rows] = pool.acquire(async |connection| query(connection, [statement]).await).await?;
    read::objects(&rows)
}
