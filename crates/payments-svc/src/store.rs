//! The state of the service. Every write is atomic, and durable before it is answered.
//!
//! Writes run in batches: an engine loads the rows that a batch needs, the domain decides, and the
//! engine writes the changes. The engines differ in how rows are found by their keys, in locks, in
//! new ids and in migrations; everything else is said once, for both.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    thread::available_parallelism,
};

use common::{
    aside::{Aside, Panicked},
    batch::{Stats, WriteError},
    limits::Limited,
    postgres::{self as database, DatabaseConfig},
    sql::Param,
    sqlite::BackupError,
};
use jiff::Timestamp;
use quick_cache::sync::Cache;

use crate::domain::{
    App, Id, KeyDigest, Payout, PayoutRun, Reference,
    write::{Answer, Refusal, Write},
};

mod batch;
mod check;
mod lists;
mod load;
mod outcomes;
mod payouts;
mod postgres;
mod reads;
mod rows;
mod seen;
mod sqlite;
mod tables;
mod values;

pub(crate) use check::CheckError;
use check::Scope;
pub(crate) use postgres::Postgres;
pub(crate) use reads::JOB_BATCH;
pub(crate) use seen::{SHORT_TRAIL, Seen};
pub(crate) use sqlite::Sqlite;

/// Apps kept in memory, so that a request does not look its own up. Apps never change.
const APP_CACHE: usize = 100_000;

/// What a store is opened with.
#[derive(Debug, Clone)]
pub(crate) struct StoreConfig {
    /// Where the embedded engine keeps its files.
    pub(crate) data_dir: PathBuf,
    /// The database; where there is none, the engine is the embedded one.
    pub(crate) database: Option<DatabaseConfig>,
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

/// Copies the embedded store to the new file `target` while a service uses it.
pub(crate) fn backup(config: &StoreConfig, target: &Path) -> Result<(), BackupError> {
    match config.database {
        Some(_) => Err(BackupError::Postgres),
        None => sqlite::backup(&config.data_dir, target),
    }
}

/// Checks the books of the store, at one moment, while services may use it: all of them, or what
/// changed after the line with the id `since`.
#[tokio::main(flavor = "current_thread")]
pub(crate) async fn check(config: &StoreConfig, since: Option<Id>) -> Result<(), CheckError> {
    let scope = since.map_or(Scope::Everything, Scope::Since);
    match &config.database {
        Some(database) => postgres::check(database, scope).await,
        None => sqlite::check(&config.data_dir, scope),
    }
}

/// Why payouts were not booked, or not all of them.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PayoutError {
    /// The database cannot be reached.
    #[error(transparent)]
    Open(#[from] database::OpenError),
    /// The database did not do it.
    #[error("payouts cannot be booked: {0}")]
    NotBooked(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// Books what is due in a run of payouts, while services may use the store, and closes the
/// run. Returns all payouts of the run, in their order; of one that was closed before, the same.
#[tokio::main(flavor = "current_thread")]
pub(crate) async fn pay_out(
    config: &StoreConfig,
    run: PayoutRun,
) -> Result<Vec<Payout>, PayoutError> {
    match &config.database {
        Some(database) => postgres::pay_out(database, run).await,
        None => sqlite::pay_out(&config.data_dir, run)
            .await
            .map_err(|error| PayoutError::NotBooked(error.into())),
    }
}

/// Why the store could not do what it was asked, whatever was asked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StoreError {
    /// Too many writes wait. Nothing was done.
    #[error("too many writes are waiting")]
    Overloaded,
    /// A write failed. Whether it was done is unknown.
    #[error("the store could not write")]
    NotWritten(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// A read failed.
    #[error("the store could not read")]
    NotRead(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The operation itself is broken. Nothing was done.
    #[error("the operation panicked")]
    Panicked,
}

impl From<Panicked> for StoreError {
    fn from(_: Panicked) -> Self {
        Self::Panicked
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

/// Now, in whole milliseconds.
pub(crate) fn now() -> Timestamp {
    let now = Timestamp::now();
    Timestamp::from_millisecond(now.as_millisecond()).unwrap_or(now)
}

/// A thing, and whether the app that asks for it may see it.
#[derive(Debug, Clone)]
pub(crate) struct Found<T> {
    /// The thing.
    pub(crate) value: T,
    /// Whether the app is one of its merchant's.
    pub(crate) is_member: bool,
}

/// A dispute that was to be answered by now.
#[derive(Debug)]
pub(crate) struct Overdue {
    /// Its id.
    pub(crate) id: Id,
    /// The transaction.
    pub(crate) transaction: Id,
    /// The acquirer's id of it.
    pub(crate) reference: Reference,
}

/// A transaction that has become too old to be captured.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Expiring {
    /// The transaction.
    pub(crate) transaction: Id,
    /// Whether it still holds money.
    pub(crate) is_pending: bool,
}

/// What disputes and suspicions are about.
#[derive(Debug, Clone, Copy)]
pub(crate) enum About {
    /// Any transaction of a merchant.
    Merchant(Id),
    /// A transaction.
    Transaction(Id),
}

/// How much waits for somebody else.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Backlog {
    /// Invitations that are not sent yet.
    pub(crate) invitations: i64,
    /// Instructions that no acquirer has confirmed.
    pub(crate) instructions: i64,
    /// Payments whose outcome is not known.
    pub(crate) operations: i64,
}

/// A statement, with its parameters.
type Asked<'a> = (&'a str, &'a [Param<'a>]);

/// The store.
#[derive(Clone)]
pub(crate) struct Store {
    engine: Engine,
    apps: Arc<Cache<KeyDigest, App>>,
    /// For what takes long. It leaves half of the cores to requests.
    aside: Aside,
}

/// The engine that the store was configured with.
#[derive(Clone)]
enum Engine {
    /// SQLite in a directory of this process.
    Sqlite(Arc<Sqlite>),
    /// PostgreSQL, which other processes may use, too.
    Postgres(Arc<Postgres>),
}

/// Passes a call on to the engine.
macro_rules! engine {
    ($store:expr, $engine:ident => $call:expr) => {
        match &$store.engine {
            Engine::Sqlite($engine) => $call,
            Engine::Postgres($engine) => $call,
        }
    };
}

impl Store {
    /// Opens the store, making it where there is none.
    pub(crate) async fn open(config: &StoreConfig) -> Result<Self, OpenError> {
        let engine = match &config.database {
            Some(database) => Engine::Postgres(Arc::new(Postgres::open(database).await?)),
            None => Engine::Sqlite(Arc::new(Sqlite::open(&config.data_dir)?)),
        };
        let cores = available_parallelism().map_or(2, usize::from);
        let aside = Aside::new((cores / 2).max(1));
        Ok(Self { engine, apps: Arc::new(Cache::new(APP_CACHE)), aside })
    }

    /// Threads for what takes long.
    pub(crate) fn aside(&self) -> &Aside {
        &self.aside
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

    /// Counts of batches, for the metrics.
    pub(crate) fn stats(&self) -> Stats {
        engine!(self, engine => engine.queue().stats())
    }

    /// The limits of the queue of writes, for the metrics.
    pub(crate) fn limits(&self) -> [Arc<dyn Limited>; 2] {
        engine!(self, engine => engine.queue().limits())
    }

    /// Writes; with an idempotency key, once.
    pub(crate) async fn write(
        &self,
        write: impl Into<Write>,
    ) -> Result<Result<Answer, Refusal>, StoreError> {
        let write = write.into();
        Ok(engine!(self, engine => engine.queue().write(write).await)?)
    }

    /// Whether this process does a job for the next ten seconds. Each job is done by one process at
    /// a time, which has to ask again before they are over.
    pub(crate) async fn lease(&self, job: &str) -> Result<bool, StoreError> {
        match &self.engine {
            Engine::Sqlite(_) => Ok(true),
            Engine::Postgres(engine) => Ok(engine.lease(job).await?),
        }
    }
}
