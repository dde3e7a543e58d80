//! The one writer of an embedded SQLite database, and the readers beside it.
//!
//! Writes are durable before they are answered, and what waits shares a commit: while one batch is
//! synced to disk the next one gathers. Checkpoints run on a thread of their own; the writer only
//! finishes one of which little is left, or that the thread cannot finish under the load, so that
//! the write-ahead log starts over.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use rusqlite::{Connection, OpenFlags, config::DbConfig};

mod checkpoint;
mod directory;
mod embedded;
mod reader;

pub use directory::{Directory, DirectoryError};
pub use embedded::{Embedded, StartError, WriterThread, failure};
pub use reader::{Lookups, Readers, announce_commit};

/// How long a connection waits for a lock that another process holds, such as a backup's.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Bytes of a page of a new database. A change of a small row writes its page to the log and from
/// there to the database, so half of the usual size is half of the writing.
const PAGE_SIZE: i64 = 2048;

/// Bytes of the database that are read where the system keeps them, instead of being copied.
const MAPPED: i64 = 64 * 1024 * 1024 * 1024;

/// Memory for pages that one connection keeps, in KiB.
const PAGE_CACHE_KIB: i64 = 4096;

/// Prepared statements that one connection keeps.
const STATEMENT_CACHE: usize = 64;

/// Bytes of the write-ahead log's file that are kept when the log starts over.
const LOG_FILE: i64 = 64 * 1024 * 1024;

/// Opens a connection that may write: WAL, every commit synced, checkpoints left to the writer.
pub fn open(path: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.pragma_update(None, "page_size", PAGE_SIZE)?;
    connection.pragma_update(None, "mmap_size", MAPPED)?;
    connection.pragma_update(None, "journal_mode", "wal")?;
    connection.pragma_update(None, "synchronous", "full")?;
    connection.pragma_update(None, "wal_autocheckpoint", 0)?;
    connection.pragma_update(None, "journal_size_limit", LOG_FILE)?;
    tune(&connection)?;
    Ok(connection)
}

/// Opens a connection that only reads, to a database that exists.
pub fn open_reader(path: &Path) -> rusqlite::Result<Connection> {
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
    // Else statements whose plan might depend on what is bound are prepared anew whenever that is.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(())
}

/// Why a backup was not made.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// There is no database to copy.
    #[error("there is no database at {0:?}")]
    Missing(PathBuf),
    /// It is not for us to copy.
    #[error("the store is in PostgreSQL, which pg_dump copies")]
    Postgres,
    /// The target exists already; a backup never overwrites.
    #[error("{0:?} exists already")]
    Exists(PathBuf),
    /// SQLite could not read the source or write the copy.
    #[error("the copy failed: {0}")]
    Sqlite(#[from] rusqlite::Error),
    /// The copy could not be synced or put in place.
    #[error("the copy could not be put in place: {0}")]
    Io(#[from] io::Error),
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
    match fs::remove_file(&partial) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
        _ => directory::create(&partial)?,
    }
    open_reader(source)?.execute("VACUUM INTO ?1", [partial.to_str()])?;
    let copy = Connection::open(&partial)?;
    prepare(&copy)?;
    copy.close().map_err(|(_, error)| error)?;
    File::open(&partial)?.sync_all()?;
    fs::rename(&partial, target)?;
    let directory = target.parent().filter(|parent| !parent.as_os_str().is_empty());
    File::open(directory.unwrap_or(Path::new(".")))?.sync_all()?;
    Ok(())
}
