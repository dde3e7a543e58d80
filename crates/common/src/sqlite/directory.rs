//! The directory of an embedded database, which one process owns.

use std::{
    fs::{DirBuilder, File, OpenOptions, TryLockError},
    io,
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

/// The file whose lock says that a process owns the directory.
const LOCK: &str = "lock";

/// Why a directory cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DirectoryError {
    /// The system does not let it.
    #[error("the data directory {path:?} cannot be used: {source}")]
    Unusable {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Another process has it.
    #[error("the data directory {0:?} is in use by another process")]
    InUse(PathBuf),
}

/// A directory that this process owns until the value is dropped, or the process ends.
pub struct Directory {
    database: PathBuf,
    _lock: File,
}

impl Directory {
    /// Makes the directory, for its owner alone, and in it the file `database`, and takes its lock.
    pub fn own(path: &Path, database: &str) -> Result<Self, DirectoryError> {
        let unusable = |source| DirectoryError::Unusable { path: path.to_owned(), source };
        DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(unusable)?;
        let lock = File::create(path.join(LOCK)).map_err(unusable)?;
        match lock.try_lock() {
            Ok(()) => {
                let database = path.join(database);
                create(&database).map_err(unusable)?;
                Ok(Self { database, _lock: lock })
            }
            Err(TryLockError::WouldBlock) => Err(DirectoryError::InUse(path.to_owned())),
            Err(TryLockError::Error(source)) => Err(unusable(source)),
        }
    }

    /// The database's file.
    pub fn database(&self) -> &Path {
        &self.database
    }
}

/// Makes an empty file that only its owner may read, unless there is a file.
pub(super) fn create(path: &Path) -> io::Result<()> {
    OpenOptions::new().append(true).create(true).mode(0o600).open(path).map(drop)
}
