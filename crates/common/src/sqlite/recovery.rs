//! The first steps of a start: what the last process left is made durable before anything uses it.

use std::{
    fs,
    sync::Arc,
    thread::sleep,
    time::{Duration, Instant},
};

use rusqlite::{Connection, ErrorCode};

use super::{
    checkpoint::empty,
    directory::{Directory, sync_name},
    disk::{Disk, drop_cached, wal},
    embedded::StartError,
    open,
};

/// How long a start waits until other processes do not read the log any more. Commands of this program
/// end at once.
const PATIENCE: Duration = Duration::from_secs(60);

/// Pause between two attempts.
const RETRY_AFTER: Duration = Duration::from_millis(100);

/// Opens the database of a directory, and looks at its volume. After an unclean end, copies the log
/// into it first: the log may have commits that only the memory of the kernel knows, because they
/// could not be synced. So the kernel forgets what it has in memory, and the next read comes from
/// the disk.
///
/// # Errors
/// [`StartError::InUse`] if another process, such as `sqlite3`, reads the log for a minute.
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
    disk.set_must_empty(was_unclean && !empty_log(&connection, &disk, directory)?);
    // SQLite ignores an error of this sync.
    sync_name(path).map_err(StartError::File)?;
    Ok((connection, disk))
}

/// Returns false if the disk is full. Commands that read the log end for it.
fn empty_log(
    connection: &Connection,
    disk: &Disk,
    directory: &Directory,
) -> Result<bool, StartError> {
    let started = Instant::now();
    let emptied = loop {
        match empty(connection) {
            Ok(false) if started.elapsed() < PATIENCE => {
                directory.wait_for_readers(true).map_err(StartError::File)?;
                sleep(RETRY_AFTER);
            }
            Ok(false) => break Err(StartError::InUse),
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DiskFull) => {
                disk.refused(0, Instant::now());
                break Ok(false);
            }
            emptied => break emptied.map_err(StartError::from),
        }
    };
    directory.wait_for_readers(false).map_err(StartError::File)?;
    emptied
}
