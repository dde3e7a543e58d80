//! The engine for many processes: a PostgreSQL database that any number of replicas share.

use std::{
    array,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use common::postgres::{Asked, Database, Error, Health, OpenError, Sessions, ask};
use jiff::Timestamp;
use quick_cache::sync::Cache;
use tokio::sync::Semaphore;
use tokio_postgres::Row;
use tokio_util::task::TaskTracker;

use super::{
    Backlog, DatabaseConfig, Figures, Found, Keyed, Known, Outcome, Overdue, PayoutError, Refusal,
    StoreError, Tell, Write,
};
use crate::domain::{
    App, Challenge, Dispute, FraudAlert, Id, Instruction, KeyDigest, Line, Merchant, Original,
    Reservation, SavedCard, Transaction,
};

mod check;
mod column;
mod invitations;
mod lists;
mod payouts;
mod read;
mod unit;
mod write;

pub(super) use check::check;
pub(super) use payouts::pay_out;

use column::{CARD, millis};
use read::{all, first, found};
use write::{Job, QUEUES};

/// Apps kept in memory, so that a request does not ask for its own. Apps never change.
const APP_CACHE: usize = 100_000;

/// What a job takes up at once.
const JOB_BATCH: i64 = 1000;

mod migrations {
    refinery::embed_migrations!("migrations/postgres");
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
    health: Health,
}

impl Postgres {
    pub(super) async fn open(config: &DatabaseConfig, tell: Tell) -> Result<Self, OpenError> {
        let database = Database::of(config)?;
        database.migrate(migrations::migrations::runner()).await?;
        Ok(Self {
            sessions: Sessions::new(&database, config.connections, "")?,
            apps: Cache::new(APP_CACHE),
            settled: Mutex::new(Id::FIRST),
            writing: TaskTracker::new(),
            queues: array::from_fn(|_| Semaphore::new(1)),
            commits: AtomicU64::new(0),
            tell,
            health: Health::watch(database),
        })
    }

    pub(super) fn is_up(&self) -> bool {
        self.health.is_up()
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

    pub(super) async fn dispute(&self, id: Id, app: Id) -> Result<Option<Found<Dispute>>, Error> {
        let sql = format!(
            "SELECT {}, {} FROM disputes WHERE id = $1",
            read::DISPUTE,
            is_member("disputes.merchant")
        );
        let [rows] = self.ask([(&sql, &[&id, &app])]).await?;
        first(&rows, found(read::dispute))
    }

    pub(super) async fn fraud(&self, id: Id, app: Id) -> Result<Option<Found<FraudAlert>>, Error> {
        let sql = format!(
            "SELECT {}, {} FROM frauds WHERE id = $1",
            read::FRAUD,
            is_member("frauds.merchant")
        );
        let [rows] = self.ask([(&sql, &[&id, &app])]).await?;
        first(&rows, found(read::fraud))
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

    /// Two replicas may both find one: the second finds it decided.
    pub(super) async fn overdue(&self, until: Timestamp) -> Result<Vec<Overdue>, Error> {
        let sql = "SELECT disputes.id, \"transaction\", disputes.reference
                   FROM disputes JOIN transactions ON transactions.id = \"transaction\"
                   WHERE decision IS NULL AND due < $1 AND test ORDER BY due LIMIT $2";
        let [rows] = self.ask([(sql, &[&column::millis(until), &JOB_BATCH])]).await?;
        all(&rows, read::overdue)
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

    pub(super) async fn backlog(&self) -> Result<Backlog, Error> {
        let sql = "SELECT (SELECT count(*) FROM invitations), (SELECT count(*) FROM instructions),
                       (SELECT count(*) FROM operations)";
        let [rows] = self.ask([(sql, &[])]).await?;
        let backlog = first(&rows, |columns| {
            let (invitations, instructions) = (columns.next()?, columns.next()?);
            Ok(Backlog { invitations, instructions, operations: columns.next()? })
        });
        backlog?.ok_or(Error::NoRow)
    }

    /// Takes them up: for a while, nobody else gets them.
    pub(super) async fn instructions(&self) -> Result<Vec<Instruction>, Error> {
        let sql = "WITH free AS (
                       SELECT id FROM instructions
                       WHERE taken IS NULL OR taken < clock_timestamp() - interval '30 seconds'
                       ORDER BY id LIMIT $1 FOR UPDATE SKIP LOCKED
                   )
                   UPDATE instructions SET taken = clock_timestamp() FROM free, transactions
                   WHERE instructions.id = free.id AND transactions.id = \"transaction\"
                   RETURNING instructions.id, transactions.id, operation, reference, movement,
                       instructions.amount, movement = 'capture' AND step = (
                           SELECT min(step) FROM captures WHERE \"transaction\" = transactions.id
                       )";
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

impl From<Error> for PayoutError {
    fn from(error: Error) -> Self {
        Self::NotBooked(error.into())
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
