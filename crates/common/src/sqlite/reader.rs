//! Connections that only read. They never wait for the writer.

use std::{
    fs::{File, OpenOptions},
    io::{self, Write as _},
    path::{Path, PathBuf},
    sync::{
        Mutex, MutexGuard, PoisonError, TryLockError,
        atomic::{AtomicU64, Ordering},
    },
};

use rusqlite::Connection;

use super::{MAPPED, open_reader};

/// A fixed set of connections for reads of many rows.
pub struct Readers(Vec<Mutex<Connection>>);

impl Readers {
    /// Opens `count` connections (at least one) to a database that exists. They map nothing of it
    /// into memory, so that the process does not seem to hold what they scan.
    pub fn open(path: &Path, count: usize) -> rusqlite::Result<Self> {
        (0..count.max(1))
            .map(|_| open_reader(path).map(Mutex::new))
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// Reads what there was at one moment, with a connection that is free, or waits for one. Blocks:
    /// it belongs on a thread that may.
    pub fn read<T>(
        &self,
        read: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<T> {
        read(&*first_free(&self.0).unchecked_transaction()?)
    }
}

/// A fixed set of connections for look-ups of single rows. Each stays in its read transaction for
/// as long as nothing is committed: beginning one costs as much as the look-up itself.
pub struct Lookups {
    lookups: Vec<Mutex<Lookup>>,
    /// Commits of this process so far.
    commits: AtomicU64,
    /// A file that grows with each commit of another process.
    others: Option<File>,
}

struct Lookup {
    connection: Connection,
    /// What its transaction sees at least, while it is in one.
    seen: Seen,
}

/// Commits: those of this process, and the length of the file of the others.
type Seen = (u64, u64);

impl Lookups {
    /// Opens `count` connections (at least one) to a database that exists.
    pub fn open(path: &Path, count: usize) -> rusqlite::Result<Self> {
        let open = |_| {
            let connection = open_reader(path)?;
            connection.pragma_update(None, "mmap_size", MAPPED)?;
            Ok(Mutex::new(Lookup { connection, seen: (0, 0) }))
        };
        let lookups = (0..count.max(1)).map(open).collect::<rusqlite::Result<_>>()?;
        Ok(Self { lookups, commits: AtomicU64::new(0), others: None })
    }

    /// Sees what another process has written as soon as it calls [`announce_commit`].
    pub fn with_other_writers(mut self, database: &Path) -> io::Result<Self> {
        self.others = Some(File::create(others(database))?);
        Ok(self)
    }

    /// Looks single rows up, on this thread. Sees every write that was answered before; those of
    /// another process that does not announce them within a second.
    pub fn read<T>(
        &self,
        read: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<T> {
        let mut lookup = first_free(&self.lookups);
        let others = self.others.as_ref().and_then(|file| file.metadata().ok());
        let seen = (self.commits.load(Ordering::Acquire), others.map_or(0, |others| others.len()));
        if lookup.seen != seen || lookup.connection.is_autocommit() {
            lookup.end()?;
            // The transaction sees what is there at its first read, so nothing that was counted
            // above is missing from it.
            lookup.connection.prepare_cached("BEGIN")?.execute([])?;
            lookup.seen = seen;
        }
        read(&lookup.connection)
    }

    /// There is something new to see.
    pub(super) fn committed(&self) {
        self.commits.fetch_add(1, Ordering::Release);
    }

    /// Ends the transactions, which keep a checkpoint from the pages that came after they began.
    pub(super) fn let_go(&self) -> rusqlite::Result<()> {
        self.lookups.iter().try_for_each(|lookup| lock(lookup).end())
    }
}

impl Lookup {
    fn end(&self) -> rusqlite::Result<()> {
        if !self.connection.is_autocommit() {
            self.connection.prepare_cached("COMMIT")?.execute([])?;
        }
        Ok(())
    }
}

/// Tells the process that owns a database of a commit of this one.
pub fn announce_commit(database: &Path) -> io::Result<()> {
    OpenOptions::new().append(true).create(true).open(others(database))?.write_all(b".")
}

fn others(database: &Path) -> PathBuf {
    database.with_extension("beside")
}

/// The first that is free, whose caches are the warmest, or else the first.
fn first_free<T>(connections: &[Mutex<T>]) -> MutexGuard<'_, T> {
    let free = connections.iter().find_map(|connection| match connection.try_lock() {
        Ok(connection) => Some(connection),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    });
    free.unwrap_or_else(|| lock(&connections[0]))
}

/// A read that panicked leaves nothing half done on a connection that cannot write.
fn lock<T>(connection: &Mutex<T>) -> MutexGuard<'_, T> {
    connection.lock().unwrap_or_else(PoisonError::into_inner)
}
