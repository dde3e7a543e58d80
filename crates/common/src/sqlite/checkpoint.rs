//! Checkpoints copy the write-ahead log (WAL) into the database. They run on a thread of their own,
//! so that commits do not wait. [`super`] lists the reasons.

use std::{
    fs::File,
    mem::ManuallyDrop,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc::{SyncSender, TrySendError, sync_channel},
    },
    thread::{Builder, JoinHandle},
};

use rusqlite::Connection;

use super::{embedded::StartError, reader::Lookups};

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

/// The checkpoint thread, and the state with which the writer decides about checkpoints.
pub(super) struct Checkpointer {
    wake: SyncSender<()>,
    thread: JoinHandle<()>,
    lookups: Arc<Lookups>,
    /// Bytes written since the last check of the WAL.
    written: usize,
    /// Checkpoints that the thread has run.
    turns: Arc<AtomicU64>,
    /// Value of `turns` when the WAL was found too long.
    turns_before: Option<u64>,
}

impl Checkpointer {
    pub(super) fn start(path: &Path, lookups: Arc<Lookups>) -> Result<Self, StartError> {
        let connection = super::open(path)?;
        // Never closed: closing any descriptor of a file releases all locks of the process on this
        // file, including those of SQLite.
        let database = ManuallyDrop::new(File::open(path).map_err(StartError::File)?);
        let (wake, woken) = sync_channel(1);
        let turns = Arc::new(AtomicU64::new(0));
        let thread_turns = Arc::clone(&turns);
        let thread_lookups = Arc::clone(&lookups);
        let run = move || {
            while woken.recv().is_ok() {
                if let Err(error) = thread_lookups
                    .end_transactions()
                    .and_then(|()| checkpoint(&connection, "PASSIVE"))
                {
                    tracing::warn!(cause = %error, "checkpoint failed");
                }
                // SQLite syncs the database only when a checkpoint is complete. Without this sync,
                // the writer would sync everything when it completes the checkpoint.
                if let Err(error) = database.sync_data() {
                    tracing::warn!(cause = %error, "checkpoint not synced");
                }
                thread_turns.fetch_add(1, Ordering::Relaxed);
            }
        };
        let thread = Builder::new().name("checkpoint".to_owned()).spawn(run);
        let thread = thread.map_err(StartError::Thread)?;
        Ok(Self { wake, thread, lookups, written: 0, turns, turns_before: None })
    }

    /// Called by the writer between two batches. `bytes` is roughly what the last one wrote.
    pub(super) fn after_batch(
        &mut self,
        writer: &Connection,
        bytes: usize,
    ) -> rusqlite::Result<()> {
        self.written = self.written.saturating_add(bytes);
        if self.written < CHECK_EVERY {
            return Ok(());
        }
        self.written = 0;
        self.check(writer, START_AT)
    }

    /// Called by the writer when no writes arrive, so that a checkpoint delays none.
    pub(super) fn idle(&mut self, writer: &Connection) -> rusqlite::Result<()> {
        self.check(writer, FEW_PAGES)
    }

    /// Continues a checkpoint if the WAL has more than `start_at` pages.
    fn check(&mut self, writer: &Connection, start_at: u32) -> rusqlite::Result<()> {
        let wal = checkpoint(writer, "NOOP")?;
        let left = wal.pages.saturating_sub(wal.copied);
        if wal.pages > start_at
            && left > FEW_PAGES
            && let Err(TrySendError::Disconnected(())) = self.wake.try_send(())
        {
            tracing::error!("the checkpoint thread has ended");
        }
        let is_nearly_complete = wal.pages > START_AT && (1..=FEW_PAGES).contains(&left);
        if is_nearly_complete || self.is_too_slow(wal.pages, left) {
            self.lookups.end_transactions()?;
            checkpoint(writer, "PASSIVE")?;
            // Transactions that began during the checkpoint would prevent the reset of the WAL. New
            // ones find everything in the database.
            self.lookups.end_transactions()?;
        }
        Ok(())
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
        if let Err(error) = emptied {
            tracing::warn!(cause = %error, "checkpoint failed");
        }
    }
}

/// State of the write-ahead log after a checkpoint.
struct Wal {
    pages: u32,
    copied: u32,
}

fn checkpoint(connection: &Connection, mode: &str) -> rusqlite::Result<Wal> {
    let mut statement = connection.prepare_cached(&format!("PRAGMA wal_checkpoint({mode})"))?;
    statement.query_row([], |row| {
        // Both are -1 before the first write.
        let pages = |column| row.get(column).map(|count: i64| u32::try_from(count).unwrap_or(0));
        Ok(Wal { pages: pages(1)?, copied: pages(2)? })
    })
}
