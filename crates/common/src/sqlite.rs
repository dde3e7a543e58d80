//! The one writer of an embedded SQLite database, and the readers beside it.
//!
//! Writes are durable before they are answered, and what waits shares a commit: while one batch is
//! synced to disk the next one gathers. Checkpoints run on a thread of their own; the writer only
//! finishes a nearly complete one, so that the log starts over.

use std::{
    path::{Path, PathBuf},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use rusqlite::{Connection, OpenFlags};

mod checkpoint;
mod writer;

pub use writer::{Engine, Handle, WriteError, Writer};

/// How long a connection waits for a lock that another process holds, such as a backup's.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Memory for pages that one connection keeps, in KiB.
const PAGE_CACHE_KIB: i64 = 4096;

/// Prepared statements that one connection keeps.
const STATEMENT_CACHE: usize = 64;

/// Opens a connection that may write: WAL, every commit synced, checkpoints left to the writer.
pub fn open(path: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.pragma_update(None, "journal_mode", "wal")?;
    connection.pragma_update(None, "synchronous", "full")?;
    connection.pragma_update(None, "wal_autocheckpoint", 0)?;
    tune(&connection)?;
    Ok(connection)
}

fn open_reader(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    tune(&connection)?;
    Ok(connection)
}

fn tune(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update(None, "cache_size", -PAGE_CACHE_KIB)?;
    connection.pragma_update(None, "temp_store", "memory")?;
    connection.set_prepared_statement_cache_capacity(STATEMENT_CACHE);
    Ok(())
}

/// A fixed set of connections that only read. They never wait for the writer.
pub struct Readers {
    connections: Vec<Mutex<Connection>>,
    next: AtomicUsize,
}

impl Readers {
    /// Opens `count` connections (at least one) to a database that exists.
    pub fn open(path: &Path, count: usize) -> rusqlite::Result<Self> {
        let connections = (0..count.max(1))
            .map(|_| open_reader(path).map(Mutex::new))
            .collect::<Result<_, _>>()?;
        Ok(Self { connections, next: AtomicUsize::new(0) })
    }

    /// Reads with a connection that is free, or with the next in turn once it is. Blocks: what may
    /// take long belongs on a blocking thread.
    pub fn read<T>(
        &self,
        read: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<T> {
        let turn = self.next.fetch_add(1, Ordering::Relaxed) % self.connections.len();
        let (before, from_turn) = self.connections.split_at(turn);
        let free = from_turn.iter().chain(before).find_map(|reader| reader.try_lock().ok());
        let connection = match free {
            Some(connection) => connection,
            // A read that panicked leaves nothing half done on a connection that cannot write.
            None => self.connections[turn].lock().unwrap_or_else(PoisonError::into_inner),
        };
        read(&connection)
    }
}

/// Why a backup was not made.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// There is no database to copy.
    #[error("there is no database at {0:?}")]
    Missing(PathBuf),
    /// The target exists already; a backup never overwrites.
    #[error("{0:?} exists already")]
    Exists(PathBuf),
    /// SQLite could not read the source or write the copy.
    #[error("the copy failed: {0}")]
    Sqlite(#[from] rusqlite::Error),
    /// The copy could not be synced or put in place.
    #[error("the copy could not be put in place: {0}")]
    Io(#[from] std::io::Error),
}

/// Copies the database at `source` to the new file `target` while others use it: one consistent
/// state, synced to disk, complete or absent. `prepare` may change the copy before it is in place.
pub fn backup(
    source: &Path,
    target: &Path,
    prepare: impl FnOnce(&Connection) -> rusqlite::Result<()>,
) -> Result<(), BackupError> {
    if !source.exists() {
        return Err(BackupError::Missing(source.to_owned()));
    }
    if target.exists() {
        return Err(BackupError::Exists(target.to_owned()));
    }
    let mut partial = target.as_os_str().to_owned();
    partial.push(".partial");
    let partial = PathBuf::from(partial);
    match std::fs::remove_file(&partial) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
        _ => {}
    }
    let reader = open_reader(source)?;
    reader.execute("VACUUM INTO ?1", [partial.to_str()])?;
    let copy = Connection::open(&partial)?;
    prepare(&copy)?;
    copy.close().map_err(|(_, error)| error)?;
    let file = std::fs::File::open(&partial)?;
    #[cfg(unix)]
    file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
    file.sync_all()?;
    std::fs::rename(&partial, target)?;
    let directory = target.parent().filter(|parent| !parent.as_os_str().is_empty());
    std::fs::File::open(directory.unwrap_or(Path::new(".")))?.sync_all()?;
    Ok(())
}
