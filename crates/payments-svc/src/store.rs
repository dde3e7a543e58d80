//! The state of the service. Every write is atomic, and durable before it is answered.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use common::{
    postgres::{self as database, DatabaseConfig},
    sqlite::BackupError,
};
use jiff::Timestamp;

use crate::domain::{
    App, Challenge, Dispute, FraudAlert, Id, Instruction, KeyDigest, Line, Merchant, Original,
    Payout, PayoutRun, Reference, Reservation, SavedCard, Transaction, User, Window,
};

mod check;
mod postgres;
mod sqlite;
mod write;

use check::Scope;
pub use check::{CheckError, Disagreement, Findings};
pub use postgres::Postgres;
pub use sqlite::Sqlite;
pub use write::{Answer, Keyed, Known, Outcome, Receipt, Refusal, Tell, Write};

/// What a store is opened with.
#[derive(Debug, Clone)]
pub struct StoreConfig {
    /// Where the embedded engine keeps its files.
    pub data_dir: PathBuf,
    /// The database; where there is none, the engine is the embedded one.
    pub database: Option<DatabaseConfig>,
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

/// Copies the embedded store to the new file `target` while a service uses it.
pub fn backup(config: &StoreConfig, target: &Path) -> Result<(), BackupError> {
    match config.database {
        Some(_) => Err(BackupError::Postgres),
        None => sqlite::backup(&config.data_dir, target),
    }
}

/// Checks the books of the store, at one moment, while services may use it: all of them, or what
/// changed after the line with the id `since`.
#[tokio::main(flavor = "current_thread")]
pub async fn check(config: &StoreConfig, since: Option<Id>) -> Result<(), CheckError> {
    let scope = since.map_or(Scope::Everything, Scope::Since);
    match &config.database {
        Some(database) => postgres::check(database, scope).await,
        None => sqlite::check(&config.data_dir, scope),
    }
}

/// Why payouts were not booked, or not all of them.
#[derive(Debug, thiserror::Error)]
pub enum PayoutError {
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
pub async fn pay_out(config: &StoreConfig, run: PayoutRun) -> Result<Vec<Payout>, PayoutError> {
    match &config.database {
        Some(database) => postgres::pay_out(database, run).await,
        None => sqlite::pay_out(&config.data_dir, run)
            .map_err(|error| PayoutError::NotBooked(error.into())),
    }
}

/// Why the store could not do what it was asked, whatever was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
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

/// Now, in whole milliseconds.
pub fn now() -> Timestamp {
    let now = Timestamp::now();
    Timestamp::from_millisecond(now.as_millisecond()).unwrap_or(now)
}

/// A thing, and whether the app that asks for it may see it.
#[derive(Debug, Clone)]
pub struct Found<T> {
    /// The thing.
    pub thing: T,
    /// Whether the app is one of its merchant's.
    pub is_member: bool,
}

/// A dispute that was to be answered by now.
#[derive(Debug)]
pub struct Overdue {
    /// Its id.
    pub id: Id,
    /// The transaction.
    pub transaction: Id,
    /// What the acquirer knows it by.
    pub reference: Reference,
}

/// What disputes and suspicions are about.
#[derive(Debug, Clone, Copy)]
pub enum About {
    /// Any transaction of a merchant.
    Merchant(Id),
    /// A transaction.
    Transaction(Id),
}

/// Numbers for the metrics.
#[derive(Debug, Clone, Copy, Default)]
pub struct Figures {
    /// Batches committed since the start.
    pub commits: u64,
    /// Writes in them.
    pub writes: u64,
    /// Bytes of writes that wait.
    pub waiting_bytes: u64,
}

/// How much waits for somebody else.
#[derive(Debug, Clone, Copy)]
pub struct Backlog {
    /// Invitations that are not sent yet.
    pub invitations: i64,
    /// Instructions that no acquirer has confirmed.
    pub instructions: i64,
    /// Payments whose outcome is not known.
    pub operations: i64,
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
    /// Opens the store, making it where there is none. It keeps answers as clients are told of them.
    pub async fn open(config: &StoreConfig, tell: Tell) -> Result<Self, OpenError> {
        Ok(match &config.database {
            Some(database) => Self::Postgres(Arc::new(Postgres::open(database, tell).await?)),
            None => Self::Sqlite(Arc::new(Sqlite::open(&config.data_dir, tell)?)),
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

    /// Numbers for the metrics.
    pub fn figures(&self) -> Figures {
        engine!(self, engine => engine.figures())
    }

    /// Writes, at `now`; with an idempotency key, once.
    pub async fn write(
        &self,
        write: Write,
        keyed: Option<Keyed>,
        now: Timestamp,
    ) -> Result<Result<Outcome, Refusal>, StoreError> {
        engine!(self, engine => engine.write(write, keyed, now).await)
    }

    /// What is known of an idempotency key. Changes nothing.
    pub async fn known(&self, keyed: &Keyed) -> Result<Option<Known>, StoreError> {
        engine!(self, engine => Ok(engine.known(keyed).await?))
    }

    /// The app with this key.
    pub async fn app_by_key(&self, key: KeyDigest) -> Result<Option<App>, StoreError> {
        engine!(self, engine => Ok(engine.app_by_key(key).await?))
    }

    /// Whether there is such an app.
    pub async fn has_app(&self, id: Id) -> Result<bool, StoreError> {
        engine!(self, engine => Ok(engine.has_app(id).await?))
    }

    /// A merchant, as `app` sees it.
    pub async fn merchant(&self, id: Id, app: Id) -> Result<Option<Found<Merchant>>, StoreError> {
        engine!(self, engine => Ok(engine.merchant(id, app).await?))
    }

    /// A transaction, as `app` sees it.
    pub async fn transaction(
        &self,
        id: Id,
        app: Id,
    ) -> Result<Option<Found<Transaction>>, StoreError> {
        engine!(self, engine => Ok(engine.transaction(id, app).await?))
    }

    /// What of a transaction never changes, as `app` sees it.
    pub async fn reservation(
        &self,
        id: Id,
        app: Id,
    ) -> Result<Option<Found<Reservation>>, StoreError> {
        engine!(self, engine => Ok(engine.reservation(id, app).await?))
    }

    /// A transaction as it was when its trail had this many steps, and this was disputed of it.
    pub async fn transaction_as_of(
        &self,
        id: Id,
        steps: u32,
        disputed: i64,
    ) -> Result<Option<Transaction>, StoreError> {
        let found = engine!(self, engine => engine.transaction_with(id, steps).await?);
        Ok(found.map(|transaction| transaction.as_of_its_trail(disputed)))
    }

    /// What of a transaction never changes, whoever asks.
    pub async fn reservation_of(&self, id: Id) -> Result<Option<Reservation>, StoreError> {
        let found = self.reservation(id, Id::FIRST).await?;
        Ok(found.map(|found| found.thing))
    }

    /// A line, as `app` sees it.
    pub async fn line(&self, id: Id, app: Id) -> Result<Option<Found<Line>>, StoreError> {
        engine!(self, engine => Ok(engine.line(id, app).await?))
    }

    /// A saved card, as `app` sees it.
    pub async fn card(&self, id: Id, app: Id) -> Result<Option<Found<SavedCard>>, StoreError> {
        engine!(self, engine => Ok(engine.card(id, app).await?))
    }

    /// A dispute, as `app` sees it.
    pub async fn dispute(&self, id: Id, app: Id) -> Result<Option<Found<Dispute>>, StoreError> {
        engine!(self, engine => Ok(engine.dispute(id, app).await?))
    }

    /// A suspicion of fraud, as `app` sees it.
    pub async fn fraud(&self, id: Id, app: Id) -> Result<Option<Found<FraudAlert>>, StoreError> {
        engine!(self, engine => Ok(engine.fraud(id, app).await?))
    }

    /// The merchant with this public key.
    pub async fn merchant_by_key(&self, key: &str) -> Result<Option<Merchant>, StoreError> {
        engine!(self, engine => Ok(engine.merchant_by_key(key).await?))
    }

    /// The card of a transaction of the merchant that succeeded and that a customer made.
    pub async fn original(&self, merchant: Id, id: Id) -> Result<Option<Original>, StoreError> {
        engine!(self, engine => Ok(engine.original(merchant, id).await?))
    }

    /// A card that the merchant keeps.
    pub async fn kept(&self, merchant: Id, id: Id) -> Result<Option<Original>, StoreError> {
        engine!(self, engine => Ok(engine.kept(merchant, id).await?))
    }

    /// The merchants of an app: all, those for tests, or the others.
    pub async fn merchants(
        self,
        app: Id,
        window: Window,
        test: Option<bool>,
    ) -> Result<Vec<Merchant>, StoreError> {
        engine!(self, engine => Ok(engine.merchants(app, window, test).await?))
    }

    /// The users of a merchant.
    pub async fn users(self, merchant: Id, window: Window) -> Result<Vec<User>, StoreError> {
        engine!(self, engine => Ok(engine.users(merchant, window).await?))
    }

    /// The apps of a merchant.
    pub async fn apps(self, merchant: Id, window: Window) -> Result<Vec<App>, StoreError> {
        engine!(self, engine => Ok(engine.apps(merchant, window).await?))
    }

    /// The lines of a merchant.
    pub async fn lines(self, merchant: Id, window: Window) -> Result<Vec<Line>, StoreError> {
        engine!(self, engine => Ok(engine.lines(merchant, window).await?))
    }

    /// The transactions of a merchant: all, those that succeeded, or the others.
    pub async fn transactions(
        self,
        merchant: Id,
        window: Window,
        successful: Option<bool>,
    ) -> Result<Vec<Transaction>, StoreError> {
        engine!(self, engine => Ok(engine.transactions(merchant, window, successful).await?))
    }

    /// The disputes about a merchant or a transaction.
    pub async fn disputes(self, about: About, window: Window) -> Result<Vec<Dispute>, StoreError> {
        engine!(self, engine => Ok(engine.disputes(about, window).await?))
    }

    /// The suspicions of fraud about a merchant or a transaction.
    pub async fn frauds(self, about: About, window: Window) -> Result<Vec<FraudAlert>, StoreError> {
        engine!(self, engine => Ok(engine.frauds(about, window).await?))
    }

    /// Disputes of test merchants that were due before `until` and are open; some of them, the
    /// oldest.
    pub async fn overdue(&self, until: Timestamp) -> Result<Vec<Overdue>, StoreError> {
        engine!(self, engine => Ok(engine.overdue(until).await?))
    }

    /// Transactions made before `until` that still hold money; some of them, the oldest.
    pub async fn expired(&self, until: Timestamp) -> Result<Vec<Id>, StoreError> {
        engine!(self, engine => Ok(engine.expired(until).await?))
    }

    /// Payments that went to the acquirer before `until` and have not come back; some of them, the
    /// oldest. Those whose customer is challenged wait as long as that may take.
    pub async fn unanswered(
        &self,
        until: Timestamp,
        now: Timestamp,
    ) -> Result<Vec<Id>, StoreError> {
        engine!(self, engine => Ok(engine.unanswered(until, now).await?))
    }

    /// What the customer of a payment is asked, if they are being asked.
    pub async fn challenge(&self, operation: Id) -> Result<Option<Challenge>, StoreError> {
        engine!(self, engine => Ok(engine.challenge(operation).await?))
    }

    /// Invitations that are to be sent at `now`; some of them, those that have waited the longest.
    pub async fn due_invitations(&self, now: Timestamp) -> Result<Vec<Id>, StoreError> {
        engine!(self, engine => Ok(engine.due_invitations(now).await?))
    }

    /// How much waits for somebody else.
    pub async fn backlog(&self) -> Result<Backlog, StoreError> {
        engine!(self, engine => Ok(engine.backlog().await?))
    }

    /// Instructions that no acquirer has confirmed; some of them, the oldest.
    pub async fn instructions(&self) -> Result<Vec<Instruction>, StoreError> {
        engine!(self, engine => Ok(engine.instructions().await?))
    }
}
