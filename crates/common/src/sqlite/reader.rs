//! Connections that only read. They never wait for the writer.

use std::{
    path::Path,
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
    /// Opens `count` connections (at least one) to a database that exists. They do not memory-map
    /// it, because scanned pages would count as memory of the process.
    pub fn open(path: &Path, count: usize) -> rusqlite::Result<Self> {
        (0..count.max(1))
            .map(|_| open_reader(path).map(Mutex::new))
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// Runs `read` in one snapshot on a free connection, or waits for one. Blocks the thread: do
    /// not call it in async code.
    pub fn read<T>(
        &self,
        read: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<T> {
        read(&*first_free(&self.0).unchecked_transaction()?)
    }
}

/// The number of look-ups without a commit after which a [`Lookup`] memory-maps the database.
const MAP_AFTER: u32 = 100;

/// A fixed set of connections for look-ups of single rows. Each one stays in its read transaction
/// until something is committed, because beginning one costs as much as the look-up itself.
pub struct Lookups {
    lookups: Vec<Mutex<Lookup>>,
    /// Commits of this process so far.
    commits: AtomicU64,
}

/// A connection for one look-up at a time. With a memory map, a look-up copies no page and is
/// cheaper. But SQLite unmaps the database after each commit, and mapping it again costs as much as
/// many look-ups. So there is a map only while nothing is committed.
struct Lookup {
    connection: Connection,
    /// The open transaction sees at least so many commits.
    seen: u64,
    /// Look-ups in this transaction.
    reads: u32,
    is_mapped: bool,
}

impl Lookups {
    /// Opens `count` connections (at least one) to a database that exists.
    pub fn open(path: &Path, count: usize) -> rusqlite::Result<Self> {
        let open = |_| {
            let connection = open_reader(path)?;
            Ok(Mutex::new(Lookup { connection, seen: 0, reads: 0, is_mapped: false }))
        };
        let lookups = (0..count.max(1)).map(open).collect::<rusqlite::Result<_>>()?;
        Ok(Self { lookups, commits: AtomicU64::new(0) })
    }

    /// Looks up single rows on this thread. Sees every write that was answered before.
    pub fn read<T>(
        &self,
        read: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<T> {
        let mut lookup = first_free(&self.lookups);
        let seen = self.commits.load(Ordering::Acquire);
        if lookup.seen != seen || lookup.connection.is_autocommit() {
            lookup.begin(seen, false)?;
        } else if !lookup.is_mapped && lookup.reads >= MAP_AFTER {
            lookup.begin(seen, true)?;
        }
        lookup.reads = lookup.reads.saturating_add(1);
        read(&lookup.connection)
    }

    /// Makes the next look-up take a new snapshot.
    pub(super) fn committed(&self) {
        self.commits.fetch_add(1, Ordering::Release);
    }

    /// Ends the read transactions. A checkpoint cannot copy pages that are newer than them.
    pub(super) fn end_transactions(&self) -> rusqlite::Result<()> {
        self.lookups.iter().try_for_each(|lookup| lock(lookup).end())
    }
}

impl Lookup {
    /// Begins a transaction that sees so many commits. SQLite cannot change the map during one.
    fn begin(&mut self, seen: u64, map: bool) -> rusqlite::Result<()> {
        self.end()?;
        if self.is_mapped != map {
            self.connection.pragma_update(None, "mmap_size", if map { MAPPED } else { 0 })?;
            self.is_mapped = map;
        }
        // The snapshot is taken at the first read, so it contains these commits.
        self.connection.prepare_cached("BEGIN")?.execute([])?;
        (self.seen, self.reads) = (seen, 0);
        Ok(())
    }

    fn end(&self) -> rusqlite::Result<()> {
        if !self.connection.is_autocommit() {
            self.connection.prepare_cached("COMMIT")?.execute([])?;
        }
        Ok(())
    }
}

/// The first free connection, because its page cache is used most. If none is free, waits for the
/// first.
fn first_free<T>(connections: &[Mutex<T>]) -> MutexGuard<'_, T> {
    let free = connections.iter().find_map(|connection| match connection.try_lock() {
        Ok(connection) => Some(connection),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    });
    free.unwrap_or_else(|| lock(&connections[0]))
}

/// Ignores poisoning: a read that panicked cannot leave partial changes, because the connection
/// cannot write.
fn lock<T>(connection: &Mutex<T>) -> MutexGuard<'_, T> {
    connection.lock().unwrap_or_else(PoisonError::into_inner)
}
