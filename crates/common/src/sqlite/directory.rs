//! The data directory of a SQLite database. One process at a time owns it.

use std::{
    fs::{DirBuilder, File, OpenOptions, TryLockError},
    io,
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    thread::sleep,
    time::Duration,
};

/// The process that owns the directory holds the lock of this file. The file is empty, unless the owner
/// waits for others that read the database.
const LOCK: &str = "lock";

/// The name of the file that says that the database was imported elsewhere.
const IMPORTED: &str = "imported";

/// Why a directory cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DirectoryError {
    /// The directory or a file in it cannot be created or opened.
    #[error("the data directory {path:?} cannot be used: {source}")]
    Unusable {
        /// Path of the data directory.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// Another process holds the lock.
    #[error("the data directory {0:?} is in use by another process")]
    InUse(PathBuf),
    /// A command reads only a database that exists.
    #[error("there is no database at {0:?}")]
    Missing(PathBuf),
    /// An import has copied the database, and left a mark.
    #[error(
        "this store was imported to PostgreSQL: use that one; to use this one again, delete {0:?}"
    )]
    Imported(PathBuf),
}

/// A directory that this process owns. The lock is released when the value is dropped or the
/// process ends.
pub struct Directory {
    path: PathBuf,
    database: PathBuf,
    lock: File,
}

impl Directory {
    /// Creates the directory and the file `database` in it unless they exist, accessible only by
    /// their owner, and takes the lock.
    pub fn own(path: &Path, database: &str) -> Result<Self, DirectoryError> {
        let unusable = |source| DirectoryError::Unusable { path: path.to_owned(), source };
        create_directory(path).map_err(unusable)?;
        let lock = File::create(path.join(LOCK)).map_err(unusable)?;
        match try_lock(&lock) {
            Ok(()) => {
                let database = path.join(database);
                create(&database).map_err(unusable)?;
                Ok(Self { path: path.to_owned(), database, lock })
            }
            Err(TryLockError::WouldBlock) => Err(DirectoryError::InUse(path.to_owned())),
            Err(TryLockError::Error(source)) => Err(unusable(source)),
        }
    }

    /// Path of the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Asks processes that read the database to end, or no longer: see [`owner_waits`].
    pub(super) fn wait_for_readers(&self, waits: bool) -> io::Result<()> {
        self.lock.set_len(waits.into())
    }

    /// Path of the database file.
    pub fn database(&self) -> &Path {
        &self.database
    }
}

/// Fails if this database does not exist, or was imported elsewhere: what is read is old.
pub fn require_current(database: &Path) -> Result<(), DirectoryError> {
    if !database.exists() {
        return Err(DirectoryError::Missing(database.to_owned()));
    }
    let mark = database.with_file_name(IMPORTED);
    if mark.exists() { Err(DirectoryError::Imported(mark)) } else { Ok(()) }
}

/// Lets nobody but an import use the database in this directory again: two stores that do the work of
/// one pay out twice.
pub(crate) fn mark_imported(directory: &Path) -> io::Result<()> {
    let mark = directory.join(IMPORTED);
    create(&mark)?;
    sync_name(&mark)
}

/// Tries for a moment, because [`owner_waits`] holds the lock for a moment.
fn try_lock(lock: &File) -> Result<(), TryLockError> {
    for _ in 0..5 {
        match lock.try_lock() {
            Err(TryLockError::WouldBlock) => sleep(Duration::from_millis(20)),
            locked => return locked,
        }
    }
    lock.try_lock()
}

/// Whether the process that owns the directory of this database waits for others that read it. The
/// mark of a process that was killed means nothing.
pub(super) fn owner_waits(database: &Path) -> bool {
    let path = database.with_file_name(LOCK);
    let is_owned = || {
        let lock = File::open(&path)?.try_lock_shared();
        Ok::<_, io::Error>(matches!(lock, Err(TryLockError::WouldBlock)))
    };
    path.metadata().is_ok_and(|lock| lock.len() > 0) && is_owned().unwrap_or(false)
}

/// Creates a directory and its parents, accessible only by their owner, unless they exist. SQLite syncs
/// the names of its files, but nobody else syncs the name of their directory: after a power cut, all
/// of it could be gone.
pub fn create_directory(path: &Path) -> io::Result<()> {
    let is_missing = |path: &&Path| !path.as_os_str().is_empty() && !path.exists();
    let missing: Vec<&Path> = path.ancestors().take_while(is_missing).collect();
    DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    missing.into_iter().try_for_each(sync_name)
}

/// The directory that holds the name of this file or directory.
pub(super) fn parent(path: &Path) -> &Path {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    parent.unwrap_or(Path::new("."))
}

/// Syncs the directory that holds the name of this file or directory.
pub(super) fn sync_name(path: &Path) -> io::Result<()> {
    File::open(parent(path))?.sync_all()
}

/// Creates an empty file that only its owner can read, unless the file exists.
pub(super) fn create(path: &Path) -> io::Result<()> {
    OpenOptions::new().append(true).create(true).mode(0o600).open(path).map(drop)
}
