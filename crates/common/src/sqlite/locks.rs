//! Finds which process holds the write lock of a database.

use std::{
    fs, io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    process,
    time::Duration,
};

use crate::throttle::Throttle;

const REPORT_EVERY: Duration = Duration::from_secs(60);

/// Offset of the write lock in the index of the log: `WAL_WRITE_LOCK` in SQLite's documentation of
/// the format.
const WRITE_LOCK: u64 = 120;

/// Reports the locks of other processes.
pub(super) struct Locks {
    /// The index of the log.
    index: PathBuf,
    reports: Throttle,
}

impl Locks {
    pub(super) fn of(database: &Path) -> Self {
        let mut index = database.as_os_str().to_owned();
        index.push("-shm");
        Self { index: index.into(), reports: Throttle::new(REPORT_EVERY) }
    }

    /// Logs which process holds the write lock, at most once a minute.
    pub(super) fn report(&self) {
        if !self.reports.try_acquire() {
            return;
        }
        let said = "another process holds a lock in the database";
        match self.holder() {
            Ok(Some(pid)) => {
                let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
                tracing::warn!(holder.pid = pid, holder.program = name.trim_end(), "{said}");
            }
            Ok(None) => tracing::warn!("{said}, and has just ended"),
            Err(error) => tracing::warn!(cause = %error, "{said}"),
        }
    }

    /// 0 is a process of another container.
    fn holder(&self) -> io::Result<Option<u32>> {
        let inode = fs::metadata(&self.index)?.ino();
        let locks = fs::read_to_string("/proc/locks")?;
        Ok(locks.lines().find_map(|line| holder(line, inode)).filter(|&pid| pid != process::id()))
    }
}

/// The process that holds the write lock by this line of `/proc/locks`, such as
/// `1: POSIX  ADVISORY  WRITE 1234 fe:01:5678 120 120`. A line with `->` is of one that waits.
fn holder(line: &str, inode: u64) -> Option<u32> {
    let parts: Vec<&str> = line.split_whitespace().collect();
    let [_, _, _, "WRITE", pid, file, first, last] = parts[..] else { return None };
    let is_file = file.rsplit(':').next()?.parse() == Ok(inode);
    let is_write_lock = first.parse() == Ok(WRITE_LOCK) && last.parse() == Ok(WRITE_LOCK);
    (is_file && is_write_lock).then(|| pid.parse().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_holder_of_the_write_lock_is_found() {
        let inode = 5678;
        let held = |line| holder(line, inode);
        assert_eq!(held("1: POSIX  ADVISORY  WRITE 1234 fe:01:5678 120 120"), Some(1234));
        assert_eq!(held("1: POSIX  ADVISORY  WRITE -1 fe:01:5678 120 120"), Some(0));
        for other in [
            "1: POSIX  ADVISORY  READ 1234 fe:01:5678 120 120",
            "1: POSIX  ADVISORY  WRITE 1234 fe:01:5679 120 120",
            "1: POSIX  ADVISORY  WRITE 1234 fe:01:5678 121 121",
            "1: -> POSIX  ADVISORY  WRITE 1234 fe:01:5678 120 120",
            "2: FLOCK  ADVISORY  WRITE 1234 fe:01:5678 0 EOF",
            "",
        ] {
            assert_eq!(held(other), None, "{other}");
        }
    }
}
