//! Changes during a checkpoint, which copies the write-ahead log into the database.

use std::{
    fs,
    path::{Path, PathBuf},
    time::SystemTime,
};

use blackbox::process::DEADLINE;
use tokio::join;

use crate::eventually::eventually;

/// Checkpoints until a test sees one as it needs it, at most.
pub(super) const ATTEMPTS: usize = 10;

/// Runs `fill`, waits until the idle service begins a checkpoint, and runs `load`. Repeats this until
/// the checkpoint wrote to the database after the first commit of the load.
pub(super) async fn during_copy(
    database: &Path,
    mut fill: impl AsyncFnMut(),
    mut load: impl AsyncFnMut(),
) {
    let log = PathBuf::from(format!("{}-wal", database.display()));
    for _ in 0..ATTEMPTS {
        let before = modified(database);
        fill().await;
        later(database, before, "the log is copied").await;
        let before = modified(&log);
        let ((), first) = join!(load(), later(&log, before, "the load commits"));
        if modified(database) > first {
            return;
        }
    }
    panic!("no commit during a checkpoint in {ATTEMPTS} attempts");
}

/// Waits until the file has been written after this time, and returns the new time.
async fn later(file: &Path, time: SystemTime, what: &str) -> SystemTime {
    eventually(what, DEADLINE, async || Some(modified(file)).filter(|now| *now > time)).await
}

fn modified(file: &Path) -> SystemTime {
    fs::metadata(file).unwrap().modified().unwrap()
}
