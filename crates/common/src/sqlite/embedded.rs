//! The connection that writes, and its thread. [`super`] lists the reasons.

use std::{
    cell::RefCell,
    io,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    thread::{Builder, JoinHandle},
};

use rusqlite::{Connection, ErrorCode, Transaction, TransactionBehavior};
use tokio_util::sync::CancellationToken;

use super::{checkpoint::Checkpointer, open, reader::Lookups};
use crate::batch::{Engine, Failure, Runner};

/// Why a database could not be opened for writing.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// SQLite could not open the file or apply a setting.
    #[error("the database cannot be opened: {0}")]
    Sqlite(#[from] rusqlite::Error),
    /// The checkpoint thread opens the file a second time, to sync it.
    #[error("the database file cannot be opened for syncing: {0}")]
    File(#[source] io::Error),
    /// The writer, its runtime or the checkpoint thread did not start.
    #[error("a thread cannot be started: {0}")]
    Thread(#[source] io::Error),
}

/// The only connection of this process that writes, with its checkpoints.
pub struct Embedded {
    connection: Connection,
    checkpointer: RefCell<Checkpointer>,
    lookups: Arc<Lookups>,
}

impl Embedded {
    /// Opens the connection. `lookups` see everything that it commits.
    pub fn open(path: &Path, lookups: Arc<Lookups>) -> Result<Self, StartError> {
        let connection = open(path)?;
        let checkpointer = RefCell::new(Checkpointer::start(path, Arc::clone(&lookups))?);
        Ok(Self { connection, checkpointer, lookups })
    }

    /// Begins a transaction and takes the write lock immediately. It is rolled back when dropped.
    pub fn begin(&self) -> rusqlite::Result<Transaction<'_>> {
        if !self.connection.is_autocommit() {
            // The rollback of the last transaction failed.
            self.connection.execute_batch("ROLLBACK")?;
        }
        Transaction::new_unchecked(&self.connection, TransactionBehavior::Immediate)
    }

    /// Commits a transaction, and makes it visible to look-ups.
    pub fn commit(&self, transaction: Transaction<'_>) -> rusqlite::Result<()> {
        transaction.commit()?;
        self.lookups.committed();
        Ok(())
    }

    /// Starts a checkpoint if enough was written. `bytes` is roughly what the last batch wrote.
    pub fn after_batch(&self, bytes: usize) {
        warn(self.checkpointer.borrow_mut().after_batch(&self.connection, bytes));
    }

    /// Makes commits of other processes visible to look-ups, and starts a checkpoint if enough was
    /// written.
    pub fn idle(&self) {
        self.lookups.committed();
        warn(self.checkpointer.borrow_mut().idle(&self.connection));
    }

    /// Runs a last checkpoint and closes the connection.
    pub fn close(self) {
        self.checkpointer.into_inner().stop(&self.connection);
    }
}

fn warn(checkpointed: rusqlite::Result<()>) {
    if let Err(error) = checkpointed {
        tracing::warn!(cause = %error, "checkpoint failed");
    }
}

/// Classifies an error of SQLite for the batching loop.
pub fn failure(error: rusqlite::Error) -> Failure {
    let cause = |error| Arc::new(error) as _;
    match error.sqlite_error_code() {
        // The error is not from SQLite: a row or a value is invalid.
        None => Failure::Operation(cause(error)),
        Some(ErrorCode::ConstraintViolation | ErrorCode::TypeMismatch | ErrorCode::TooBig) => {
            Failure::Operation(cause(error))
        }
        // Another process writes. Only `BEGIN` can fail with this error: nothing was written.
        Some(ErrorCode::DatabaseBusy) => Failure::Overload(cause(error)),
        Some(_) => Failure::Unknown(cause(error)),
    }
}

/// The thread that runs batches.
pub struct WriterThread {
    thread: Mutex<Option<JoinHandle<()>>>,
    ended: CancellationToken,
}

impl WriterThread {
    /// Starts a thread that runs batches until the runner ends, and then calls `close` with the
    /// engine.
    pub fn start<E: Engine + Send>(
        runner: Runner<E>,
        close: impl FnOnce(E) + Send + 'static,
    ) -> Result<Self, StartError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
        let runtime = runtime.map_err(StartError::Thread)?;
        let ended = CancellationToken::new();
        let ended_guard = ended.clone().drop_guard();
        let run = move || {
            let _ended_guard = ended_guard;
            close(runtime.block_on(runner.run()));
        };
        let thread = Builder::new().name("writer".to_owned()).spawn(run);
        let thread = Mutex::new(Some(thread.map_err(StartError::Thread)?));
        Ok(Self { thread, ended })
    }

    /// False after the thread has ended, normally or with a panic.
    pub fn is_running(&self) -> bool {
        !self.ended.is_cancelled()
    }

    /// Resolves when the thread has ended, normally or with a panic, which is logged.
    pub async fn ended(&self) {
        self.ended.cancelled().await;
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if thread.is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the writer panicked");
        }
    }
}

#[cfg(test)]
mod tests;
