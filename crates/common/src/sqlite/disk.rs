//! The volume of a store: a reserve for the moment when it is full, the record of a failure, and
//! what the metrics and `/ready` report.

use std::{
    fs::{self, File},
    io::{self, Read as _},
    path::{Path, PathBuf},
    process,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use prometheus::core::Collector;
use rustix::fs::{Advice, fadvise, statvfs};

use crate::{
    operations::Readiness,
    telemetry::{self, Family, StatsCollector},
};

/// A file of the data directory that holds room for the moment when the volume is full.
const RESERVE: &str = "reserve";

/// The name of the reserve after the disk failed. It stays until an operator deletes it.
const FAILED: &str = "disk-failed";

/// Size of the reserve in bytes: enough for a service to start and to commit small batches.
const RESERVE_BYTES: u64 = 1024 * 1024;

/// The reserve is taken only if the volume has this many times its size. Otherwise, it would take
/// the room that an operator has just made.
const RESERVE_SHARE: u64 = 4;

/// An outage ends when no write was refused for this time. So its two lines in the log cannot be
/// repeated more than once a minute.
const QUIET: Duration = Duration::from_secs(60);

/// The volume that holds the data directory.
pub struct Disk {
    directory: PathBuf,
    database: PathBuf,
    has_reserve: AtomicBool,
    /// Whether the last write was refused.
    is_full: AtomicBool,
    /// Whether the log of an unclean end must be copied before anything is written.
    must_empty: AtomicBool,
    refused: AtomicU64,
    outage: Mutex<Option<Outage>>,
}

/// A time in which writes are refused, because the disk is full.
struct Outage {
    began: Instant,
    last: Instant,
    refused: u64,
}

/// Bytes of a volume.
#[derive(Clone, Copy)]
pub(super) struct Volume {
    pub(super) size: u64,
    /// Bytes that this process can still use.
    pub(super) free: u64,
}

/// The values of the metrics.
struct Stats {
    free: u64,
    wal: u64,
    is_full: bool,
    refused: u64,
    has_failed: bool,
}

const FAMILIES: [Family<Stats>; 5] = [
    Family::gauge("disk_free_bytes", "Free bytes of the volume of the data directory.", |disk| {
        disk.free
    }),
    Family::gauge("wal_bytes", "Bytes of the write-ahead log of SQLite.", |disk| disk.wal),
    Family::gauge("disk_full", "Whether writes are refused because the disk is full.", |disk| {
        disk.is_full.into()
    }),
    Family::counter(
        "writes_refused_total",
        "Writes that were refused because the disk was full.",
        |disk| disk.refused,
    ),
    Family::gauge(
        "disk_failed",
        "Whether the data directory has the file disk-failed: a write to the disk failed, and the \
         service ended. Delete the file when the disk is repaired.",
        |disk| disk.has_failed.into(),
    ),
];

impl Disk {
    /// The volume of this database. Frees the reserve: a start may need it.
    pub(super) fn new(database: &Path) -> Self {
        let directory = database.parent().unwrap_or(Path::new("")).to_owned();
        let disk = Self {
            directory,
            database: database.to_owned(),
            has_reserve: AtomicBool::new(true),
            is_full: AtomicBool::new(false),
            must_empty: AtomicBool::new(false),
            refused: AtomicU64::new(0),
            outage: Mutex::new(None),
        };
        disk.free_reserve();
        if disk.has_failed() {
            tracing::error!(
                file = %disk.directory.join(FAILED).display(),
                "the disk failed before this start: replace it, then delete the file"
            );
        }
        disk
    }

    /// The readiness of a service whose database answers.
    pub fn readiness(&self) -> Readiness {
        if self.is_full() { Readiness::ReadOnly("disk_full") } else { Readiness::Ready }
    }

    fn is_full(&self) -> bool {
        self.is_full.load(Ordering::Relaxed) || self.must_empty()
    }

    /// Whether the log of an unclean end must be copied before anything is written, because the disk
    /// was too full for it.
    pub(super) fn must_empty(&self) -> bool {
        self.must_empty.load(Ordering::Relaxed)
    }

    /// Sets [`must_empty`](Self::must_empty).
    pub(super) fn set_must_empty(&self, must_empty: bool) {
        self.must_empty.store(must_empty, Ordering::Relaxed);
    }

    /// The metrics of the volume.
    pub fn metrics(self: Arc<Self>) -> impl Collector {
        StatsCollector::new(&FAMILIES, move || Stats {
            free: self.volume().map_or(0, |volume| volume.free),
            wal: fs::metadata(wal(&self.database)).map_or(0, |wal| wal.len()),
            is_full: self.is_full(),
            refused: self.refused.load(Ordering::Relaxed),
            has_failed: self.has_failed(),
        })
    }

    fn has_failed(&self) -> bool {
        self.directory.join(FAILED).exists()
    }

    /// `None` if the system does not say.
    pub(super) fn volume(&self) -> Option<Volume> {
        let volume = statvfs(&self.database).ok()?;
        let bytes = |blocks: u64| blocks.saturating_mul(volume.f_frsize);
        Some(Volume { size: bytes(volume.f_blocks), free: bytes(volume.f_bavail) })
    }

    /// Takes the room of the reserve, if the volume has enough.
    fn take_reserve(&self, volume: Volume) {
        let is_taken = self.has_reserve.load(Ordering::Relaxed);
        if is_taken || volume.free < RESERVE_SHARE * RESERVE_BYTES {
            return;
        }
        let taken = File::create(self.directory.join(RESERVE))
            .and_then(|mut file| io::copy(&mut io::repeat(0).take(RESERVE_BYTES), &mut file));
        self.has_reserve.store(true, Ordering::Relaxed);
        if let Err(error) = taken {
            tracing::debug!(cause = %error, "no reserve");
            self.free_reserve();
        }
    }

    /// Frees the room of the reserve. The file stays, because [`failed`] needs one.
    pub(super) fn free_reserve(&self) {
        if self.has_reserve.swap(false, Ordering::Relaxed)
            && let Err(error) = File::create(self.directory.join(RESERVE))
        {
            tracing::debug!(cause = %error, "the reserve cannot be freed");
        }
    }

    /// Records that writes were refused.
    pub(super) fn refused(&self, writes: usize, now: Instant) {
        let writes = u64::try_from(writes).unwrap_or(u64::MAX);
        self.is_full.store(true, Ordering::Relaxed);
        self.refused.fetch_add(writes, Ordering::Relaxed);
        let mut outage = self.outage();
        if outage.is_none() {
            tracing::error!(
                directory = %self.directory.display(),
                "the disk is full: writes are refused until there is room"
            );
        }
        let outage = outage.get_or_insert(Outage { began: now, last: now, refused: 0 });
        outage.refused += writes;
        outage.last = now;
    }

    /// Records a commit: there is room again.
    pub(super) fn committed(&self) {
        if self.is_full() {
            self.is_full.store(false, Ordering::Relaxed);
        }
    }

    /// Called regularly. Takes the reserve again, and ends an outage, if there is room.
    pub(super) fn tend(&self, volume: Volume, now: Instant) {
        self.take_reserve(volume);
        if volume.free >= RESERVE_BYTES {
            self.committed();
        }
        let is_over = |outage: &mut Outage| now - outage.last >= QUIET;
        if !self.is_full()
            && let Some(ended) = self.outage().take_if(is_over)
        {
            tracing::error!(
                writes.refused = ended.refused,
                seconds = (ended.last - ended.began).as_secs(),
                "the disk has room again: writes are accepted"
            );
        }
    }

    fn outage(&self) -> MutexGuard<'_, Option<Outage>> {
        self.outage.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Path of the write-ahead log of a database.
pub(super) fn wal(database: &Path) -> PathBuf {
    let mut path = database.as_os_str().to_owned();
    path.push("-wal");
    PathBuf::from(path)
}

/// Makes the kernel forget what it keeps of a file in memory. After a failed write, its pages differ
/// from the disk, and after a restart they would be taken for what is stored.
pub(super) fn drop_cached(path: &Path) -> io::Result<()> {
    Ok(fadvise(File::open(path)?, 0, None, Advice::DontNeed)?)
}

/// Ends the process, because the kernel may have dropped what it could not write: nothing is known
/// any more about the content of the file. Does not even close it, because that would write. The
/// next start finds the record `disk-failed` beside it.
pub(super) fn failed(file: &Path, call: &'static str, error: &io::Error) -> ! {
    coalescing_vfs::halt();
    let directory = file.parent().unwrap_or(Path::new(""));
    let recorded = fs::rename(directory.join(RESERVE), directory.join(FAILED));
    tracing::error!(
        file = %file.display(),
        call,
        cause = %error,
        recorded = recorded.is_ok(),
        "the disk failed: the service ends, so that it does not build on lost data"
    );
    telemetry::end();
    process::abort()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disk() -> (Disk, tempfile::TempDir) {
        let directory = tempfile::tempdir().unwrap();
        (Disk::new(&directory.path().join("store.db")), directory)
    }

    #[test]
    fn the_reserve_holds_room_until_it_is_freed() {
        let (disk, directory) = disk();
        let held = || fs::metadata(directory.path().join(RESERVE)).unwrap().len();
        assert_eq!(held(), 0);
        disk.take_reserve(Volume { size: 8 << 20, free: (4 << 20) - 1 });
        assert_eq!(held(), 0, "the volume has too little room");
        disk.take_reserve(Volume { size: 8 << 20, free: 4 << 20 });
        assert_eq!(held(), 1 << 20);
        disk.free_reserve();
        assert_eq!(held(), 0);
    }

    #[test]
    fn an_outage_ends_a_minute_after_the_last_refused_write() {
        let (disk, _directory) = disk();
        let begun = Instant::now();
        let at = |seconds| begun + Duration::from_secs(seconds);
        let room = Volume { size: 8 << 20, free: 1 << 20 };
        for seconds in [0, 30, 70] {
            disk.refused(2, at(seconds));
            disk.tend(Volume { free: room.free - 1, ..room }, at(seconds + 90));
            assert_eq!(disk.readiness(), Readiness::ReadOnly("disk_full"));
            disk.tend(room, at(seconds + 1));
            assert_eq!(disk.readiness(), Readiness::Ready);
        }
        assert_eq!(disk.outage().as_ref().unwrap().refused, 6);
        disk.tend(room, at(129));
        assert!(disk.outage().is_some(), "more writes may be refused");
        disk.tend(room, at(130));
        assert!(disk.outage().is_none());
    }

    #[test]
    fn a_commit_shows_that_there_is_room() {
        let (disk, _directory) = disk();
        disk.refused(1, Instant::now());
        disk.committed();
        assert_eq!(disk.readiness(), Readiness::Ready);
    }

    #[test]
    fn a_recorded_failure_is_reported_until_the_file_is_deleted() {
        let (disk, directory) = disk();
        let record = directory.path().join(FAILED);
        assert!(!disk.has_failed());
        fs::write(&record, "").unwrap();
        assert!(disk.has_failed());
        fs::remove_file(&record).unwrap();
        assert!(!disk.has_failed());
    }
}
