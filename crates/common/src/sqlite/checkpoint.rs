//! Checkpoints copy the write-ahead log (WAL) into the database. They run on a thread of their own,
//! so that commits do not wait. [`super`] lists the reasons.

use std::{
    fs::File,
    path::Path,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
        mpsc::{SyncSender, TrySendError, sync_channel},
    },
    thread::{Builder, JoinHandle},
    time::{Duration, Instant},
};

use rusqlite::{Connection, ErrorCode};

use super::{
    BUSY_TIMEOUT, PAGE_SIZE,
    disk::{Disk, Volume, failed},
    embedded::StartError,
    reader::Lookups,
};
use crate::outage::Outage;

/// The writer checks the WAL after this many written bytes.
const CHECK_EVERY: usize = 64 * 1024;

/// If the WAL has more pages than this (128 MiB), checkpoints run until it is copied. While writes
/// arrive, there are none before: a late checkpoint copies a page once that many commits changed.
const START_AT: u32 = 64_000;

/// The writer can copy this many pages between two batches, and so completes the checkpoint. Pending
/// writes then wait for a sync of the database, so this must not happen often.
const FEW_PAGES: u32 = 500;

/// If the WAL has more pages than this, the writer completes the checkpoint that the thread could
/// not complete. The disk is then too slow for the load, and a pause is better than a WAL without
/// limit.
const FINISH_ALWAYS_AT: u32 = 256_000;

/// On a small volume, checkpoints begin when the WAL has this share of it.
const VOLUME_SHARE: u64 = 16;

/// Bytes of a page in the WAL, with its header.
const FRAME: u64 = PAGE_SIZE.cast_unsigned() + 24;

/// How often the WAL is emptied again after it could not be. Look-ups can begin in between.
const ATTEMPTS: u32 = 3;

/// The checkpoint thread, and the state with which the writer decides about checkpoints.
pub(super) struct Checkpointer {
    wake: SyncSender<()>,
    thread: JoinHandle<()>,
    lookups: Arc<Lookups>,
    disk: Arc<Disk>,
    /// Held during a checkpoint of the thread, as SQLite refuses a second one meanwhile.
    turn: Arc<Mutex<()>>,
    outage: Arc<Outage>,
    /// Bytes written since the last check of the WAL.
    written: usize,
    /// Checkpoints that the thread has run.
    turns: Arc<AtomicU64>,
    /// Value of `turns` when the WAL was found too long.
    turns_before: Option<u64>,
}

impl Checkpointer {
    /// Starts the thread. `database` is the file at `path`.
    pub(super) fn start(
        path: &Path,
        database: &'static File,
        lookups: Arc<Lookups>,
        disk: Arc<Disk>,
    ) -> Result<Self, StartError> {
        let (wake, woken) = sync_channel(1);
        let turns = Arc::<AtomicU64>::default();
        let turn = Arc::<Mutex<()>>::default();
        let outage = Arc::new(Outage::of("copying the write-ahead log"));
        let run = {
            let (path, connection) = (path.to_owned(), super::open(path)?);
            let (lookups, outage) = (Arc::clone(&lookups), Arc::clone(&outage));
            let (turns, turn) = (Arc::clone(&turns), Arc::clone(&turn));
            move || {
                while woken.recv().is_ok() {
                    let _turn = turn.lock().unwrap_or_else(PoisonError::into_inner);
                    let copied = lookups.end_transactions();
                    outage.observe(copied.and_then(|()| checkpoint(&connection, "PASSIVE")));
                    // SQLite syncs the database only when a checkpoint is complete. Without this
                    // sync, the writer would sync everything when it completes the checkpoint.
                    if let Err(error) = database.sync_data() {
                        failed(&path, "sync", &error);
                    }
                    turns.fetch_add(1, Ordering::Relaxed);
                }
            }
        };
        let thread = Builder::new().name("checkpoint".to_owned()).spawn(run);
        let thread = thread.map_err(StartError::Thread)?;
        let (written, turns_before) = (0, None);
        Ok(Self { wake, thread, lookups, disk, turn, outage, written, turns, turns_before })
    }

    /// Called by the writer between two batches. `bytes` is roughly what the last one wrote.
    pub(super) fn after_batch(&mut self, writer: &Connection, bytes: usize) {
        self.written = self.written.saturating_add(bytes);
        if self.written >= CHECK_EVERY {
            self.written = 0;
            self.check(writer, START_AT);
        }
    }

    /// Called by the writer when no writes arrive, so that a checkpoint delays none.
    pub(super) fn idle(&mut self, writer: &Connection) {
        self.check(writer, FEW_PAGES);
    }

    fn check(&mut self, writer: &Connection, start_at: u32) {
        let volume = self.disk.volume();
        if let Some(volume) = volume {
            self.disk.tend(volume, Instant::now());
        }
        // Most turns copy nothing, so a success says nothing.
        if let Err(error) = self.advance(writer, start_at, volume) {
            self.outage.failed(error);
        }
    }

    /// Continues a checkpoint if the WAL has more than `start_at` pages, or is long for the volume.
    fn advance(
        &mut self,
        writer: &Connection,
        start_at: u32,
        volume: Option<Volume>,
    ) -> rusqlite::Result<()> {
        let wal = checkpoint(writer, "NOOP")?;
        let left = wal.pages.saturating_sub(wal.copied);
        let long = volume.map_or(START_AT, long);
        if wal.pages > start_at.min(long)
            && left > FEW_PAGES
            && let Err(TrySendError::Disconnected(())) = self.wake.try_send(())
        {
            tracing::error!("the checkpoint thread has ended");
        }
        if volume.is_some_and(|volume| bytes(wal.pages) > volume.free) {
            // The WAL is then also made shorter.
            self.empty(writer);
            return Ok(());
        }
        let is_nearly_complete = wal.pages > START_AT.min(long) && (1..=FEW_PAGES).contains(&left);
        if is_nearly_complete || self.is_too_slow(wal.pages, left) {
            self.lookups.end_transactions()?;
            checkpoint(writer, "PASSIVE")?;
            // Transactions that began during the checkpoint would prevent the reset of the WAL. New
            // ones find everything in the database.
            self.lookups.end_transactions()?;
        }
        Ok(())
    }

    /// Copies the whole WAL and empties it, after the current checkpoint of the thread. Returns
    /// whether it is empty: another process may read it, or the disk is full.
    pub(super) fn empty(&self, writer: &Connection) -> bool {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let emptied = (0..ATTEMPTS).try_fold(false, |is_empty, _| {
            if is_empty {
                return Ok(true);
            }
            self.lookups.end_transactions()?;
            empty(writer)
        });
        self.outage.observe(emptied).unwrap_or(false)
    }

    /// Whether the WAL is still too long after one whole checkpoint of the thread.
    fn is_too_slow(&mut self, pages: u32, left: u32) -> bool {
        if pages <= FINISH_ALWAYS_AT || left <= FEW_PAGES {
            self.turns_before = None;
            return false;
        }
        let turns = self.turns.load(Ordering::Relaxed);
        // The first turn that ends may have begun before the WAL was too long. Only the second one
        // has surely begun after that.
        let is_too_slow = turns >= *self.turns_before.get_or_insert(turns) + 2;
        if is_too_slow {
            self.turns_before = None;
        }
        is_too_slow
    }

    /// Ends the thread after its current checkpoint, and empties the WAL.
    pub(super) fn stop(self, writer: &Connection) {
        drop(self.wake);
        if self.thread.join().is_err() {
            tracing::error!("the checkpoint thread panicked");
        }
        let emptied = self.lookups.end_transactions().and_then(|()| checkpoint(writer, "TRUNCATE"));
        self.outage.observe(emptied);
    }
}

/// The pages of a WAL that is long for its volume: a part of it, or half of what is free.
fn long(volume: Volume) -> u32 {
    let bytes = (volume.size / VOLUME_SHARE).min(volume.free / 2);
    u32::try_from(bytes / FRAME).unwrap_or(u32::MAX)
}

/// Bytes of a WAL with so many pages.
fn bytes(pages: u32) -> u64 {
    u64::from(pages) * FRAME
}

/// Copies the whole WAL and empties it, without waiting for readers. Returns whether it is empty.
pub(super) fn empty(connection: &Connection) -> rusqlite::Result<bool> {
    connection.busy_timeout(Duration::ZERO)?;
    let emptied = checkpoint(connection, "TRUNCATE");
    connection.busy_timeout(BUSY_TIMEOUT)?;
    match emptied {
        Ok(wal) => Ok(!wal.is_busy),
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => Ok(false),
        Err(error) => Err(error),
    }
}

/// State of the write-ahead log after a checkpoint.
struct Wal {
    /// Whether the checkpoint could not end, because somebody reads or writes.
    is_busy: bool,
    pages: u32,
    copied: u32,
}

fn checkpoint(connection: &Connection, mode: &str) -> rusqlite::Result<Wal> {
    let mut statement = connection.prepare_cached(&format!("PRAGMA wal_checkpoint({mode})"))?;
    statement.query_row([], |row| {
        // Both are -1 before the first write.
        let pages = |column| row.get(column).map(|count: i64| u32::try_from(count).unwrap_or(0));
        Ok(Wal { is_busy: row.get(0)?, pages: pages(1)?, copied: pages(2)? })
    })
}
