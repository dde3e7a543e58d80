//! The engine for many processes: a PostgreSQL database that any number of replicas share.

use std::{
    array,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use common::tls::TlsError;
use deadpool_postgres::BuildError;
use jiff::Timestamp;
use quick_cache::sync::Cache;
use tokio::{sync::Semaphore, task::JoinSet, time::sleep};
use tokio_postgres::Row;
use tokio_util::task::TaskTracker;

use super::{
    DatabaseConfig, Figures, Found, Keyed, Known, Outcome, Refusal, StoreError, Tell, Write,
};
use crate::domain::{
    App, Challenge, Id, Instruction, KeyDigest, Line, Merchant, Original, Reservation, SavedCard,
    Transaction,
};

mod check;
mod column;
mod database;
mod lists;
mod read;
mod session;
mod unit;
mod write;

pub(super) use check::check;

use column::{CARD, millis};
use database::{Database, reason};
use read::{all, first, found};
use session::{Asked, Error, Sessions, ask};
use write::{Job, QUEUES};

/// Apps kept in memory, so that a request does not ask for its own. Apps never change.
const APP_CACHE: usize = 100_000;

/// How often the database is asked whether it is there.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// What a job takes up at once.
const JOB_BATCH: i64 = 1000;

mod migrations {
    refinery::embed_migrations!("migrations/postgres");
}

/// Why the database could not be used.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The setting is no URL of a database. It is not told, since it may hold a password.
    #[error("PAYMENTS_DATABASE_URL is not usable: {0}")]
    Url(String),
    /// There is no connection to be had.
    #[error("the database of PAYMENTS_DATABASE_URL cannot be reached: {}", reason(.0))]
    Connect(#[from] tokio_postgres::Error),
    /// Connections cannot be secured.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// Sessions cannot be kept.
    #[error(transparent)]
    Sessions(#[from] BuildError),
    /// The database cannot be brought to this version's shape.
    #[error("the database cannot be migrated: {}", reason(.0))]
    Migration(#[from] refinery::Error),
}

/// The engine for many processes.
pub struct Postgres {
    sessions: Sessions,
    apps: Cache<KeyDigest, App>,
    /// An id such that whatever is ever to come up to it is there.
    settled: Mutex<Id>,
    writing: TaskTracker,
    /// Where movements of the same transaction wait for each other.
    queues: [Semaphore; QUEUES],
    commits: AtomicU64,
    tell: Tell,
    is_up: Arc<AtomicBool>,
    _looking: JoinSet<()>,
}

impl Postgres {
    pub(super) async fn open(config: &DatabaseConfig, tell: Tell) -> Result<Self, OpenError> {
        let database = Database::of(config)?;
        migrate(&database).await?;
        let sessions = Sessions::new(&database, config.connections)?;
        let is_up = Arc::new(AtomicBool::new(true));
        let mut looking = JoinSet::new();
        looking.spawn(look(database, Arc::clone(&is_up)));
        Ok(Self {
            sessions,
            apps: Cache::new(APP_CACHE),
            settled: Mutex::new(Id::FIRST),
            writing: TaskTracker::new(),
            queues: array::from_fn(|_| Semaphore::new(1)),
            commits: AtomicU64::new(0),
            tell,
            is_up,
            _looking: looking,
        })
    }

    pub(super) fn is_up(&self) -> bool {
        self.is_up.load(Ordering::Relaxed)
    }

    /// It never does: a database that is away may come back.
    pub(super) async fn failed(&self) {
        std::future::pending().await
    }

    pub(super) async fn close(&self) {
        self.writing.close();
        self.writing.wait().await;
        self.sessions.close();
    }

    /// Each write has a commit of its own, and none waits here.
    pub(super) fn figures(&self) -> Figures {
        let commits = self.commits.load(Ordering::Relaxed);
        Figures { commits, writes: commits, waiting_bytes: 0 }
    }

    /// Goes on when its caller goes away, so that the session is not left in the midst of it.
    pub(super) async fn write(
        self: &Arc<Self>,
        write: Write,
        keyed: Option<Keyed>,
        now: Timestamp,
    ) -> Result<Result<Outcome, Refusal>, StoreError> {
        let engine = Arc::clone(self);
        let job = Job { write, keyed, now };
        let writing = self.writing.spawn(async move { engine.apply(&job).await });
        match writing.await {
            Ok(Err(error)) if error.is_overload() => Err(StoreError::Overloaded),
            Ok(outcome) => outcome.map_err(|error| StoreError::NotWritten(error.into())),
            Err(_) => Err(StoreError::Panicked),
        }
    }

    pub(super) async fn known(&self, keyed: &Keyed) -> Result<Option<Known>, Error> {
        let [rows] = self.ask([(unit::KNOWN, &[&keyed.app, &keyed.key])]).await?;
        first(&rows, |columns| unit::known(columns, keyed))
    }

    pub(super) async fn app_by_key(&self, key: KeyDigest) -> Result<Option<App>, Error> {
        if let Some(app) = self.apps.get(&key) {
            return Ok(Some(app));
        }
        let sql = format!("SELECT {} FROM apps WHERE key_digest = $1", read::APP);
        let [rows] = self.ask([(&sql, &[&key.as_bytes().as_slice()])]).await?;
        let app = first(&rows, read::app)?;
        if let Some(app) = &app {
            self.apps.insert(key, app.clone());
        }
        Ok(app)
    }

    pub(super) async fn has_app(&self, id: Id) -> Result<bool, Error> {
        let [rows] = self.ask([("SELECT 1 FROM apps WHERE id = $1", &[&id])]).await?;
        Ok(!rows.is_empty())
    }

    pub(super) async fn merchant(&self, id: Id, app: Id) -> Result<Option<Found<Merchant>>, Error> {
        let sql = format!(
            "SELECT {}, {} FROM merchants WHERE merchants.id = $1",
            read::MERCHANT,
            is_member("merchants.id")
        );
        let [rows] = self.ask([(&sql, &[&id, &app])]).await?;
        first(&rows, found(read::merchant))
    }

    pub(super) async fn transaction(
        &self,
        id: Id,
        app: Id,
    ) -> Result<Option<Found<Transaction>>, Error> {
        let sql = format!(
            "SELECT {}, {} FROM {} WHERE transactions.id = $1",
            read::TRANSACTION,
            is_member("transactions.merchant"),
            read::TRANSACTIONS
        );
        let [rows, trail] = self.ask([(&sql, &[&id, &app]), (&trail(), &[&id])]).await?;
        let Some(Found { thing, is_member }) = first(&rows, found(read::transaction))? else {
            return Ok(None);
        };
        let thing = read::with_trail(thing, &mut read::trails(&trail)?);
        Ok(Some(Found { thing, is_member }))
    }

    pub(super) async fn reservation(
        &self,
        id: Id,
        app: Id,
    ) -> Result<Option<Found<Reservation>>, Error> {
        let sql = format!(
            "SELECT {}, {} FROM transactions JOIN merchants ON merchants.id = merchant
             WHERE transactions.id = $1",
            read::RESERVATION,
            is_member("transactions.merchant")
        );
        let [rows] = self.ask([(&sql, &[&id, &app])]).await?;
        first(&rows, found(read::reservation))
    }

    /// A transaction with the first steps of its trail.
    pub(super) async fn transaction_with(
        &self,
        id: Id,
        steps: u32,
    ) -> Result<Option<Transaction>, Error> {
        let sql = format!(
            "SELECT {} FROM {} WHERE transactions.id = $1",
            read::TRANSACTION,
            read::TRANSACTIONS
        );
        let [rows, trail] = self.ask([(&sql, &[&id]), (&trail(), &[&id])]).await?;
        let Some((thing, _)) = first(&rows, read::transaction)? else { return Ok(None) };
        Ok(Some(read::with_trail((thing, steps), &mut read::trails(&trail)?)))
    }

    pub(super) async fn line(&self, id: Id, app: Id) -> Result<Option<Found<Line>>, Error> {
        let sql = format!(
            "SELECT {}, {} FROM {} WHERE lines.id = $1",
            read::LINE,
            is_member("lines.merchant"),
            read::LINES
        );
        let [rows] = self.ask([(&sql, &[&id, &app])]).await?;
        first(&rows, found(read::line))
    }

    pub(super) async fn card(&self, id: Id, app: Id) -> Result<Option<Found<SavedCard>>, Error> {
        let sql = format!(
            "SELECT id, merchant, created, {CARD}, notes, {} FROM cards WHERE id = $1",
            is_member("cards.merchant")
        );
        let [rows] = self.ask([(&sql, &[&id, &app])]).await?;
        first(&rows, found(read::saved_card))
    }

    pub(super) async fn merchant_by_key(&self, key: &str) -> Result<Option<Merchant>, Error> {
        let sql = format!("SELECT {} FROM merchants WHERE key = $1", read::MERCHANT);
        let [rows] = self.ask([(&sql, &[&key])]).await?;
        first(&rows, read::merchant)
    }

    pub(super) async fn original(&self, merchant: Id, id: Id) -> Result<Option<Original>, Error> {
        let sql = format!(
            "SELECT {CARD}, reference FROM transactions
             WHERE id = $1 AND merchant = $2 AND error IS NULL AND NOT recurring"
        );
        let [rows] = self.ask([(&sql, &[&id, &merchant])]).await?;
        first(&rows, read::known_card)
    }

    pub(super) async fn kept(&self, merchant: Id, id: Id) -> Result<Option<Original>, Error> {
        let sql = format!("SELECT {CARD}, reference FROM cards WHERE id = $1 AND merchant = $2");
        let [rows] = self.ask([(&sql, &[&id, &merchant])]).await?;
        first(&rows, read::known_card)
    }

    /// Transactions that somebody is at are left out.
    pub(super) async fn expired(&self, until: Timestamp) -> Result<Vec<Id>, Error> {
        let sql = "SELECT id FROM transactions
                   WHERE error IS NULL AND captured + voided < amount AND id < $1
                   ORDER BY id LIMIT $2 FOR UPDATE SKIP LOCKED";
        let [rows] = self.ask([(sql, &[&Id::at(until), &JOB_BATCH])]).await?;
        all(&rows, |columns| columns.next())
    }

    /// Payments that somebody is at are left out.
    pub(super) async fn unanswered(
        &self,
        until: Timestamp,
        now: Timestamp,
    ) -> Result<Vec<Id>, Error> {
        let sql = "SELECT id FROM operations WHERE id < $1 AND coalesce(challenge_until, 0) <= $2
                   ORDER BY id LIMIT $3 FOR UPDATE SKIP LOCKED";
        let [rows] = self.ask([(sql, &[&Id::at(until), &millis(now), &JOB_BATCH])]).await?;
        all(&rows, |columns| columns.next())
    }

    pub(super) async fn challenge(&self, operation: Id) -> Result<Option<Challenge>, Error> {
        let sql = format!(
            "SELECT {CARD}, challenge, challenge_until FROM operations
             WHERE id = $1 AND challenge IS NOT NULL"
        );
        let [rows] = self.ask([(&sql, &[&operation])]).await?;
        first(&rows, read::challenge)
    }

    /// Takes them up: for a while, nobody else gets them.
    pub(super) async fn instructions(&self) -> Result<Vec<Instruction>, Error> {
        let sql = "WITH free AS (
                       SELECT id FROM instructions
                       WHERE taken IS NULL OR taken < clock_timestamp() - interval '30 seconds'
                       ORDER BY id LIMIT $1 FOR UPDATE SKIP LOCKED
                   )
                   UPDATE instructions SET taken = clock_timestamp() FROM free
                   WHERE instructions.id = free.id
                   RETURNING instructions.id, payment, movement, amount";
        let [rows] = self.ask([(sql, &[&JOB_BATCH])]).await?;
        let mut instructions = all(&rows, read::instruction)?;
        instructions.sort_by_key(|instruction| instruction.id);
        Ok(instructions)
    }

    /// Asks for all of this on one session.
    async fn ask<const N: usize>(&self, asked: [Asked<'_>; N]) -> Result<[Vec<Row>; N], Error> {
        self.sessions.lend(async |session| ask(session, asked).await).await
    }
}

impl From<Error> for StoreError {
    fn from(error: Error) -> Self {
        if error.is_overload() { Self::Overloaded } else { Self::NotRead(error.into()) }
    }
}

/// A column that says whether the app `$2` is one of a merchant's.
fn is_member(merchant: &str) -> String {
    format!("EXISTS (SELECT 1 FROM merchant_apps WHERE merchant = {merchant} AND app = $2)")
}

/// The trail of the transaction `$1`.
fn trail() -> String {
    format!("SELECT {} FROM trail WHERE \"transaction\" = $1 ORDER BY step", read::STEP)
}

/// Brings the database to this version's shape. Replicas that start at the same time take turns.
async fn migrate(database: &Database) -> Result<(), OpenError> {
    let mut session = database.connect().await?;
    session.batch_execute("SELECT pg_advisory_lock(hashtext('payments-svc migrations'))").await?;
    migrations::migrations::runner().run_async(&mut *session).await?;
    Ok(())
}

/// Notes again and again whether the database answers, on a session of its own: those of the others
/// may all be in use.
async fn look(database: Database, is_up: Arc<AtomicBool>) {
    loop {
        if let Ok(session) = database.connect().await {
            while session::answers(&session).await {
                is_up.store(true, Ordering::Relaxed);
                sleep(LOOK_EVERY).await;
            }
        }
        is_up.store(false, Ordering::Relaxed);
        sleep(LOOK_EVERY).await;
    }
}
