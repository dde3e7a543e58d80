//! SQLite: one connection that writes, a checkpoint thread, and connections that only read.
//!
//! A write is answered after it is synced to disk. While one batch is synced, the next one gathers.
//!
//! Before a change, know:
//! 1. **One connection writes** ([`Embedded`]), on a thread of its own ([`WriterThread`]): SQLite
//!    allows one write transaction at a time, and a commit blocks the thread on `fsync`.
//! 2. **One process writes** the database of a [`Directory`]: commands send it their orders
//!    ([`crate::control`]). It has a second connection for the clock ([`crate::clock`]). So each
//!    transaction takes the write lock when it begins (`BEGIN IMMEDIATE`), and cannot fail later
//!    because the database is busy: a busy error means that nothing was written.
//! 3. **Commits do not checkpoint** (`wal_autocheckpoint` is 0), because callers would wait for it.
//!    A thread copies the write-ahead log (WAL) into the database, late: a page that changed often
//!    is then copied once. The writer completes a checkpoint only if few pages are left, or if the
//!    thread cannot keep up with the load. Without this, the WAL would never be reset, and would
//!    grow without limit.
//! 4. **The checkpoint thread syncs the database file itself**, with a descriptor that it never
//!    closes: closing it would release the locks of SQLite.
//! 5. **Look-ups keep their snapshot** ([`Lookups`]) until something is committed, because
//!    beginning a transaction costs as much as the look-up. Therefore each commit must increment a
//!    counter before its callers are answered: [`Embedded::commit`] does it. A look-up would
//!    otherwise miss a write that was already answered.
//! 6. **Open snapshots block checkpoints**: pages that are newer than the oldest snapshot cannot be
//!    copied. So look-ups end their transactions before each checkpoint. [`Readers`] keep a
//!    snapshot only during one read.
//! 7. **A cache of values** ([`ReadCache`]) never returns a value that an answered write replaced:
//!    the writer marks the keys before it commits.
//! 8. **A commit is one write call** ([`coalescing_vfs`]). This is correct only if each commit is
//!    synced, as [`open`] demands.
//! 9. **A failed sync ends the process** (`disk::failed`), because the kernel may have dropped
//!    what it could not write. The next start reads from the disk again, and empties the log before
//!    anything else ([`recover`]).
//! 10. **A full disk never wedges the store.** Each page gets its place in the database before it is
//!     committed to the log (`room`). So a checkpoint always has room, and empties a log that has
//!     filled the disk.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use rusqlite::{Connection, ErrorCode, OpenFlags, config::DbConfig, ffi};

use crate::progress::Progress;

mod base;
mod cache;
mod checkpoint;
mod directory;
mod disk;
mod embedded;
mod locks;
mod migrate;
mod reader;
mod recovery;
mod room;

pub use base::{Base, Owned};
pub use cache::{Changing, LookUp, Place, ReadCache};
pub(crate) use directory::mark_imported;
pub use directory::{Directory, DirectoryError, create_directory, require_current};
pub use disk::Disk;
pub use embedded::{Embedded, StartError, WriterThread, failure};
pub use migrate::migrate;
pub use reader::{Lookups, Readers};
pub use recovery::recover;

/// How long a connection waits for a lock that another process holds, such as a backup.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Page size of a new database in bytes, half of the default. A change of a small row writes its
/// page to the WAL and then to the database, so half the page size means half the bytes written.
const PAGE_SIZE: i64 = 2048;

/// Bytes of the database that are memory-mapped, so that reads do not copy them. SQLite must be
/// compiled with this maximum.
const MAPPED: i64 = 64 * 1024 * 1024 * 1024;

/// Page cache of one connection, in KiB.
const PAGE_CACHE_KIB: i64 = 4096;

/// Prepared statements in the cache of one connection.
const STATEMENT_CACHE: usize = 64;

/// The WAL file is truncated to this size in bytes when the WAL is reset.
const WAL_SIZE_LIMIT: i64 = 256 * 1024 * 1024;

/// The oldest SQLite that can be used. In older ones, a checkpoint and a write at the same moment can
/// reset the WAL wrongly, which corrupts the database. The checkpoint thread makes this likely.
const OLDEST_VERSION: i32 = 3_051_003;

/// Opens a connection that may write: WAL mode, every commit synced, no automatic checkpoints.
pub fn open(path: &Path) -> rusqlite::Result<Connection> {
    require_version(rusqlite::version_number())?;
    coalescing_vfs::on_failure(|file, call, error| disk::failed(file, call, error));
    let connection = coalescing_vfs::open(path)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.pragma_update(None, "page_size", PAGE_SIZE)?;
    connection.pragma_update(None, "mmap_size", MAPPED)?;
    connection.pragma_update(None, "journal_mode", "wal")?;
    connection.pragma_update(None, "synchronous", "full")?;
    connection.pragma_update(None, "wal_autocheckpoint", 0)?;
    connection.pragma_update(None, "journal_size_limit", WAL_SIZE_LIMIT)?;
    tune(&connection)?;
    Ok(connection)
}

/// Opens a connection that only reads. The database must exist.
pub fn open_reader(path: &Path) -> rusqlite::Result<Connection> {
    require_version(rusqlite::version_number())?;
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    tune(&connection)?;
    Ok(connection)
}

/// Fails if this version, in the form of `sqlite3_libversion_number`, is too old. The program
/// contains SQLite, but a build can replace it with the one of the system.
fn require_version(version: i32) -> rusqlite::Result<()> {
    if version >= OLDEST_VERSION {
        return Ok(());
    }
    let [linked, oldest] = [version, OLDEST_VERSION].map(|version| {
        format!("{}.{}.{}", version / 1_000_000, version / 1_000 % 1_000, version % 1_000)
    });
    let reason = format!(
        "this program was built with SQLite {linked}, which can corrupt a database: build it with \
         {oldest} or newer"
    );
    Err(rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_ERROR), Some(reason)))
}

fn tune(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update(None, "cache_size", -PAGE_CACHE_KIB)?;
    connection.pragma_update(None, "temp_store", "memory")?;
    connection.set_prepared_statement_cache_capacity(STATEMENT_CACHE);
    // Without this, SQLite prepares a statement again whenever a bound value could change its plan.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(())
}

/// Number of steps of the virtual machine of SQLite between two looks at a request to stop: far less
/// than a millisecond.
const STOP_STEPS: i32 = 10_000;

/// Makes statements of this connection fail with [`ErrorCode::OperationInterrupted`] when the command
/// is asked to stop, also by a service that cannot start while somebody reads its database. Calls
/// `report` regularly while a statement runs.
pub fn stop_with(
    connection: &mut Connection,
    progress: &Progress,
    mut report: impl FnMut(&Progress) + Send + 'static,
) -> rusqlite::Result<()> {
    let progress = progress.clone();
    // A temporary database has no path.
    let database = connection.path().filter(|path| !path.is_empty()).map(PathBuf::from);
    let is_stopped = move || {
        report(&progress);
        if database.as_deref().is_some_and(directory::owner_waits) {
            progress.stop("the service starts and needs its log: run the command again");
        }
        progress.is_stopped()
    };
    connection.progress_handler(STOP_STEPS, Some(is_stopped))
}

/// Whether a statement failed because the command was asked to stop.
pub fn is_interrupted(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::OperationInterrupted)
}

/// Why a backup was not made.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// The source does not exist, or was imported elsewhere: the copy would be old.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    /// The store is in PostgreSQL, and [`backup`] copies only SQLite databases.
    #[error("the store is in PostgreSQL: use pg_dump to copy it")]
    Postgres,
    /// The target exists. A backup never overwrites a file.
    #[error("{0:?} already exists: choose another file")]
    Exists(PathBuf),
    /// The directory of the target does not exist.
    #[error("there is no directory {0:?}")]
    NoDirectory(PathBuf),
    /// The command was asked to stop.
    #[error("interrupted: no file was created")]
    Interrupted,
    /// SQLite could not read the source or write the copy.
    #[error("the copy failed: {0}")]
    Sqlite(#[source] rusqlite::Error),
    /// A file operation on the copy failed.
    #[error("the copy could not be synced or renamed: {0}")]
    Io(#[from] io::Error),
}

impl From<rusqlite::Error> for BackupError {
    fn from(error: rusqlite::Error) -> Self {
        if is_interrupted(&error) { Self::Interrupted } else { Self::Sqlite(error) }
    }
}

/// Copies the database at `source` to the new file `target` while it is in use. The copy is one
/// consistent state, synced to disk, and either complete or absent. `prepare` may change the copy
/// before it gets its name.
pub fn backup(
    source: &Path,
    target: &Path,
    progress: &Progress,
    prepare: impl FnOnce(&Connection) -> rusqlite::Result<()>,
) -> Result<(), BackupError> {
    require_current(source)?;
    let directory = directory::parent(target);
    if !directory.is_dir() {
        return Err(BackupError::NoDirectory(directory.to_owned()));
    }
    if target.exists() {
        return Err(BackupError::Exists(target.to_owned()));
    }
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    // Another backup may have the same target.
    let partial = tempfile::Builder::new()
        .prefix(&format!("{name}."))
        .suffix(".partial")
        .tempfile_in(directory)?;
    copy(source, partial.path(), progress, prepare)?;
    partial.persist_noclobber(target).map_err(|error| match error.error.kind() {
        io::ErrorKind::AlreadyExists => BackupError::Exists(target.to_owned()),
        _ => error.error.into(),
    })?;
    Ok(directory::sync_name(target)?)
}

/// Writes the copy and syncs it.
fn copy(
    source: &Path,
    partial: &Path,
    progress: &Progress,
    prepare: impl FnOnce(&Connection) -> rusqlite::Result<()>,
) -> Result<(), BackupError> {
    let mut reader = open_reader(source)?;
    let kib = "SELECT (page_count - freelist_count) * page_size / 1024
               FROM pragma_page_count, pragma_freelist_count, pragma_page_size";
    let kib: i64 = reader.query_row(kib, [], |row| row.get(0))?;
    progress.begin("KiB", kib.unsigned_abs());
    let written = partial.to_owned();
    stop_with(&mut reader, progress, move |progress| {
        if let Ok(written) = fs::metadata(&written) {
            progress.set(written.len() / 1024);
        }
    })?;
    reader.execute("VACUUM INTO ?1", [partial.to_str()])?;
    let copy = Connection::open(partial)?;
    prepare(&copy)?;
    copy.close().map_err(|(_, error)| error)?;
    Ok(File::open(partial)?.sync_all()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `.cargo/config.toml` has the options. A test of system calls shows that commits use
    /// `fdatasync`: SQLite does not list that option.
    #[test]
    fn sqlite_is_compiled_as_configured() {
        let connection = Connection::open_in_memory().unwrap();
        let mut statement = connection.prepare("PRAGMA compile_options").unwrap();
        let options = statement.query_map([], |row| row.get::<_, String>(0)).unwrap();
        let options: Vec<_> = options.collect::<rusqlite::Result<_>>().unwrap();
        for wanted in ["DEFAULT_MEMSTATUS=0".to_owned(), format!("MAX_MMAP_SIZE={MAPPED:#x}")] {
            assert!(options.contains(&wanted), "{wanted}: {options:#?}");
        }
    }

    #[test]
    fn an_sqlite_that_is_too_old_is_rejected_with_both_versions() {
        for version in [3_051_003, 3_051_004, 3_052_000, 4_000_000, rusqlite::version_number()] {
            assert!(require_version(version).is_ok(), "{version}");
        }
        for (version, name) in
            [(3_051_002, "3.51.2"), (3_050_004, "3.50.4"), (3_040_001, "3.40.1"), (0, "0.0.0")]
        {
            let error = require_version(version).unwrap_err().to_string();
            assert!(error.contains(name) && error.contains("3.51.3 or newer"), "{error}");
        }
    }
}
