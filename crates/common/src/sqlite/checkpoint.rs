//! Moving what the write-ahead log holds into the database, off the commit path.

use std::{
    path::Path,
    sync::mpsc::{SyncSender, TrySendError, sync_channel},
    thread::{Builder, JoinHandle},
};

use rusqlite::Connection;

/// Pages in the log, not yet in the database, that make a checkpoint worth its sync.
const START_AT: u32 = 2_000;

/// Pages in the log above which the writer finishes a checkpoint itself, if little is left of it.
const FINISH_AT: u32 = 4_000;

/// What "little" is: pages the writer copies between two batches.
const LITTLE: u32 = 1_000;

/// Pages in the log above which the writer finishes whatever is left: the disk is slower than the
/// load, and a log without end would be worse than a pause.
const FINISH_ALWAYS_AT: u32 = 64_000;

/// The thread that checkpoints when it is told to.
pub(super) struct Checkpointer {
    wake: SyncSender<()>,
    thread: JoinHandle<()>,
}

impl Checkpointer {
    pub(super) fn start(path: &Path) -> rusqlite::Result<Self> {
        let connection = super::open(path)?;
        let (wake, woken) = sync_channel(1);
        let thread = Builder::new()
            .name("checkpoint".to_owned())
            .spawn(move || {
                while woken.recv().is_ok() {
                    if let Err(error) = checkpoint(&connection, "PASSIVE") {
                        tracing::warn!(cause = %error, "checkpoint failed");
                    }
                }
            })
            .map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
        Ok(Self { wake, thread })
    }

    /// Called by the writer between two batches.
    pub(super) fn after_batch(&self, writer: &Connection) -> rusqlite::Result<()> {
        let log = checkpoint(writer, "NOOP")?;
        let little_is_left = log.pages > FINISH_AT && log.left() <= LITTLE && log.left() > 0;
        if little_is_left || log.pages > FINISH_ALWAYS_AT && log.left() > LITTLE {
            checkpoint(writer, "PASSIVE")?;
        } else if log.left() > START_AT
            && let Err(TrySendError::Disconnected(())) = self.wake.try_send(())
        {
            tracing::error!("the checkpoint thread is gone");
        }
        Ok(())
    }

    /// Ends the thread once its checkpoint, if it is at one, is done.
    pub(super) fn stop(self) {
        drop(self.wake);
        if self.thread.join().is_err() {
            tracing::error!("the checkpoint thread panicked");
        }
    }
}

/// The write-ahead log as a checkpoint left it.
struct Log {
    pages: u32,
    copied: u32,
}

impl Log {
    fn left(&self) -> u32 {
        self.pages.saturating_sub(self.copied)
    }
}

fn checkpoint(connection: &Connection, mode: &str) -> rusqlite::Result<Log> {
    let mut statement = connection.prepare_cached(&format!("PRAGMA wal_checkpoint({mode})"))?;
    statement.query_row([], |row| {
        // Both are -1 before the first write.
        let pages = |column| row.get(column).map(|count: i64| u32::try_from(count).unwrap_or(0));
        Ok(Log { pages: pages(1)?, copied: pages(2)? })
    })
}
