//! What the one writer does in its transactions.

use std::{
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use common::sqlite::Engine;
use rusqlite::{Connection, OptionalExtension as _};
use tokio::sync::mpsc;

use super::{
    super::{Figures, News, StoreConfig, columns::OVERHEAD, now, positions::Positions},
    read,
};
use crate::domain::{
    ClientId, Epoch, Intent, Key, Object, Pattern, Record, Refusal, Revision, Timestamp,
    TokenDigest,
};

mod clients;
mod log;
mod objects;

use log::Oldest;

/// How often acknowledged positions are written, while there are other writes.
const POSITIONS_EVERY: Duration = Duration::from_secs(1);

/// How often the log is trimmed, while there are writes.
const TRIM_EVERY: Duration = Duration::from_millis(50);

/// A write as it is asked for.
pub(super) enum Operation {
    Register { client: ClientId, token: TokenDigest, now: Timestamp },
    Extend { token: TokenDigest, now: Timestamp },
    Postpone { client: ClientId, until: Timestamp },
    MarkUsed { client: ClientId },
    Reap { now: Timestamp },
    Set { object: Arc<Object>, intent: Intent },
    Delete { key: Key, intent: Intent },
    Watch { client: ClientId, pattern: Pattern },
    Unwatch { client: ClientId, pattern: Pattern },
}

/// What became of it, or why nothing was done.
pub(super) type Answer = Result<Done, Refusal>;

/// An operation that was done.
pub(super) struct Done {
    /// The newest revision after it: its own, when it made one.
    pub(super) revision: Revision,
    /// Whether it left some of its work to another operation of its kind.
    pub(super) more: bool,
    /// Sessions that it ended.
    pub(super) ended: Vec<TokenDigest>,
}

/// The numbers that every batch moves on.
#[derive(Clone, Copy)]
struct State {
    revision: Revision,
    /// Bytes of all records ever.
    bytes: i64,
    /// The oldest record of the log.
    oldest: Option<Oldest>,
    clients: usize,
    operations: u64,
}

/// Applies operations, in memory what a commit makes true and a rollback undoes.
pub(super) struct Applier {
    config: StoreConfig,
    epoch: Epoch,
    state: State,
    committed: State,
    records: Vec<Record>,
    feed: mpsc::Sender<News>,
    positions: Arc<Mutex<Positions>>,
    positions_written: Instant,
    trimmed: Instant,
    figures: Arc<Mutex<Figures>>,
}

impl Applier {
    pub(super) fn new(
        connection: &Connection,
        config: &StoreConfig,
        epoch: Epoch,
        feed: mpsc::Sender<News>,
        positions: &Arc<Mutex<Positions>>,
        figures: &Arc<Mutex<Figures>>,
    ) -> rusqlite::Result<Self> {
        let bytes = connection
            .query_row("SELECT bytes_through FROM log ORDER BY revision DESC LIMIT 1", [], |row| {
                row.get(0)
            })
            .optional()?;
        let clients: i64 =
            connection.query_row("SELECT count(*) FROM clients", [], |row| row.get(0))?;
        let state = State {
            revision: read::head(connection)?,
            bytes: bytes.unwrap_or(0),
            oldest: log::oldest(connection)?,
            clients: usize::try_from(clients).unwrap_or(0),
            operations: 0,
        };
        let applier = Self {
            config: config.clone(),
            epoch,
            state,
            committed: state,
            records: Vec::new(),
            feed,
            positions: Arc::clone(positions),
            positions_written: Instant::now(),
            trimmed: Instant::now(),
            figures: Arc::clone(figures),
        };
        applier.tell(0);
        Ok(applier)
    }

    pub(super) fn revision(&self) -> Revision {
        self.committed.revision
    }

    fn positions(&self) -> MutexGuard<'_, Positions> {
        self.positions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn done(&self) -> Answer {
        Ok(Done { revision: self.state.revision, more: false, ended: Vec::new() })
    }

    fn tell(&self, commits: u64) {
        let mut figures = self.figures.lock().unwrap_or_else(PoisonError::into_inner);
        let State { revision, bytes, oldest, clients, operations } = self.committed;
        let oldest =
            oldest.unwrap_or(Oldest { revision: revision + 1, at: 0, bytes_through: bytes });
        *figures = Figures {
            revision,
            log_floor: oldest.revision - 1,
            log_bytes: (bytes - oldest.bytes_through).cast_unsigned(),
            clients: u64::try_from(clients).unwrap_or(u64::MAX),
            commits: figures.commits + commits,
            operations,
            waiting_bytes: 0,
        };
    }
}

impl Engine for Applier {
    type Operation = Operation;
    type Answer = Answer;

    fn weight(operation: &Operation) -> usize {
        OVERHEAD
            + match operation {
                Operation::Set { object, .. } => object.size(),
                Operation::Delete { key, .. } => key.size(),
                Operation::Watch { pattern, .. } | Operation::Unwatch { pattern, .. } => {
                    pattern.as_str().len()
                }
                Operation::Register { .. }
                | Operation::Extend { .. }
                | Operation::Postpone { .. }
                | Operation::MarkUsed { .. }
                | Operation::Reap { .. } => 0,
            }
    }

    fn is_due(&self) -> bool {
        let over = |oldest| self.is_over(oldest, now());
        self.has_unwritten() || self.state.oldest.is_some_and(over)
    }

    fn has_unwritten(&self) -> bool {
        !self.positions().is_empty()
    }

    fn apply(
        &mut self,
        transaction: &Connection,
        operation: &Operation,
    ) -> rusqlite::Result<Answer> {
        self.state.operations += 1;
        match operation {
            Operation::Register { client, token, now } => {
                self.register(transaction, *client, *token, *now)
            }
            Operation::Extend { token, now } => self.extend(transaction, *token, *now),
            Operation::Postpone { client, until } => {
                self.postpone_removal(transaction, *client, *until)
            }
            Operation::MarkUsed { client } => self.mark_used(transaction, *client),
            Operation::Reap { now } => self.reap(transaction, *now),
            Operation::Set { object, intent } => self.set(transaction, object, intent),
            Operation::Delete { key, intent } => self.delete(transaction, key, intent),
            Operation::Watch { client, pattern } => self.watch(transaction, *client, pattern),
            Operation::Unwatch { client, pattern } => self.unwatch(transaction, *client, pattern),
        }
    }

    fn finish(&mut self, transaction: &Connection) -> rusqlite::Result<()> {
        let idle = self.state.operations == self.committed.operations;
        if idle || self.trimmed.elapsed() >= TRIM_EVERY {
            self.trimmed = Instant::now();
            self.trim(transaction)?;
        }
        if idle || self.positions().is_amid() {
            self.write_positions(transaction)?;
        } else if self.positions_written.elapsed() >= POSITIONS_EVERY {
            self.positions_written = Instant::now();
            self.write_positions(transaction)?;
        }
        Ok(())
    }

    fn committed(&mut self) {
        self.committed = self.state;
        self.positions().written();
        self.tell(1);
        let records = mem::take(&mut self.records);
        if !records.is_empty() && self.feed.blocking_send(News::Records(records)).is_err() {
            tracing::debug!("nobody takes what is committed");
        }
    }

    fn rolled_back(&mut self) {
        self.state = self.committed;
        self.records.clear();
        self.positions().put_back();
    }
}
