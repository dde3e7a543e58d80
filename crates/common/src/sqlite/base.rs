//! The parts of a store in SQLite that all services have.

use std::{path::Path, sync::Arc};

use rusqlite::Connection;
use tokio::task::spawn_blocking;

use super::{
    Directory, Disk, Embedded, Lookups, Readers, StartError, WriterThread, recover, require_current,
};
use crate::{
    aside::{Aside, Panicked},
    batch::{Engine, Queue},
    migration::MigrationError,
    operations::Readiness,
};

/// A database whose directory this process owns.
pub struct Owned {
    /// Sees what the last process left.
    pub connection: Connection,
    disk: Arc<Disk>,
    directory: Directory,
}

impl Owned {
    /// Takes the lock of the data directory, opens the file `database` in it, and runs the missing
    /// migrations. Can wait for a minute for other processes.
    pub fn open(
        directory: &Path,
        database: &str,
        migrate: impl FnOnce(&mut Connection) -> Result<(), MigrationError>,
    ) -> Result<Self, StartError> {
        let directory = Directory::own(directory, database)?;
        require_current(directory.database())?;
        Self::of(directory, migrate)
    }

    /// Like [`Self::open`], also if the database was imported elsewhere.
    pub(crate) fn open_imported(
        directory: &Path,
        database: &str,
        migrate: impl FnOnce(&mut Connection) -> Result<(), MigrationError>,
    ) -> Result<Self, StartError> {
        Self::of(Directory::own(directory, database)?, migrate)
    }

    fn of(
        directory: Directory,
        migrate: impl FnOnce(&mut Connection) -> Result<(), MigrationError>,
    ) -> Result<Self, StartError> {
        let (mut connection, disk) = recover(&directory)?;
        migrate(&mut connection)?;
        Ok(Self { connection, disk, directory })
    }

    /// Like [`Self::open`], on a thread of its own: a signal can stop the start meanwhile.
    pub async fn open_aside(
        directory: &Path,
        database: &'static str,
        migrate: impl FnOnce(&mut Connection) -> Result<(), MigrationError> + Send + 'static,
    ) -> Result<Self, StartError> {
        let directory = directory.to_owned();
        let opened = spawn_blocking(move || Self::open(&directory, database, migrate)).await;
        opened.unwrap_or_else(|panicked| Err(StartError::File(panicked.into())))
    }

    /// The path of the database.
    pub fn path(&self) -> &Path {
        self.directory.database()
    }

    /// Starts the engine that `engine` makes, with `readers` connections for reads of many rows.
    /// `close` ends it.
    pub fn start<E: Engine + Send>(
        self,
        lookups: Lookups,
        readers: usize,
        engine: impl FnOnce(Embedded, &Connection) -> rusqlite::Result<E>,
        close: impl FnOnce(E) + Send + 'static,
    ) -> Result<Base<E>, StartError> {
        let Self { connection, disk, directory } = self;
        let (path, lookups) = (directory.database(), Arc::new(lookups));
        let scans = Arc::new(Readers::open(path, readers)?);
        let embedded = Embedded::open(path, Arc::clone(&disk), Arc::clone(&lookups))?;
        let (queue, runner) = Queue::new(engine(embedded, &connection)?);
        let writer = WriterThread::start(runner, close)?;
        Ok(Base { queue, lookups, scans, writer, disk, directory })
    }
}

/// A started store.
pub struct Base<E: Engine> {
    /// Takes the writes.
    pub queue: Queue<E>,
    /// Reads single rows on the thread of the caller: they cost less than a switch to another
    /// thread.
    pub lookups: Arc<Lookups>,
    /// The volume of the database.
    pub disk: Arc<Disk>,
    scans: Arc<Readers>,
    writer: WriterThread,
    /// Owned as long as the store is open.
    pub directory: Directory,
}

impl<E: Engine> Base<E> {
    /// For the readiness check.
    pub fn readiness(&self) -> Readiness {
        let sql = "SELECT 1 FROM clock";
        let answers = |db: &Connection| db.prepare_cached(sql)?.query_row([], |_| Ok(()));
        let is_up = self.writer.is_running() && self.lookups.read(answers).is_ok();
        if is_up { self.disk.readiness() } else { Readiness::Down }
    }

    /// Resolves when the writer has ended.
    pub async fn writer_ended(&self) {
        self.writer.ended().await;
    }

    /// Commits all pending writes, then closes the database.
    pub async fn close(&self) {
        self.queue.stop();
        self.writer.ended().await;
    }

    /// Reads many rows on one of these threads. Sees every write that was answered before.
    pub async fn scan<T: Send + 'static>(
        &self,
        threads: &Aside,
        read: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<rusqlite::Result<T>, Panicked> {
        let scans = Arc::clone(&self.scans);
        threads.run(move || scans.read(read)).await
    }
}
