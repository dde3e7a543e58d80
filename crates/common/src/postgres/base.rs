//! The parts of a store in PostgreSQL that all services have.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::{Database, Pool, health::Health};
use crate::{
    batch::{Engine, Queue, Runner},
    operations::Readiness,
};

/// A started store.
pub struct Base<E: Engine> {
    /// Takes the writes.
    pub queue: Queue<E>,
    /// Connections for reads.
    pub pool: Arc<Pool>,
    health: Health,
    /// Cancelled when the writer task has ended, even by a panic.
    ended: CancellationToken,
}

impl<E: Engine> Base<E> {
    /// Starts the engine. `run` is [`Runner::run`]: only the caller knows that it can change
    /// threads.
    pub fn start<F: Future<Output = E> + Send + 'static>(
        engine: E,
        run: impl FnOnce(Runner<E>) -> F,
        database: Database,
        pool: Arc<Pool>,
    ) -> Self {
        let (queue, runner) = Queue::new(engine);
        let ended = CancellationToken::new();
        let cancel_at_end = ended.clone().drop_guard();
        let run = run(runner);
        tokio::spawn(async move {
            let _cancel_at_end = cancel_at_end;
            run.await;
        });
        Self { queue, pool, health: Health::watch(database), ended }
    }

    /// For the readiness check.
    pub fn readiness(&self) -> Readiness {
        if self.health.is_up() { Readiness::Ready } else { Readiness::Down }
    }

    /// Resolves when the writer has ended. An unreachable database does not end it: the database
    /// may come back.
    pub async fn writer_ended(&self) {
        self.ended.cancelled().await;
    }

    /// Commits all pending writes, then ends the writer. Reads go on until the pool is closed.
    pub async fn end_writer(&self) {
        self.queue.stop();
        self.writer_ended().await;
    }
}
