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
    super::{Figures, StoreConfig, now},
    Positions, read,
    read::event,
};
use crate::domain::{
    ClientId, Entry, Epoch, Intent, Key, Object, Pattern, Record, Refusal, Revision, Timestamp,
    TokenDigest,
};

/// How often acknowledged positions are written, while there are other writes.
const POSITIONS_EVERY: Duration = Duration::from_secs(1);

/// Positions written in one commit.
const POSITIONS_BATCH: usize = 512;

/// Records of the log dropped in one commit: more than one commit adds, so that trimming keeps up.
const TRIM_BATCH: i64 = 2048;

/// Sessions removed in one commit.
const REAP_BATCH: i64 = 1000;

/// Bytes that any operation or record is taken to cost beside what it carries.
const OVERHEAD: usize = 64;

/// A write as it is asked for.
pub(super) enum Operation {
    Register { client: ClientId, token: TokenDigest, now: Timestamp },
    Extend { token: TokenDigest, now: Timestamp },
    Reap { now: Timestamp },
    Set { object: Arc<Object>, intent: Intent },
    Delete { key: Key, intent: Intent },
    Watch { client: ClientId, pattern: Pattern },
    Unwatch { client: ClientId, pattern: Pattern },
}

/// What became of it.
pub(super) enum Answer {
    Done,
    Changed(Revision),
    Refused(Refusal),
    TooManyClients,
    TooManyWatches,
}

impl Answer {
    pub(super) fn into_change(self) -> Result<Revision, Refusal> {
        match self {
            Self::Changed(revision) => Ok(revision),
            Self::Refused(refusal) => Err(refusal),
            Self::Done | Self::TooManyClients | Self::TooManyWatches => Ok(0),
        }
    }
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

#[derive(Clone, Copy)]
struct Oldest {
    revision: Revision,
    at: Timestamp,
    bytes_through: i64,
}

/// Applies operations, in memory what a commit makes true and a rollback undoes.
pub(super) struct Applier {
    config: StoreConfig,
    epoch: Epoch,
    state: State,
    committed: State,
    records: Vec<Record>,
    feed: mpsc::Sender<Vec<Record>>,
    positions: Arc<Mutex<Positions>>,
    positions_written: Instant,
    figures: Arc<Mutex<Figures>>,
}

impl Applier {
    pub(super) fn new(
        connection: &Connection,
        config: &StoreConfig,
        epoch: Epoch,
        feed: mpsc::Sender<Vec<Record>>,
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
            oldest: oldest(connection)?,
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
            figures: Arc::clone(figures),
        };
        applier.tell(0);
        Ok(applier)
    }

    pub(super) fn revision(&self) -> Revision {
        self.committed.revision
    }

    /// Appends to the log and gives the new record's revision.
    fn append(&mut self, transaction: &Connection, entry: Entry) -> rusqlite::Result<Revision> {
        let revision = self.state.revision + 1;
        let at = now();
        let (event, parts, object, client) = match &entry {
            Entry::Set(object) => (event::SET, Some(object.key.parts()), Some(object), None),
            Entry::Delete(object) => (event::DELETE, Some(object.key.parts()), Some(object), None),
            Entry::Watch(client, pattern) => {
                (event::WATCH, Some(pattern.parts()), None, Some(client))
            }
            Entry::Unwatch(client, pattern) => {
                (event::UNWATCH, Some(pattern.parts()), None, Some(client))
            }
            Entry::Forget(client) => (event::FORGET, None, None, Some(client)),
        };
        let bytes = i64::try_from(entry.size() + OVERHEAD).unwrap_or(i64::MAX);
        let bytes_through = self.state.bytes.saturating_add(bytes);
        transaction
            .prepare_cached("INSERT INTO log VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)")?
            .execute((
                revision.cast_signed(),
                at,
                bytes_through,
                event,
                parts.map(|parts| parts[0]),
                parts.map(|parts| parts[1]),
                parts.map(|parts| parts[2]),
                object.map(|object| object.value.as_bytes()),
                object.map(|object| object.owner.as_str()),
                client.map(|client| client.uuid().as_bytes()),
            ))?;
        self.state.bytes = bytes_through;
        self.state.oldest.get_or_insert(Oldest { revision, at, bytes_through });
        self.state.revision = revision;
        self.records.push(Record { revision, entry });
        Ok(revision)
    }

    fn register(
        &mut self,
        transaction: &Connection,
        client: ClientId,
        token: TokenDigest,
        now: Timestamp,
    ) -> rusqlite::Result<Answer> {
        let id = client.uuid().as_bytes();
        let known =
            transaction.prepare_cached("SELECT 1 FROM clients WHERE id = ?1")?.exists([id])?;
        if !known {
            if self.state.clients >= self.config.max_clients {
                return Ok(Answer::TooManyClients);
            }
            transaction
                .prepare_cached("INSERT INTO clients VALUES (?1, ?2, 0)")?
                .execute((id, self.state.revision.cast_signed()))?;
            self.state.clients += 1;
        }
        transaction.prepare_cached("INSERT INTO sessions VALUES (?1, ?2, ?3)")?.execute((
            token.as_bytes(),
            id,
            self.config.lifetime.expiry(now),
        ))?;
        Ok(Answer::Done)
    }

    /// Sessions stay for one more lifetime after their end, and a client as long as any of them:
    /// so it goes when it has had neither a live session nor a socket, which extends its session,
    /// for that long.
    fn reap(&mut self, transaction: &Connection, now: Timestamp) -> rusqlite::Result<Answer> {
        let before = now.saturating_sub(self.config.lifetime.millis());
        let clients: Vec<ClientId> = transaction
            .prepare_cached(
                "DELETE FROM sessions WHERE digest IN
                     (SELECT digest FROM sessions WHERE expires <= ?1 LIMIT ?2)
                 RETURNING client",
            )?
            .query_map((before, REAP_BATCH), |row| read::client_id(row, 0))?
            .collect::<Result<_, _>>()?;
        for client in clients {
            let id = client.uuid().as_bytes();
            let removed = transaction
                .prepare_cached(
                    "DELETE FROM watches WHERE client = ?1
                         AND NOT EXISTS (SELECT 1 FROM sessions WHERE client = ?1)",
                )?
                .execute([id])
                .and_then(|_| {
                    transaction
                        .prepare_cached(
                            "DELETE FROM clients WHERE id = ?1
                                 AND NOT EXISTS (SELECT 1 FROM sessions WHERE client = ?1)",
                        )?
                        .execute([id])
                })?;
            if removed > 0 {
                self.append(transaction, Entry::Forget(client))?;
                self.state.clients -= removed;
            }
        }
        Ok(Answer::Done)
    }

    fn set(
        &mut self,
        transaction: &Connection,
        object: &Arc<Object>,
        intent: &Intent,
    ) -> rusqlite::Result<Answer> {
        let [kind, namespace, name] = object.key.parts();
        let current = if intent.precondition.is_empty() {
            None
        } else {
            read::object(transaction, &object.key)?.map(|stored| stored.revision)
        };
        if let Err(refusal) = intent.decide_set(object, current, self.config.owner, self.epoch) {
            return Ok(Answer::Refused(refusal));
        }
        let revision = self.append(transaction, Entry::Set(Arc::clone(object)))?;
        transaction
            .prepare_cached(
                "INSERT INTO objects (type, namespace, name, value, owner, revision)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)
                 ON CONFLICT (type, namespace, name) DO UPDATE
                 SET value = excluded.value, owner = excluded.owner, revision = excluded.revision",
            )?
            .execute((
                kind,
                namespace,
                name,
                object.value.as_bytes(),
                object.owner.as_str(),
                revision.cast_signed(),
            ))?;
        Ok(Answer::Changed(revision))
    }

    fn delete(
        &mut self,
        transaction: &Connection,
        key: &Key,
        intent: &Intent,
    ) -> rusqlite::Result<Answer> {
        let current = read::object(transaction, key)?;
        match intent.decide_delete(current, self.config.owner, self.epoch) {
            Err(refusal) => Ok(Answer::Refused(refusal)),
            Ok(object) => {
                transaction
                    .prepare_cached(
                        "DELETE FROM objects WHERE type = ?1 AND namespace = ?2 AND name = ?3",
                    )?
                    .execute(key.parts())?;
                let revision = self.append(transaction, Entry::Delete(Arc::new(object)))?;
                Ok(Answer::Changed(revision))
            }
        }
    }

    fn watch(
        &mut self,
        transaction: &Connection,
        client: ClientId,
        pattern: &Pattern,
    ) -> rusqlite::Result<Answer> {
        let id = client.uuid().as_bytes();
        let [kind, namespace, name] = pattern.parts();
        let known = transaction
            .prepare_cached(
                "SELECT 1 FROM watches WHERE client = ?1 AND until IS NULL
                     AND type = ?2 AND namespace = ?3 AND name = ?4",
            )?
            .exists((id, kind, namespace, name))?;
        if known {
            return Ok(Answer::Done);
        }
        let counted = transaction
            .prepare_cached(
                "UPDATE clients SET watches = watches + 1 WHERE id = ?1 AND watches < ?2",
            )?
            .execute((id, i64::try_from(self.config.max_watches).unwrap_or(i64::MAX)))?;
        if counted == 0 {
            return Ok(Answer::TooManyWatches);
        }
        let since = self.append(transaction, Entry::Watch(client, pattern.clone()))?;
        transaction
            .prepare_cached("INSERT INTO watches VALUES (?1, ?2, ?3, ?4, ?5, NULL)")?
            .execute((id, kind, namespace, name, since.cast_signed()))?;
        Ok(Answer::Done)
    }

    fn unwatch(
        &mut self,
        transaction: &Connection,
        client: ClientId,
        pattern: &Pattern,
    ) -> rusqlite::Result<Answer> {
        let [kind, namespace, name] = pattern.parts();
        let until = self.state.revision + 1;
        let ended = transaction
            .prepare_cached(
                "UPDATE watches SET until = ?5 WHERE client = ?1 AND until IS NULL
                     AND type = ?2 AND namespace = ?3 AND name = ?4",
            )?
            .execute((client.uuid().as_bytes(), kind, namespace, name, until.cast_signed()))?;
        if ended > 0 {
            transaction
                .prepare_cached("UPDATE clients SET watches = watches - 1 WHERE id = ?1")?
                .execute([client.uuid().as_bytes()])?;
            self.append(transaction, Entry::Unwatch(client, pattern.clone()))?;
        }
        Ok(Answer::Done)
    }

    /// Whether the log's oldest record is too old or one of too many.
    fn is_over(&self, oldest: Oldest, now: Timestamp) -> bool {
        let retention = Timestamp::try_from(self.config.log_retention.as_millis());
        let size = i64::try_from(self.config.log_size).unwrap_or(i64::MAX);
        oldest.revision < self.state.revision
            && (now.saturating_sub(oldest.at) > retention.unwrap_or(Timestamp::MAX)
                || self.state.bytes.saturating_sub(oldest.bytes_through) > size)
    }

    fn trim(&mut self, transaction: &Connection) -> rusqlite::Result<()> {
        let now = now();
        if !self.state.oldest.is_some_and(|oldest| self.is_over(oldest, now)) {
            return Ok(());
        }
        let mut statement = transaction.prepare_cached(
            "SELECT revision, at, bytes_through FROM log ORDER BY revision LIMIT ?1",
        )?;
        let mut rows = statement.query([TRIM_BATCH + 1])?;
        while let Some(row) = rows.next()? {
            let oldest = read_oldest(row)?;
            self.state.oldest = Some(oldest);
            if !self.is_over(oldest, now) {
                break;
            }
        }
        let kept = self.state.oldest.map_or(0, |oldest| oldest.revision).cast_signed();
        transaction.prepare_cached("DELETE FROM log WHERE revision < ?1")?.execute([kept])?;
        transaction.prepare_cached("DELETE FROM watches WHERE until <= ?1")?.execute([kept - 1])?;
        Ok(())
    }

    fn write_positions(&mut self, transaction: &Connection) -> rusqlite::Result<()> {
        let mut statement = transaction
            .prepare_cached("UPDATE clients SET position = ?2 WHERE id = ?1 AND position < ?2")?;
        for (client, position) in self.take_positions() {
            statement.execute((client.uuid().as_bytes(), position.cast_signed()))?;
        }
        self.positions_written = Instant::now();
        Ok(())
    }

    fn take_positions(&self) -> Vec<(ClientId, Revision)> {
        let mut positions = self.positions();
        let taken: Vec<_> =
            positions.waiting.iter().take(POSITIONS_BATCH).map(|(&id, &at)| (id, at)).collect();
        for &(client, position) in &taken {
            positions.waiting.remove(&client);
            positions.writing.insert(client, position);
        }
        taken
    }

    fn positions(&self) -> MutexGuard<'_, Positions> {
        self.positions.lock().unwrap_or_else(PoisonError::into_inner)
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
                Operation::Register { .. } | Operation::Extend { .. } | Operation::Reap { .. } => 0,
            }
    }

    fn is_due(&self) -> bool {
        let over = |oldest| self.is_over(oldest, now());
        !self.positions().waiting.is_empty() || self.state.oldest.is_some_and(over)
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
            Operation::Extend { token, now } => {
                transaction
                    .prepare_cached(
                        "UPDATE sessions SET expires = max(expires, ?2) WHERE digest = ?1",
                    )?
                    .execute((token.as_bytes(), self.config.lifetime.expiry(*now)))?;
                Ok(Answer::Done)
            }
            Operation::Reap { now } => self.reap(transaction, *now),
            Operation::Set { object, intent } => self.set(transaction, object, intent),
            Operation::Delete { key, intent } => self.delete(transaction, key, intent),
            Operation::Watch { client, pattern } => self.watch(transaction, *client, pattern),
            Operation::Unwatch { client, pattern } => self.unwatch(transaction, *client, pattern),
        }
    }

    fn finish(&mut self, transaction: &Connection) -> rusqlite::Result<()> {
        self.trim(transaction)?;
        let idle = self.state.operations == self.committed.operations;
        if idle || self.positions_written.elapsed() >= POSITIONS_EVERY {
            self.write_positions(transaction)?;
        }
        Ok(())
    }

    fn committed(&mut self) {
        self.committed = self.state;
        self.positions().writing.clear();
        self.tell(1);
        let records = mem::take(&mut self.records);
        if !records.is_empty() && self.feed.blocking_send(records).is_err() {
            tracing::debug!("nobody takes what is committed");
        }
    }

    fn rolled_back(&mut self) {
        self.state = self.committed;
        self.records.clear();
        let mut positions = self.positions();
        for (client, position) in mem::take(&mut positions.writing) {
            positions.advance(client, position);
        }
    }
}

fn oldest(connection: &Connection) -> rusqlite::Result<Option<Oldest>> {
    connection
        .query_row(
            "SELECT revision, at, bytes_through FROM log ORDER BY revision LIMIT 1",
            [],
            read_oldest,
        )
        .optional()
}

fn read_oldest(row: &rusqlite::Row<'_>) -> rusqlite::Result<Oldest> {
    Ok(Oldest { revision: read::revision(row, 0)?, at: row.get(1)?, bytes_through: row.get(2)? })
}
