//! Moving what the write-ahead log holds into the database, off the commit path.

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

/// Bytes of writes after which the writer looks at the log again.
const LOOK_EVERY: usize = 64 * 1024;

/// Pages in the log, not yet in the database, that make a checkpoint worth its sync.
const START_AT: u32 = 1_000;

/// Pages in the log above which the writer finishes a checkpoint of which little is left: 64 MiB,
/// as a finish costs the writes that wait a sync of the database.
const FINISH_AT: u32 = 32_000;

/// What "little" is: pages the writer copies between two batches.
const LITTLE: u32 = 500;

/// Pages in the log above which the writer finishes a checkpoint that the thread could not: the
/// disk is slower than the load, and a log without end would be worse than a pause.
const FINISH_ALWAYS_AT: u32 = 128_000;

/// The thread that checkpoints when it is told to.
pub(super) struct Checkpointer {
    wake: SyncSender<()>,
    thread: JoinHandle<()>,
    lookups: Arc<Lookups>,
    /// Bytes written since the log was looked at.
    written: usize,
    /// Checkpoints the thread has run.
    turns: Arc<AtomicU64>,
    /// How many there were when the log was found too long.
    turns_before: Option<u64>,
}

impl Checkpointer {
    pub(super) fn start(path: &Path, lookups: Arc<Lookups>) -> Result<Self, StartError> {
        let connection = super::open(path)?;
        // Never closed: with any descriptor of a file, the locks of the process on it go, and those
        // are SQLite's.
        let database = ManuallyDrop::new(File::open(path).map_err(StartError::File)?);
        let (wake, woken) = sync_channel(1);
        let turns = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&turns);
        let held = Arc::clone(&lookups);
        let run = move || {
            while woken.recv().is_ok() {
                if let Err(error) = held.let_go().and_then(|()| checkpoint(&connection, "PASSIVE"))
                {
                    tracing::warn!(cause = %error, "checkpoint failed");
                }
                // SQLite syncs only what completes a checkpoint: the writer would, for all of it.
                if let Err(error) = database.sync_data() {
                    tracing::warn!(cause = %error, "checkpoint not synced");
                }
                counted.fetch_add(1, Ordering::Relaxed);
            }
        };
        let thread = Builder::new().name("checkpoint".to_owned()).spawn(run);
        let thread = thread.map_err(StartError::Thread)?;
        Ok(Self { wake, thread, lookups, written: 0, turns, turns_before: None })
    }

    /// Called by the writer between two batches; `bytes` is about what the last one wrote.
    pub(super) fn after_batch(
        &mut self,
        writer: &Connection,
        bytes: usize,
    ) -> rusqlite::Result<()> {
        self.written = self.written.saturating_add(bytes);
        if self.written < LOOK_EVERY {
            return Ok(());
        }
        self.written = 0;
        let log = checkpoint(writer, "NOOP")?;
        let left = log.pages.saturating_sub(log.copied);
        if left > START_AT
            && let Err(TrySendError::Disconnected(())) = self.wake.try_send(())
        {
            tracing::error!("the checkpoint thread is gone");
        }
        let little = log.pages > FINISH_AT && (1..=LITTLE).contains(&left);
        if little || self.is_losing(log.pages, left) {
            self.lookups.let_go()?;
            checkpoint(writer, "PASSIVE")?;
            // Those that began meanwhile would keep the log from starting over; those that begin
            // now find everything in the database.
            self.lookups.let_go()?;
        }
        Ok(())
    }

    /// Whether the log is too long though the thread has had a whole turn since it was.
    fn is_losing(&mut self, pages: u32, left: u32) -> bool {
        if pages <= FINISH_ALWAYS_AT || left <= LITTLE {
            self.turns_before = None;
            return false;
        }
        let turns = self.turns.load(Ordering::Relaxed);
        // The first turn that ends may have begun before; the second is whole.
        let lost = turns >= *self.turns_before.get_or_insert(turns) + 2;
        if lost {
            self.turns_before = None;
        }
        lost
    }

    /// Ends the thread once its checkpoint, if it is at one, is done, and empties the log.
    pub(super) fn stop(self, writer: &Connection) {
        drop(self.wake);
        if self.thread.join().is_err() {
            tracing::error!("the checkpoint thread panicked");
        }
        let emptied = self.lookups.let_go().and_then(|()| checkpoint(writer, "TRUNCATE"));
        if let Err(error) = emptied {
            tracing::warn!(cause = %error, "checkpoint failed");
        }
    }
}

/// The write-ahead log as a checkpoint left it.
struct Log {
    pages: u32,
    copied: u32,
}

fn checkpoint(connection: &Connection, mode: &str) -> rusqlite::Result<Log> {
    let mut statement = connection.prepare_cached(&format!("PRAGMA wal_checkpoint({mode})"))?;
    statement.query_row([], |row| {
        // Both are -1 before the first write.
        let pages = |column| row.get(column).map(|count: i64| u32::try_from(count).unwrap_or(0));
        Ok(Log { pages: pages(1)?, copied: pages(2)? })
    })
}
