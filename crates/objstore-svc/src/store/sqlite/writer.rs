//! The write path on SQLite: [`Writer`] runs the batches of the queue, on the one thread that
//! writes.
//!
//! 1. The thread owns the only connection that writes. So the newest revision and the oldest record
//!    of the change log can stay in memory ([`State`]): nothing else changes them.
//! 2. [`State`] is replaced only after the commit. A failed batch leaves it unchanged, so the next
//!    batch uses the same revisions again.
//! 3. Each batch is one transaction. SQLite syncs it to disk while the next writes gather in
//!    the queue, so more pending writes share one sync.
//! 4. The change log is trimmed inside a batch, at most every 50 ms while there are writes and once
//!    a second while idle, because only this thread may write.
//! 5. Records go to the feed after the commit, in order of revisions, as only one batch runs at a
//!    time. If the feed is full, the writer waits: memory stays bounded, and no record is skipped.
//! 6. Unlike on PostgreSQL, writes wait in the queue without a timeout (`start_timeout`). Only
//!    the size of the queue is limited.

use std::{
    cell::Cell,
    mem,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use common::{
    batch::{Cost, Decided, Engine, Failure, Limits, Loaded, Panicked},
    sql::SqliteRows,
    sqlite::{Embedded, failure},
};
use rusqlite::{Connection, OptionalExtension as _, Transaction};
use tokio::sync::mpsc;

use super::{
    super::{
        FeedItem, Stats, StoreConfig, now,
        shared::{LIMITS, Shared, cost},
        tables,
    },
    ObjectCache,
    load::load,
    log::{self, Oldest, Retention},
    read,
    write::STATEMENTS,
};
use crate::domain::{
    Answer, Write,
    decide::{Changes, Head, LoadedRows, Needs},
};

/// How often a batch may trim the change log.
const TRIM_EVERY: Duration = Duration::from_millis(50);

/// The state on disk after the last commit.
#[derive(Clone, Copy)]
struct State {
    head: Head,
    oldest: Option<Oldest>,
}

pub(in crate::store) struct Writer {
    pub(super) database: Embedded,
    shared: Arc<Shared>,
    cache: Arc<ObjectCache>,
    retention: Retention,
    state: Cell<State>,
    feed: mpsc::Sender<FeedItem>,
    /// When a trim was last considered.
    trimmed: Cell<Instant>,
    stats: Arc<Mutex<Stats>>,
}

impl Writer {
    /// Reads the state of the database from `connection`.
    pub(super) fn new(
        database: Embedded,
        connection: &Connection,
        config: &StoreConfig,
        shared: Arc<Shared>,
        cache: Arc<ObjectCache>,
        feed: mpsc::Sender<FeedItem>,
        stats: Arc<Mutex<Stats>>,
    ) -> rusqlite::Result<Self> {
        let bytes = "SELECT bytes_through FROM log ORDER BY revision DESC LIMIT 1";
        let bytes = connection.query_row(bytes, [], |row| row.get(0)).optional()?;
        let clients: i64 =
            connection.query_row("SELECT count(*) FROM clients", [], |row| row.get(0))?;
        let (revision, _) = read::head(connection)?;
        let head = Head { revision, bytes: bytes.unwrap_or(0), clients: clients.cast_unsigned() };
        let writer = Self {
            database,
            shared,
            cache,
            retention: Retention::of(config),
            state: Cell::new(State { head, oldest: log::oldest(connection)? }),
            feed,
            trimmed: Cell::new(Instant::now()),
            stats,
        };
        writer.publish_stats();
        Ok(writer)
    }

    fn publish_stats(&self) {
        let State { head, oldest } = self.state.get();
        let Head { revision, bytes, clients } = head;
        let log_floor = oldest.map_or(revision, |oldest| oldest.revision - 1);
        let log_floor = log_floor.max(self.shared.epoch().start);
        let log_bytes = oldest.map_or(0, |oldest| bytes - oldest.bytes_through).cast_unsigned();
        let stats = Stats { revision, log_floor, log_bytes, clients, ..Stats::default() };
        *self.stats.lock().unwrap_or_else(PoisonError::into_inner) = stats;
    }

    /// Whether the next batch trims the change log.
    fn should_trim(&self) -> bool {
        if self.trimmed.get().elapsed() < TRIM_EVERY {
            return false;
        }
        self.trimmed.set(Instant::now());
        let State { head, oldest } = self.state.get();
        let now = self.shared.clock.latest();
        oldest.is_some_and(|oldest| self.retention.must_delete_oldest(oldest, head, now))
    }
}

impl Engine for Writer {
    const LIMITS: Limits = Limits { start_timeout: Duration::MAX, ..LIMITS };
    type Write = Write;
    type Answer = Answer;
    type LoadedRows = LoadedRows;
    type Changes = Changes;
    type Open<'e> = Transaction<'e>;

    fn cost(write: &Write) -> Cost {
        cost(write)
    }

    fn own_work(&self, is_idle: bool) -> Option<Write> {
        let positions = self.shared.positions().take_due(is_idle);
        let trims = self.should_trim();
        (trims || !positions.is_empty()).then_some(Write::Upkeep { positions, trims })
    }

    async fn load(&self, batch: &[&Write]) -> Result<Loaded<Transaction<'_>, LoadedRows>, Failure> {
        let needs = Needs::of(batch, &self.shared.rules);
        let transaction = self.database.begin().map_err(failure)?;
        let at = now();
        let known = LoadedRows {
            epoch: self.shared.epoch().id,
            at: Some(at),
            now: self.shared.time(),
            ..load(&transaction, &needs, self.state.get().head).map_err(failure)?
        };
        Ok(Loaded { open: transaction, known, locked: Vec::new() })
    }

    fn decide(
        &self,
        known: LoadedRows,
        batch: &[&Write],
    ) -> Result<Decided<Answer, Changes>, Panicked> {
        self.shared.decide(known, batch)
    }

    async fn write<'e>(
        &'e self,
        open: Transaction<'e>,
        decided: Decided<Answer, Changes>,
    ) -> Result<Vec<Answer>, Failure> {
        let Decided { answers, mut changes } = decided;
        let now = Some(self.shared.time());
        tables::write(&mut SqliteRows(&open), &STATEMENTS, &changes, now).map_err(failure)?;
        let head = changes.head;
        let mut oldest = self.state.get().oldest;
        if changes.trims {
            let now = self.shared.clock.latest();
            oldest = self.retention.trim(&open, head, now).map_err(failure)?;
        } else if let (None, Some((first, bytes_through))) = (oldest, changes.records.first()) {
            let (revision, bytes_through) = (first.revision, *bytes_through);
            let at = changes.at.unwrap_or_default();
            oldest = Some(Oldest { revision, at, bytes_through });
        }
        let sets = changes.set_objects.iter().map(|set| &set.object.key);
        let changing = self.cache.change(sets.chain(&changes.deleted_objects));
        self.database.commit(open).map_err(failure)?;
        drop(changing);

        self.state.set(State { head, oldest });
        self.publish_stats();
        self.shared.committed(&changes);
        let records = mem::take(&mut changes.records);
        let records: Vec<_> = records.into_iter().map(|(record, _)| record).collect();
        if !records.is_empty() && self.feed.send(FeedItem::Records(records)).await.is_err() {
            tracing::debug!("no receiver for committed changes");
        }
        Ok(answers)
    }

    fn after_batch(&self, bytes: usize) {
        self.database.after_batch(bytes);
    }

    fn disk_full(&self, writes: usize) {
        self.database.disk_full(writes);
    }

    fn locked(&self) {
        self.database.report_lock();
    }

    fn idle(&self) {
        self.database.idle();
    }
}
