//! The state of the service. Every operation is atomic, and durable before it is answered.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use common::{
    batch::WriteError,
    limits::Limited,
    postgres::{self as database, DatabaseConfig},
    sqlite::BackupError,
};
use tokio::sync::mpsc;

use crate::domain::{
    Answer, ClientId, Epoch, Intent, Key, Lifetime, Object, Operation, OwnerRule, Pattern, Record,
    Refusal, Revision, Session, Stored, Timestamp, TokenDigest, Watches,
};

mod import;
mod order;
mod positions;
mod postgres;
mod rows;
mod sessions;
mod shared;
mod sqlite;
mod tables;

pub(crate) use import::import;
pub(crate) use postgres::Postgres;
pub(crate) use sqlite::Sqlite;

use shared::Shared;

/// What a store is opened with.
#[derive(Debug, Clone)]
pub(crate) struct StoreConfig {
    /// Where the embedded engine keeps its files.
    pub(crate) data_dir: PathBuf,
    /// The database; where there is none, the engine is the embedded one.
    pub(crate) database: Option<DatabaseConfig>,
    /// How long sessions live.
    pub(crate) lifetime: Lifetime,
    /// Whether owners are compared.
    pub(crate) owner: OwnerRule,
    /// Clients there may be.
    pub(crate) max_clients: usize,
    /// Watches a client may have.
    pub(crate) max_watches: usize,
    /// How long the log keeps a change.
    pub(crate) log_retention: Duration,
    /// Bytes of changes the log keeps.
    pub(crate) log_size: u64,
}

/// Why the store could not be opened.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OpenError {
    /// The embedded engine.
    #[error(transparent)]
    Sqlite(#[from] sqlite::OpenError),
    /// The database.
    #[error(transparent)]
    Postgres(#[from] database::OpenError),
}

/// Copies the embedded store to the new file `target` while a service uses it. The copy makes a new
/// epoch when it is opened.
pub(crate) fn backup(config: &StoreConfig, target: &Path) -> Result<(), BackupError> {
    match config.database {
        Some(_) => Err(BackupError::Postgres),
        None => sqlite::backup(&config.data_dir, target),
    }
}

/// Why the store could not do what it was asked, whatever was asked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StoreError {
    /// Too much waits. Nothing was done.
    #[error("too much is waiting: try again in a second")]
    Overloaded,
    /// A write failed. Whether it was done is unknown.
    #[error("the store could not write")]
    NotWritten(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// A read failed.
    #[error("the store could not read")]
    NotRead(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The log has dropped changes before they were seen here.
    #[error("the log has dropped changes before they were seen")]
    Missed,
    /// Changes that are committed have not been dispatched in time.
    #[error("committed changes are not dispatched in time")]
    Behind,
    /// The operation itself is broken. Nothing was done.
    #[error("the operation panicked")]
    Panicked,
}

/// Objects in the order of their pattern's shape.
#[derive(Debug)]
pub(crate) struct Page {
    /// The objects.
    pub(crate) objects: Vec<Stored>,
    /// Whether there may be more after the last one.
    pub(crate) more: bool,
}

/// The end of a page that was asked for by its length.
#[derive(Debug)]
pub(crate) struct PageEnd {
    /// The key of its last object.
    pub(crate) key: Key,
    /// Whether there is another after it.
    pub(crate) more: bool,
}

/// A stretch of the log.
#[derive(Debug)]
pub(crate) enum LogPage {
    /// The records that follow, oldest first; none when there is nothing yet.
    Records(Vec<Record>),
    /// The log no longer reaches back that far.
    Trimmed,
}

/// What is known of a client at one moment.
#[derive(Debug)]
pub(crate) struct ClientState {
    /// The moment: every record up to this revision is taken into account.
    pub(crate) revision: Revision,
    /// What it watches, and watched.
    pub(crate) watches: Watches,
    /// Up to where it has acknowledged its pushes.
    pub(crate) position: Revision,
}

/// Numbers for the metrics.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Stats {
    /// The newest revision.
    pub(crate) revision: Revision,
    /// Revisions that the log has dropped: its records begin after this one.
    pub(crate) log_floor: Revision,
    /// Bytes of the records the log holds.
    pub(crate) log_bytes: u64,
    /// Clients registered.
    pub(crate) clients: u64,
    /// Batches committed since the start.
    pub(crate) commits: u64,
    /// Operations in them.
    pub(crate) operations: u64,
    /// Bytes of writes that wait.
    pub(crate) waiting_bytes: u64,
}

/// What is committed, in order from the revision it starts after.
pub(crate) struct Feed {
    /// The store's revision when it was opened.
    pub(crate) revision: Revision,
    /// One piece after another.
    pub(crate) news: mpsc::Receiver<News>,
}

/// What comes next in the order of revisions.
#[derive(Debug)]
pub(crate) enum News {
    /// The records that follow, without a gap.
    Records(Vec<Record>),
    /// The log has dropped what follows, perhaps up to this revision.
    Missed(Revision),
}

/// The store, on the engine it was configured with.
#[derive(Clone)]
pub(crate) enum Store {
    /// SQLite in a directory of this process.
    Sqlite(Arc<Sqlite>),
    /// PostgreSQL, which other processes may use, too.
    Postgres(Arc<Postgres>),
}

/// Passes a call on to the engine.
macro_rules! engine {
    ($store:expr, $engine:ident => $call:expr) => {
        match $store {
            Self::Sqlite($engine) => $call,
            Self::Postgres($engine) => $call,
        }
    };
}

impl Store {
    /// Opens the store, making it where there is none.
    pub(crate) async fn open(config: &StoreConfig) -> Result<(Self, Feed), OpenError> {
        Ok(match &config.database {
            Some(database) => {
                let (engine, feed) = Postgres::open(config, database).await?;
                (Self::Postgres(Arc::new(engine)), feed)
            }
            None => {
                let (engine, feed) = Sqlite::open(config)?;
                (Self::Sqlite(Arc::new(engine)), feed)
            }
        })
    }

    /// Whether the store answers.
    pub(crate) fn is_up(&self) -> bool {
        engine!(self, engine => engine.is_up())
    }

    /// Resolves when the store can no longer write, ever: the process should end.
    pub(crate) async fn failed(&self) {
        engine!(self, engine => engine.failed().await)
    }

    /// Finishes what was asked for and closes.
    pub(crate) async fn close(&self) {
        engine!(self, engine => engine.close().await)
    }

    fn shared(&self) -> &Shared {
        engine!(self, engine => &engine.shared)
    }

    async fn write(&self, operation: Operation) -> Result<Answer, StoreError> {
        Ok(engine!(self, engine => engine.queue.write(operation).await)?)
    }

    /// The life of the store that its revisions belong to.
    pub(crate) fn epoch(&self) -> Epoch {
        self.shared().rules.epoch
    }

    /// Numbers for the metrics.
    pub(crate) fn stats(&self) -> Stats {
        let (stats, batches) = engine!(self, engine => (engine.stats(), engine.queue.stats()));
        Stats {
            commits: batches.commits,
            operations: batches.operations,
            waiting_bytes: batches.waiting_bytes,
            ..stats
        }
    }

    /// The limits of waiting writes, for the metrics.
    pub(crate) fn limits(&self) -> [Arc<dyn Limited>; 2] {
        engine!(self, engine => engine.queue.limits())
    }

    /// Registers `client`, unless it is, with one more session.
    pub(crate) async fn register(
        &self,
        client: ClientId,
        token: TokenDigest,
        now: Timestamp,
    ) -> Result<Result<(), Refusal>, StoreError> {
        Ok(self.write(Operation::Register { client, token, now }).await?.map(drop))
    }

    /// The live session of a token. One that is due to be extended is looked up again: another
    /// replica may have done it.
    pub(crate) async fn session(
        &self,
        token: TokenDigest,
        now: Timestamp,
    ) -> Result<Option<Session>, StoreError> {
        let Shared { rules, sessions, .. } = self.shared();
        let is_due = |session| rules.lifetime.is_due(session, now);
        if let Some(session) = sessions.get(token, now).filter(|&session| !is_due(session)) {
            return Ok(Some(session));
        }
        let session = engine!(self, engine => engine.session(token).await?);
        let session = session.filter(|session| now < session.expires);
        if let Some(session) = session {
            sessions.insert(token, session, now);
        }
        Ok(session)
    }

    /// Lets a session live on from `now`.
    pub(crate) async fn extend(
        &self,
        token: TokenDigest,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.change_session(token, Operation::Extend { token, now }).await
    }

    /// Lets the unused client of a session stay on from `now`.
    pub(crate) async fn postpone_removal(
        &self,
        session: Session,
        token: TokenDigest,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let Session { client, .. } = session;
        self.change_session(token, Operation::Postpone { client, now }).await
    }

    /// The unused client of a session has been used: it stays as long as its sessions.
    pub(crate) async fn mark_used(
        &self,
        client: ClientId,
        token: TokenDigest,
    ) -> Result<(), StoreError> {
        self.change_session(token, Operation::MarkUsed { client }).await
    }

    async fn change_session(
        &self,
        token: TokenDigest,
        operation: Operation,
    ) -> Result<(), StoreError> {
        self.write(operation).await.map(drop)?;
        self.shared().sessions.remove(token);
        Ok(())
    }

    /// Removes sessions that have been over for a lifetime, clients that have none left, and unused
    /// clients whose time has come.
    pub(crate) async fn reap(&self, now: Timestamp) -> Result<(), StoreError> {
        while self.write(Operation::Reap { now }).await?.is_ok_and(|done| done.more) {}
        Ok(())
    }

    /// The object under `key`.
    pub(crate) async fn get(&self, key: &Key) -> Result<Option<Stored>, StoreError> {
        engine!(self, engine => Ok(engine.get(key).await?))
    }

    /// Sets an object and tells the revision of that change.
    pub(crate) async fn set(
        &self,
        object: Object,
        intent: Intent,
    ) -> Result<Result<Revision, Refusal>, StoreError> {
        let set = Operation::Set { object: Arc::new(object), intent };
        Ok(self.write(set).await?.map(|done| done.revision))
    }

    /// Deletes an object and tells the revision of that change.
    pub(crate) async fn delete(
        &self,
        key: Key,
        intent: Intent,
    ) -> Result<Result<Revision, Refusal>, StoreError> {
        let deleted = self.write(Operation::Delete { key, intent }).await?;
        Ok(deleted.map(|done| done.revision))
    }

    /// The objects that `pattern` matches, after the key `after` and up to the key `until`, in the
    /// order of the pattern's shape: at most `limit`, and fewer where they are large.
    pub(crate) async fn find(
        &self,
        pattern: &Pattern,
        after: Option<&Key>,
        until: Option<&Key>,
        limit: usize,
    ) -> Result<Page, StoreError> {
        engine!(self, engine => Ok(engine.find(pattern, after, until, limit).await?))
    }

    /// Where a page of at most `limit` objects ends; none when it is empty.
    pub(crate) async fn page_end(
        &self,
        pattern: &Pattern,
        after: Option<&Key>,
        limit: usize,
    ) -> Result<Option<PageEnd>, StoreError> {
        engine!(self, engine => Ok(engine.page_end(pattern, after, limit).await?))
    }

    /// Lets `client` watch `pattern` from now on.
    pub(crate) async fn watch(
        &self,
        client: ClientId,
        pattern: Pattern,
    ) -> Result<Result<(), Refusal>, StoreError> {
        Ok(self.write(Operation::Watch { client, pattern }).await?.map(drop))
    }

    /// Ends that watch, if there is one.
    pub(crate) async fn unwatch(
        &self,
        client: ClientId,
        pattern: Pattern,
    ) -> Result<(), StoreError> {
        self.write(Operation::Unwatch { client, pattern }).await.map(drop)
    }

    /// What `client` watches and has acknowledged.
    pub(crate) async fn client(&self, client: ClientId) -> Result<ClientState, StoreError> {
        // In this order: what leaves the map in between is committed before it is read there.
        let acknowledged = self.shared().positions().of(client);
        let mut state = engine!(self, engine => engine.client(client).await?);
        state.position = state.position.max(acknowledged);
        Ok(state)
    }

    /// Notes that `client` has acknowledged everything up to `position`. Written within a second
    /// or two; never lowers a position.
    pub(crate) fn acknowledge(&self, client: ClientId, position: Revision) {
        self.shared().positions().advance(client, position);
    }

    /// The log after `revision`: a page of it.
    pub(crate) async fn log(&self, after: Revision) -> Result<LogPage, StoreError> {
        engine!(self, engine => Ok(engine.log(after).await?))
    }
}

impl From<WriteError> for StoreError {
    fn from(error: WriteError) -> Self {
        match error {
            WriteError::Overloaded => Self::Overloaded,
            WriteError::Panicked => Self::Panicked,
            WriteError::NotCommitted(_) | WriteError::Stopped => Self::NotWritten(error.into()),
        }
    }
}

/// Now. The one place that asks the clock.
#[expect(clippy::disallowed_methods, reason = "the one place that asks the clock")]
pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::try_from(since.as_millis()).unwrap_or(Timestamp::MAX)
}
