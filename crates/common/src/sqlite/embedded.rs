//! The connection that writes, and its thread. [`super`] lists the reasons.

use std::{
    cell::{Cell, RefCell},
    fs::File,
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    thread::{Builder, JoinHandle},
    time::{Duration, Instant},
};

use rusqlite::{Connection, ErrorCode, Transaction, TransactionBehavior, ffi};
use tokio_util::sync::CancellationToken;

use super::{
    checkpoint::Checkpointer, directory::DirectoryError, disk::Disk, locks::Locks, open,
    reader::Lookups, room::Room,
};
use crate::{
    batch::{Engine, Failure, Runner},
    migration::MigrationError,
};

/// Pause between two attempts to empty the log of a full disk.
const RETRY_AFTER: Duration = Duration::from_millis(200);

/// Why a database could not be opened for writing.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// SQLite could not open the file or apply a setting.
    #[error("the database cannot be opened: {0}")]
    Sqlite(#[from] rusqlite::Error),
    /// The file is also opened beside SQLite, to sync it and to allocate room.
    #[error("the database file cannot be opened or synced: {0}")]
    File(#[source] io::Error),
    /// Another process reads the database, so the log of an unclean end cannot be emptied.
    #[error("another process reads the database, such as sqlite3: end it")]
    InUse,
    /// The writer, its runtime or the checkpoint thread did not start.
    #[error("a thread cannot be started: {0}")]
    Thread(#[source] io::Error),
    /// The data directory cannot be used.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    /// The schema cannot be migrated.
    #[error(transparent)]
    Migration(#[from] MigrationError),
    /// A command changes only a store that exists.
    #[error("there is no database at {0:?}")]
    Missing(PathBuf),
}

/// The only connection of this process that writes, with its checkpoints.
pub struct Embedded {
    connection: Connection,
    checkpointer: RefCell<Checkpointer>,
    lookups: Arc<Lookups>,
    disk: Arc<Disk>,
    room: Room,
    locks: Locks,
    /// The next attempt to empty the log.
    empty_at: Cell<Instant>,
}

impl Embedded {
    /// Opens the connection. `lookups` see everything that it commits.
    pub fn open(path: &Path, disk: Arc<Disk>, lookups: Arc<Lookups>) -> Result<Self, StartError> {
        let connection = open(path)?;
        let file = File::options().read(true).write(true).open(path).map_err(StartError::File)?;
        // Never closed: closing any descriptor of a file releases all locks of the process on this
        // file, including those of SQLite.
        let file: &'static File = Box::leak(Box::new(file));
        let checkpointer =
            Checkpointer::start(path, file, Arc::clone(&lookups), Arc::clone(&disk))?;
        let room = Room::new(file, &connection)?;
        Ok(Self {
            connection,
            checkpointer: RefCell::new(checkpointer),
            lookups,
            disk,
            room,
            locks: Locks::of(path),
            empty_at: Cell::new(Instant::now()),
        })
    }

    /// Begins a transaction and takes the write lock immediately. It is rolled back when dropped.
    ///
    /// # Errors
    /// [`ffi::SQLITE_FULL`] also while the log of an unclean end cannot be copied.
    pub fn begin(&self) -> rusqlite::Result<Transaction<'_>> {
        if self.disk.must_empty() && !self.empty_log() {
            return Err(rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_FULL), None));
        }
        if !self.connection.is_autocommit() {
            // The rollback of the last transaction failed.
            self.connection.execute_batch("ROLLBACK")?;
        }
        Transaction::new_unchecked(&self.connection, TransactionBehavior::Immediate)
    }

    /// Commits a transaction, and makes it visible to look-ups.
    pub fn commit(&self, transaction: Transaction<'_>) -> rusqlite::Result<()> {
        self.room.reserve(&transaction)?;
        transaction.commit()?;
        self.lookups.committed();
        self.disk.committed();
        Ok(())
    }

    /// Starts a checkpoint if enough was written. `bytes` is roughly what the last batch wrote.
    pub fn after_batch(&self, bytes: usize) {
        self.checkpointer.borrow_mut().after_batch(&self.connection, bytes);
    }

    /// Makes commits of other programs, such as `sqlite3`, visible to look-ups, and starts a checkpoint
    /// if enough was written.
    pub fn idle(&self) {
        self.lookups.committed();
        if self.disk.must_empty() {
            self.empty_log();
        }
        self.checkpointer.borrow_mut().idle(&self.connection);
    }

    /// Makes room after a batch found the disk full: frees the reserve, and empties the log.
    pub fn disk_full(&self, writes: usize) {
        self.disk.refused(writes, Instant::now());
        self.disk.free_reserve();
        self.empty_log();
    }

    /// Logs which process holds the write lock, at most once a minute.
    pub fn report_lock(&self) {
        self.locks.report();
    }

    /// Empties the log. Returns whether it is empty. After a failure, does nothing for a while.
    fn empty_log(&self) -> bool {
        let now = Instant::now();
        if now < self.empty_at.get() {
            return false;
        }
        let is_empty = self.checkpointer.borrow().empty(&self.connection);
        if is_empty {
            self.disk.set_must_empty(false);
        } else {
            self.empty_at.set(now + RETRY_AFTER);
        }
        is_empty
    }

    /// Runs a last checkpoint and closes the connection.
    pub fn close(self) {
        self.checkpointer.into_inner().stop(&self.connection);
    }
}

/// Classifies an error of SQLite for the batching loop.
pub fn failure(error: rusqlite::Error) -> Failure {
    let cause = |error| Arc::new(error) as _;
    match error.sqlite_error_code() {
        // The error is not from SQLite: a row or a value is invalid.
        None => Failure::Write(cause(error)),
        Some(ErrorCode::ConstraintViolation | ErrorCode::TypeMismatch | ErrorCode::TooBig) => {
            Failure::Write(cause(error))
        }
        // Another process writes. Only `BEGIN` can fail with this error: nothing was written.
        Some(ErrorCode::DatabaseBusy) => Failure::Locked(cause(error)),
        Some(ErrorCode::DiskFull) => Failure::DiskFull(cause(error)),
        // No room for the index of the log.
        _ if error.sqlite_extended_error_code() == Some(ffi::SQLITE_IOERR_SHMSIZE) => {
            Failure::DiskFull(cause(error))
        }
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
