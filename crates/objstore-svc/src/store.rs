//! The state of the service. Every operation is atomic, and durable before it is answered.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use common::{
    postgres::{self as database, DatabaseConfig},
    sqlite::BackupError,
};
use tokio::sync::mpsc;

use crate::domain::{
    ClientId, Epoch, Intent, Key, Lifetime, Object, OwnerRule, Pattern, Record, Refusal, Revision,
    Session, Stored, Timestamp, TokenDigest, Watches,
};

mod columns;
mod import;
mod order;
mod positions;
mod postgres;
mod sessions;
mod sqlite;

pub use import::{ImportError, import};
pub use postgres::Postgres;
pub use sqlite::Sqlite;

/// What a store is opened with.
#[derive(Debug, Clone)]
pub struct StoreConfig {
    /// Where the embedded engine keeps its files.
    pub data_dir: PathBuf,
    /// The database; where there is none, the engine is the embedded one.
    pub database: Option<DatabaseConfig>,
    /// How long sessions live.
    pub lifetime: Lifetime,
    /// Whether owners are compared.
    pub owner: OwnerRule,
    /// Clients there may be.
    pub max_clients: usize,
    /// Watches a client may have.
    pub max_watches: usize,
    /// How long the log keeps a change.
    pub log_retention: Duration,
    /// Bytes of changes the log keeps.
    pub log_size: u64,
}

/// Why the store could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The embedded engine.
    #[error(transparent)]
    Sqlite(#[from] sqlite::OpenError),
    /// The database.
    #[error(transparent)]
    Postgres(#[from] database::OpenError),
}

/// Copies the embedded store to the new file `target` while a service uses it. The copy makes a new
/// epoch when it is opened.
pub fn backup(config: &StoreConfig, target: &Path) -> Result<(), BackupError> {
    match config.database {
        Some(_) => Err(BackupError::Postgres),
        None => sqlite::backup(&config.data_dir, target),
    }
}

/// Why the store could not do what it was asked, whatever was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
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
pub struct Page {
    /// The objects.
    pub objects: Vec<Stored>,
    /// Whether there may be more after the last one.
    pub more: bool,
}

/// The end of a page that was asked for by its length.
#[derive(Debug)]
pub struct PageEnd {
    /// The key of its last object.
    pub key: Key,
    /// Whether there is another after it.
    pub more: bool,
}

/// A stretch of the log.
#[derive(Debug)]
pub enum LogPage {
    /// The records that follow, oldest first; none when there is nothing yet.
    Records(Vec<Record>),
    /// The log no longer reaches back that far.
    Trimmed,
}

/// What is known of a client at one moment.
#[derive(Debug)]
pub struct ClientState {
    /// The moment: every record up to this revision is taken into account.
    pub revision: Revision,
    /// What it watches, and watched.
    pub watches: Watches,
    /// Up to where it has acknowledged its pushes.
    pub position: Revision,
}

/// Numbers for the metrics.
#[derive(Debug, Clone, Copy, Default)]
pub struct Figures {
    /// The newest revision.
    pub revision: Revision,
    /// Revisions that the log has dropped: its records begin after this one.
    pub log_floor: Revision,
    /// Bytes of the records the log holds.
    pub log_bytes: u64,
    /// Clients registered.
    pub clients: u64,
    /// Batches committed since the start.
    pub commits: u64,
    /// Operations in them.
    pub operations: u64,
    /// Bytes of writes that wait.
    pub waiting_bytes: u64,
}

/// What is committed, in order from the revision it starts after.
pub struct Feed {
    /// The store's revision when it was opened.
    pub revision: Revision,
    /// One piece after another.
    pub news: mpsc::Receiver<News>,
}

/// What comes next in the order of revisions.
#[derive(Debug)]
pub enum News {
    /// The records that follow, without a gap.
    Records(Vec<Record>),
    /// The log has dropped what follows, perhaps up to this revision.
    Missed(Revision),
}

/// The store, on the engine it was configured with.
#[derive(Clone)]
pub enum Store {
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
    pub async fn open(config: &StoreConfig) -> Result<(Self, Feed), OpenError> {
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
    pub fn is_up(&self) -> bool {
        engine!(self, engine => engine.is_up())
    }

    /// Resolves when the store can no longer write, ever: the process should end.
    pub async fn failed(&self) {
        engine!(self, engine => engine.failed().await)
    }

    /// Finishes what was asked for and closes.
    pub async fn close(&self) {
        engine!(self, engine => engine.close().await)
    }

    /// The life of the store that its revisions belong to.
    pub fn epoch(&self) -> Epoch {
        engine!(self, engine => engine.epoch())
    }

    /// Numbers for the metrics.
    pub fn figures(&self) -> Figures {
        engine!(self, engine => engine.figures())
    }

    /// Registers `client`, unless it is, with one more session.
    pub async fn register(
        &self,
        client: ClientId,
        token: TokenDigest,
        now: Timestamp,
    ) -> Result<Result<(), Refusal>, StoreError> {
        engine!(self, engine => engine.register(client, token, now).await)
    }

    /// The live session of a token.
    pub async fn session(
        &self,
        token: TokenDigest,
        now: Timestamp,
    ) -> Result<Option<Session>, StoreError> {
        engine!(self, engine => Ok(engine.session(token, now).await?))
    }

    /// Lets a session live on from `now`.
    pub async fn extend(&self, token: TokenDigest, now: Timestamp) -> Result<(), StoreError> {
        engine!(self, engine => engine.extend(token, now).await)
    }

    /// Lets the unused client of a session stay on from `now`.
    pub async fn postpone_removal(
        &self,
        session: Session,
        token: TokenDigest,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        engine!(self, engine => engine.postpone_removal(session.client, token, now).await)
    }

    /// The unused client of a session has been used: it stays as long as its sessions.
    pub async fn mark_used(&self, client: ClientId, token: TokenDigest) -> Result<(), StoreError> {
        engine!(self, engine => engine.mark_used(client, token).await)
    }

    /// Removes sessions that have been over for a lifetime, clients that have none left, and unused
    /// clients whose time has come.
    pub async fn reap(&self, now: Timestamp) -> Result<(), StoreError> {
        engine!(self, engine => engine.reap(now).await)
    }

    /// The object under `key`.
    pub async fn get(&self, key: &Key) -> Result<Option<Stored>, StoreError> {
        engine!(self, engine => Ok(engine.get(key).await?))
    }

    /// Sets an object and tells the revision of that change.
    pub async fn set(
        &self,
        object: Object,
        intent: Intent,
    ) -> Result<Result<Revision, Refusal>, StoreError> {
        engine!(self, engine => engine.set(object, intent).await)
    }

    /// Deletes an object and tells the revision of that change.
    pub async fn delete(
        &self,
        key: Key,
        intent: Intent,
    ) -> Result<Result<Revision, Refusal>, StoreError> {
        engine!(self, engine => engine.delete(key, intent).await)
    }

    /// The objects that `pattern` matches, after the key `after` and up to the key `until`, in the
    /// order of the pattern's shape: at most `limit`, and fewer where they are large.
    pub async fn find(
        &self,
        pattern: &Pattern,
        after: Option<&Key>,
        until: Option<&Key>,
        limit: usize,
    ) -> Result<Page, StoreError> {
        engine!(self, engine => Ok(engine.find(pattern, after, until, limit).await?))
    }

    /// Where a page of at most `limit` objects ends; none when it is empty.
    pub async fn page_end(
        &self,
        pattern: &Pattern,
        after: Option<&Key>,
        limit: usize,
    ) -> Result<Option<PageEnd>, StoreError> {
        engine!(self, engine => Ok(engine.page_end(pattern, after, limit).await?))
    }

    /// Lets `client` watch `pattern` from now on.
    pub async fn watch(
        &self,
        client: ClientId,
        pattern: Pattern,
    ) -> Result<Result<(), Refusal>, StoreError> {
        engine!(self, engine => engine.watch(client, pattern).await)
    }

    /// Ends that watch, if there is one.
    pub async fn unwatch(&self, client: ClientId, pattern: Pattern) -> Result<(), StoreError> {
        engine!(self, engine => engine.unwatch(client, pattern).await)
    }

    /// What `client` watches and has acknowledged.
    pub async fn client(&self, client: ClientId) -> Result<ClientState, StoreError> {
        engine!(self, engine => Ok(engine.client(client).await?))
    }

    /// Notes that `client` has acknowledged everything up to `position`. Written within a second
    /// or two; never lowers a position.
    pub fn acknowledge(&self, client: ClientId, position: Revision) {
        engine!(self, engine => engine.acknowledge(client, position))
    }

    /// The log after `revision`: a page of it.
    pub async fn log(&self, after: Revision) -> Result<LogPage, StoreError> {
        engine!(self, engine => Ok(engine.log(after).await?))
    }
}

/// Now. The one place that asks the clock.
#[expect(clippy::disallowed_methods, reason = "the one place that asks the clock")]
pub fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::try_from(since.as_millis()).unwrap_or(Timestamp::MAX)
}
