//! The first steps of a start: what the last process left is made durable before anything uses it.

use std::{
    fs,
    path::Path,
    sync::Arc,
    thread::sleep,
    time::{Duration, Instant},
};

use rusqlite::{Connection, ErrorCode};

use super::{
    checkpoint::empty,
    directory::{Directory, DirectoryError, sync_name},
    disk::{Disk, drop_cached, wal},
    embedded::StartError,
    open, open_reader,
};

/// How long a start waits until other processes do not read the log any more.
const PATIENCE: Duration = Duration::from_secs(60);

/// Pause between two attempts.
const RETRY_AFTER: Duration = Duration::from_millis(100);

/// Opens the database of a directory, and looks at its volume. After an unclean end, copies the log
/// into it first: the log may have commits that only the memory of the kernel knows, because they
/// could not be synced. So the kernel forgets what it has in memory, and the next read comes from
/// the disk.
///
/// # Errors
/// [`StartError::InUse`] if another process, such as a backup, reads the log for a minute.
pub fn recover(directory: &Directory) -> Result<(Connection, Arc<Disk>), StartError> {
    let path = directory.database();
    let disk = Arc::new(Disk::new(path));
    let was_unclean = fs::metadata(wal(path)).is_ok_and(|wal| wal.len() > 0);
    if was_unclean {
        for file in [path, &wal(path)] {
            drop_cached(file).map_err(StartError::File)?;
        }
    }
    let connection = open(path)?;
    disk.set_must_empty(was_unclean && !empty_log(&connection, &disk)?);
    // SQLite ignores an error of this sync.
    sync_name(path).map_err(StartError::File)?;
    Ok((connection, disk))
}

/// Opens the database to write to it from a second process, while a service may own the directory.
/// The database must exist. Without a service, this process is the one that opens it after an
/// unclean end; it then owns the directory until the second value is dropped.
pub fn open_beside(
    directory: &Path,
    database: &str,
) -> Result<(Connection, Option<Directory>), StartError> {
    let path = directory.join(database);
    // Fails if there is no database, which `open` would create.
    drop(open_reader(&path)?);
    match Directory::own(directory, database) {
        Ok(directory) => Ok((recover(&directory)?.0, Some(directory))),
        Err(DirectoryError::InUse(_)) => Ok((open(&path)?, None)),
        Err(error) => Err(error.into()),
    }
}

/// Returns false if the disk is full.
fn empty_log(connection: &Connection, disk: &Disk) -> Result<bool, StartError> {
    let started = Instant::now();
    loop {
        match empty(connection) {
            Ok(true) => return Ok(true),
            Ok(false) if started.elapsed() < PATIENCE => sleep(RETRY_AFTER),
            Ok(false) => return Err(StartError::InUse),
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DiskFull) => {
                disk.refused(0, Instant::now());
                return Ok(false);
            }
            Err(error) => return Err(error.into()),
        }
    }
}
