//! The state of the service: merchants, payments, the ledger. Every write is atomic, and durable
//! before it is answered. `docs/glossary.md` explains the words.
//!
//! The write path:
//!
//! 1. [`Store::write`] puts a write into a bounded queue. If the queue is full, it fails with
//!    [`StoreError::Overloaded`]: nothing was done.
//! 2. The queue collects pending writes into a batch (`common::batch`), because waiting for the
//!    disk takes far longer than a write. SQLite runs one batch at a time, PostgreSQL up to four in
//!    each process.
//! 3. The engine begins a database transaction and loads the rows that the batch needs (`load`).
//!    PostgreSQL locks them as well, because other processes write to the database, too.
//! 4. `payments_domain::write::decide` decides all writes of the batch in memory. Each write sees the
//!    changes of the writes before it. Every rule that changes data is in `payments-domain`, so both engines
//!    behave the same.
//! 5. The engine writes the changed rows (`tables`) and commits. The idempotency key is one of
//!    these rows: a key and its effect exist together or not at all.
//! 6. Callers get their answers after the commit, including rejections. If the commit fails, its
//!    outcome may be unknown: after [`StoreError::WriteFailed`], the write may be committed.
//!
//! The engines differ in how they find rows by key, in locks, in new IDs and in migrations. They
//! share everything else, so that each statement and each rule exists once.

use std::{
    any::Any,
    path::{Path, PathBuf},
    sync::Arc,
    thread::available_parallelism,
    time::Duration,
};

use common::{
    aside::{Aside, Panicked},
    batch::{Stats, WriteError},
    clock::{ClockError, ClockTable, JobClock},
    control::{ControlledStore, OrderError, Socket},
    exit::{AWAY, USAGE},
    files::Files,
    limits::Limited,
    operations::Readiness,
    postgres::DatabaseConfig,
    progress::Progress,
    sql::Param,
    sqlite::{BackupError, Disk, backup as backup_sqlite},
    store::OpenError,
    telemetry::Trace,
};
use jiff::Timestamp;

mod api_keys;
mod batch;
mod check;
mod day_totals;
mod deliveries;
mod desk;
mod disputes;
mod events;
mod evidence;
mod import;
mod lists;
mod load;
mod overview;
mod payouts;
mod postgres;
mod reads;
mod reconcile;
mod returns;
mod rows;
mod sandbox_clock;
mod snapshot;
mod sqlite;

use api_keys::ApiKeys;
pub(crate) use check::{CheckError, Scope};
pub(crate) use common::sqlite::LookUp;
pub(crate) use deliveries::Endpoint;
pub(crate) use desk::LogEntry;
pub(crate) use disputes::{DisputeWithCurrency, ListedDispute};
pub(crate) use events::EventFilter;
pub(crate) use import::import;
pub(crate) use lists::{Member, Range, TransactionFilter};
use payments_domain::{
    AcquirerId, Actor, ApiKeyUse, Currency, Id,
    write::{Action, Answer, By, KeyedRequest, Rejection, Write},
};
pub(crate) use postgres::Postgres;
pub(crate) use reconcile::{ReconcileError, Settlement};
pub(crate) use rows::Resource;
pub(crate) use sandbox_clock::AdvancedApp;
pub(crate) use snapshot::{SHORT_TRAIL, Snapshot};
pub(crate) use sqlite::Sqlite;

#[derive(Debug, Clone)]
pub(crate) struct StoreConfig {
    /// The directory of the SQLite database.
    pub(crate) data_dir: PathBuf,
    /// The PostgreSQL database. `None` selects SQLite.
    pub(crate) database: Option<DatabaseConfig>,
    /// The maximum bytes of transactions in memory, with SQLite.
    pub(crate) cache: u64,
    /// Captures younger than this are not paid out.
    pub(crate) payout_delay: Duration,
}

/// Copies a SQLite store to the new file `target`. A running service can keep using the store.
pub(crate) fn backup(
    config: &StoreConfig,
    target: &Path,
    progress: &Progress,
) -> Result<(), BackupError> {
    match config.database {
        Some(_) => Err(BackupError::Postgres),
        None => {
            let source = config.data_dir.join(sqlite::DATABASE);
            backup_sqlite(&source, target, progress, |_| Ok(()))
        }
    }
}

/// Checks the ledger. Running services can keep using the store.
#[tokio::main(flavor = "current_thread")]
pub(crate) async fn check(
    config: &StoreConfig,
    scope: Scope,
    progress: &Progress,
) -> Result<(), CheckError> {
    match &config.database {
        Some(database) => postgres::check(database, scope, progress).await,
        None => sqlite::check(&config.data_dir, scope, progress).await,
    }
}

/// Why a read or a write failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StoreError {
    /// Too many requests are waiting for the database. Nothing was done.
    #[error("too many requests are waiting for the database")]
    Overloaded,
    /// Somebody else holds a lock in the database for too long. Nothing was done.
    #[error("the store is locked by somebody else: try again in a second")]
    Busy,
    /// A write failed. Its outcome is unknown: it may be committed.
    #[error("the write failed; it may be committed")]
    WriteFailed(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The disk is full. A write was refused.
    #[error("the disk is full")]
    DiskFull,
    #[error("the read failed")]
    ReadFailed(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// This read or write panicked. Nothing was done.
    #[error("the read or write panicked")]
    Panicked,
}

impl From<StoreError> for OrderError {
    fn from(error: StoreError) -> Self {
        let exit_code = if matches!(error, StoreError::Panicked) { USAGE } else { AWAY };
        Self::of(exit_code, &error)
    }
}

impl From<ClockError> for StoreError {
    fn from(error: ClockError) -> Self {
        Self::ReadFailed(error.into())
    }
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
            WriteError::Locked => Self::Busy,
            WriteError::Panicked => Self::Panicked,
            WriteError::DiskFull => Self::DiskFull,
            WriteError::Failed(_) | WriteError::Stopped => Self::WriteFailed(error.into()),
        }
    }
}

/// The time of this machine in whole milliseconds, because stored times are whole milliseconds.
pub(crate) fn now() -> Timestamp {
    let now = Timestamp::now();
    Timestamp::from_millisecond(now.as_millisecond()).unwrap_or(now)
}

/// A value, and whether the calling app may see it.
#[derive(Debug, Clone)]
pub(crate) struct Found<T> {
    pub(crate) value: T,
    /// Whether the app is a member of the value's merchant, or the value belongs to the app.
    pub(crate) is_member: bool,
}

/// A payment that an acquirer knows.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Authorized {
    Transaction(Id, Currency),
    /// It is not decided yet.
    Pending,
}

/// An open dispute whose due date has passed.
#[derive(Debug)]
pub(crate) struct OverdueDispute {
    pub(crate) id: Id,
    pub(crate) transaction: Id,
    /// The acquirer's ID of the dispute.
    pub(crate) reference: AcquirerId,
}

/// An authorization of which a part can be captured.
#[derive(Debug)]
pub(crate) struct OpenAuthorization {
    pub(crate) transaction: Id,
    /// When the acquirer ends it.
    pub(crate) until: Timestamp,
    /// The acquirer's ID.
    pub(crate) authorization: String,
}

/// A transaction that is older than the limit for authorizations.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OldTransaction {
    pub(crate) transaction: Id,
    /// Whether a part of its amount is neither captured nor voided.
    pub(crate) is_pending: bool,
}

/// The merchant or transaction whose disputes or fraud alerts to list.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Owner {
    /// All of a merchant.
    Merchant(Id),
    /// All of one transaction.
    Transaction(Id),
}

/// Counts of the pending work that depends on other servers.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Backlog {
    /// Mails to send.
    pub(crate) mails: i64,
    /// Outbox entries that no acquirer has confirmed.
    pub(crate) outbox_entries: i64,
    pub(crate) pending_payments: i64,
    /// Webhooks that are disabled, but not by a request.
    pub(crate) disabled_webhooks: i64,
}

/// A query with its parameters.
type Select<'a> = (&'a str, &'a [Param<'a>]);

#[derive(Clone)]
pub(crate) struct Store {
    engine: Engine,
    clock: Arc<JobClock>,
    api_keys: Arc<ApiKeys>,
    /// Threads for long work. They use half of the cores and leave the others to requests.
    aside: Aside,
    payout_delay: Duration,
}

#[derive(Clone)]
enum Engine {
    /// SQLite, in a directory that this process owns.
    Sqlite(Arc<Sqlite>),
    /// PostgreSQL. Other processes may use the same database.
    Postgres(Arc<Postgres>),
}

/// Calls the same method on either engine.
macro_rules! engine {
    ($store:expr, $engine:ident => $call:expr) => {
        match &$store.engine {
            Engine::Sqlite($engine) => $call,
            Engine::Postgres($engine) => $call,
        }
    };
}

impl Store {
    /// Opens the store. Creates the tables if there are none. `files` makes new connections to a
    /// database use another password or CA.
    pub(crate) async fn open(config: &StoreConfig, files: &mut Files) -> Result<Self, OpenError> {
        let (engine, clock) = match &config.database {
            Some(database) => {
                let engine = Postgres::open(database, files).await?;
                let clock = ClockTable::Postgres(Arc::clone(&engine.base.pool));
                (Engine::Postgres(Arc::new(engine)), clock)
            }
            None => {
                let engine = Sqlite::open(&config.data_dir, config.cache).await?;
                let clock = ClockTable::Sqlite(config.data_dir.join(sqlite::DATABASE));
                (Engine::Sqlite(Arc::new(engine)), clock)
            }
        };
        let clock = Arc::new(JobClock::open(clock).await?);
        let cores = available_parallelism().map_or(2, usize::from);
        let aside = Aside::new((cores / 2).max(1));
        let (api_keys, payout_delay) = (Arc::new(ApiKeys::new()), config.payout_delay);
        Ok(Self { engine, clock, api_keys, aside, payout_delay })
    }

    /// Captures younger than this are not paid out. A command that asks the running service gets that
    /// of the service.
    pub(crate) fn payout_delay(&self) -> Duration {
        self.payout_delay
    }

    /// The clock of what jobs delete or void by time.
    pub(crate) fn clock(&self) -> &Arc<JobClock> {
        &self.clock
    }

    /// Threads for long work, so that requests do not wait for it.
    pub(crate) fn aside(&self) -> &Aside {
        &self.aside
    }

    /// For the readiness check.
    pub(crate) fn readiness(&self) -> Readiness {
        engine!(self, engine => engine.base.readiness())
    }

    /// The volume of the store, with SQLite.
    pub(crate) fn disk(&self) -> Option<Arc<Disk>> {
        match &self.engine {
            Engine::Sqlite(engine) => Some(Arc::clone(&engine.base.disk)),
            Engine::Postgres(_) => None,
        }
    }

    /// Listens for the orders of commands, with SQLite.
    pub(crate) fn control_socket(&self) -> Option<Socket> {
        match &self.engine {
            Engine::Sqlite(engine) => Socket::bind(&engine.base.directory),
            Engine::Postgres(_) => None,
        }
    }

    /// Resolves when the writer has ended. The writer does not start again, so the process should
    /// exit.
    pub(crate) async fn writer_ended(&self) {
        engine!(self, engine => engine.base.writer_ended().await)
    }

    /// Finishes pending writes, then closes the store.
    pub(crate) async fn close(&self) {
        match &self.engine {
            Engine::Sqlite(engine) => engine.base.close().await,
            Engine::Postgres(engine) => engine.close().await,
        }
    }

    /// Counters of the batches, for the metrics.
    pub(crate) fn stats(&self) -> Stats {
        engine!(self, engine => engine.base.queue.stats())
    }

    /// Reads that found their transaction in the cache, and reads that did not, for the metrics.
    pub(crate) fn cache_hits_and_misses(&self) -> (u64, u64) {
        match &self.engine {
            Engine::Sqlite(engine) => engine.transactions().hits_and_misses(),
            Engine::Postgres(_) => (0, 0),
        }
    }

    /// Limits of the write queue, of the uses of API keys and of the cache, for the metrics.
    pub(crate) fn limits(&self) -> Vec<Arc<dyn Limited>> {
        let mut limits = engine!(self, engine => engine.base.queue.limits()).to_vec();
        limits.push(self.api_keys.limit());
        if let Engine::Sqlite(engine) = &self.engine {
            limits.push(engine.transactions().limit());
        }
        limits
    }

    /// Uses of API keys that no write has recorded yet, for one write. Follow the write with
    /// [`Self::api_key_uses_recorded`].
    pub(crate) fn unrecorded_api_key_uses(&self) -> Vec<ApiKeyUse> {
        self.api_keys.unrecorded()
    }

    pub(crate) fn api_key_uses_recorded(&self, uses: &[ApiKeyUse]) {
        self.api_keys.recorded(uses);
    }

    /// Waits until the write is committed. A [`Rejection`] is a decision of the domain: nothing was
    /// changed.
    pub(crate) async fn write<A: Action>(
        &self,
        by: impl Into<By>,
        action: A,
    ) -> Result<Result<A::Outcome, Rejection>, StoreError> {
        match self.write_keyed(by, action, None).await? {
            Ok(Answer::Executed(outcome)) => Ok(Ok(outcome)),
            Ok(Answer::Replayed(_)) => Err(StoreError::Panicked),
            Err(rejection) => Ok(Err(rejection)),
        }
    }

    /// Like [`Self::write`], for an order: a rejection ends its command.
    pub(crate) async fn execute<A: Action>(&self, action: A) -> Result<A::Outcome, OrderError> {
        let outcome = self.write(Actor::OPERATOR, action).await?;
        outcome.map_err(|rejection| OrderError::of(USAGE, &rejection))
    }

    /// Like [`Self::write`]. With an idempotency key, a repeat writes nothing and returns the first
    /// outcome.
    pub(crate) async fn write_keyed<A: Action>(
        &self,
        by: impl Into<By>,
        action: A,
        keyed: Option<KeyedRequest>,
    ) -> Result<Result<Answer<A::Outcome>, Rejection>, StoreError> {
        let trace = Trace::current().map(Trace::to_bytes);
        let write = Write { by: by.into(), trace, action: Box::new(action), keyed };
        let outcome: Box<dyn Any> = match engine!(self, engine => engine.base.queue.write(write).await)?
        {
            Ok(Answer::Executed(outcome)) => outcome,
            Ok(Answer::Replayed(outcome)) => return Ok(Ok(Answer::Replayed(outcome))),
            Err(rejection) => return Ok(Err(rejection)),
        };
        let outcome = outcome.downcast().map_err(|_| StoreError::Panicked)?;
        Ok(Ok(Answer::Executed(*outcome)))
    }

    /// Takes or extends the lease of a job for ten seconds. Returns whether this process holds it.
    /// One process at a time runs a job. It must extend the lease before the lease ends. With
    /// SQLite there is one process, which always holds it.
    pub(crate) async fn lease(&self, job: &str) -> Result<bool, StoreError> {
        match &self.engine {
            Engine::Sqlite(_) => Ok(true),
            Engine::Postgres(engine) => Ok(engine.lease(job).await?),
        }
    }
}

impl ControlledStore for Store {
    type Config = StoreConfig;

    fn file(config: &StoreConfig) -> Option<(&Path, &str)> {
        config.database.is_none().then_some((&config.data_dir, sqlite::DATABASE))
    }

    async fn open(config: &StoreConfig) -> Result<Self, OpenError> {
        Self::open(config, &mut Files::default()).await
    }

    async fn close(&self) {
        self.close().await;
    }

    fn clock(&self) -> &JobClock {
        &self.clock
    }
}
