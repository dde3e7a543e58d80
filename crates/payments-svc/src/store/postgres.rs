//! The engine for many processes: a PostgreSQL database that any number of replicas share.

use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use common::{
    batch::Queue,
    postgres::{
        Asked as AskedOf, CoalesceError, Coalesced, Database, Error, Health, OpenError, Pool,
        ask_all,
    },
    sql::{ColumnError, Columns, Param, Stored as _},
};
use jiff::Timestamp;
use tokio::time::{Duration, Instant, sleep};
use tokio_postgres::{Row, types::ToSql};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{
    Asked, DatabaseConfig, Found, PayoutError, StoreError,
    batch::LIMITS,
    seen::{Answers, Question, SHORT_TRAIL, Seen, statements},
    sqlite::Each,
};
use crate::domain::Id;

mod batch;
mod check;
mod payouts;

pub(super) use check::check;
pub(super) use payouts::pay_out;

use batch::Writer;

/// How many times at once transactions are read before they are moved.
const READERS: usize = 2;

/// How long a page waits for the transactions that were under way when it was asked for. They
/// take milliseconds, unless somebody is stuck: then the page ends with what was settled before.
const SETTLE: Duration = Duration::from_secs(1);

/// How often it looks.
const SETTLE_POLL: Duration = Duration::from_millis(1);

/// The migration of the function `settling` says what these are.
const SETTLING: &str = "SELECT id, xid::text FROM settling()";
const HAS_SETTLED: &str = "SELECT $1::text::xid8 < pg_snapshot_xmin(pg_current_snapshot())";

const CLOCK: &str = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint";

/// Takes or keeps a lease of ten seconds.
const LEASE: &str = "INSERT INTO leases VALUES ($1, $2, clock_timestamp() + interval '10 seconds')
     ON CONFLICT (job) DO UPDATE SET holder = excluded.holder, until = excluded.until
     WHERE leases.holder = excluded.holder OR leases.until < clock_timestamp()
     RETURNING true";

/// Ends the leases of a process that stops, so that others need not wait.
const END_LEASES: &str = "DELETE FROM leases WHERE holder = $1";

/// The statements of [`Postgres::seen`]. `OFFSET 0` keeps the database from reading all trails from
/// end to end, which looks cheap to it if it counted their rows while there were few.
static SEEN: LazyLock<[String; 3]> = LazyLock::new(|| {
    statements([
        "unnest($1::bytea[], $2::bytea[]) WITH ORDINALITY AS asked (id, app, question)",
        &format!(
            "unnest($1::bytea[]) WITH ORDINALITY AS asked (id, question), LATERAL (
                 SELECT * FROM trail
                 WHERE trail.\"transaction\" = asked.id AND step < {SHORT_TRAIL}
                     AND (SELECT steps FROM transactions WHERE id = asked.id) <= {SHORT_TRAIL}
                 OFFSET 0
             ) AS trail"
        ),
        "unnest($1::bytea[], $2::text[]) WITH ORDINALITY AS asked (app, key, question)",
    ])
});

mod migrations {
    refinery::embed_migrations!("migrations/postgres");
}

/// The engine for many processes.
pub(crate) struct Postgres {
    pool: Arc<Pool>,
    /// Requests read what they move before they do, most of them at the same time.
    seen: Coalesced<Question, Option<Found<Seen>>>,
    queue: Queue<Writer>,
    /// The name of this process, which holds leases.
    holder: String,
    /// An id such that whatever is ever to come up to it is there.
    settled: Mutex<Id>,
    health: Health,
    /// Cancelled when the writer has ended, however it ended.
    ended: CancellationToken,
}

impl Postgres {
    pub(super) async fn open(config: &DatabaseConfig) -> Result<Self, OpenError> {
        let database = Database::of(config)?;
        database.migrate(migrations::migrations::runner()).await?;
        let batches = Pool::new(&database, LIMITS.batches, batch::SETTINGS)?;
        let (queue, runner) = Queue::new(Writer::new(batches));
        let ended = CancellationToken::new();
        let at_the_end = ended.clone().drop_guard();
        tokio::spawn(async move {
            let _at_the_end = at_the_end;
            runner.run().await;
        });
        let pool = Arc::new(Pool::new(&database, config.connections, batch::SETTINGS)?);
        let reading = Arc::clone(&pool);
        let read = move |questions| seen(Arc::clone(&reading), questions);
        Ok(Self {
            pool,
            seen: Coalesced::new(READERS, read),
            queue,
            holder: Uuid::new_v4().to_string(),
            settled: Mutex::new(Id::FIRST),
            health: Health::watch(database),
            ended,
        })
    }

    pub(super) fn is_up(&self) -> bool {
        self.health.is_up()
    }

    /// A database that is away may come back; a writer does not.
    pub(super) async fn failed(&self) {
        self.ended.cancelled().await;
    }

    pub(super) async fn close(&self) {
        self.queue.stop();
        self.ended.cancelled().await;
        let holder = [self.holder.param()];
        // If this fails, the leases end by themselves.
        let _ = self.read(&[(END_LEASES, &holder)], &mut |_, _| Ok(())).await;
        self.pool.close();
    }

    pub(super) fn queue(&self) -> &Queue<Writer> {
        &self.queue
    }

    /// The time of the database, which replicas compare.
    pub(super) async fn clock(&self) -> Result<Timestamp, Error> {
        let mut now = None;
        self.read(&[(CLOCK, &[])], &mut |_, columns| {
            now = Some(columns.read_as(Timestamp::from_millisecond)?);
            Ok(())
        })
        .await?;
        now.ok_or(Error::NoRow)
    }

    /// Whether this process does a job for the next ten seconds. It has to ask again before they
    /// are over.
    pub(super) async fn lease(&self, job: &str) -> Result<bool, Error> {
        let mut is_holder = false;
        let params = [Param::Text(job.into()), self.holder.param()];
        self.read(&[(LEASE, &params)], &mut |_, _| {
            is_holder = true;
            Ok(())
        })
        .await?;
        Ok(is_holder)
    }

    /// Passes every row of these statements on, which are asked in one round trip.
    pub(super) async fn read(&self, asked: &[Asked<'_>], each: &mut Each<'_>) -> Result<(), Error> {
        let params: Vec<Vec<&(dyn ToSql + Sync)>> =
            asked.iter().map(|(_, it)| params(it)).collect();
        let asked: Vec<AskedOf<'_>> =
            asked.iter().zip(&params).map(|((sql, _), params)| (*sql, &**params)).collect();
        let answers = self.pool.acquire(async |session| ask_all(session, &asked).await).await?;
        Ok(pass_on(&answers, each)?)
    }

    /// Reads a transaction before it is moved.
    pub(super) async fn seen(&self, question: Question) -> Result<Option<Found<Seen>>, StoreError> {
        Ok(self.seen.ask(question).await?)
    }

    /// An id such that whatever is ever to come up to it can be read from now on.
    pub(super) async fn settle(&self) -> Result<Id, Error> {
        let deadline = Instant::now() + SETTLE;
        let mut mark = None;
        self.read(&[(SETTLING, &[])], &mut |_, columns| {
            mark = Some((columns.read::<Id>()?, columns.read::<String>()?));
            Ok(())
        })
        .await?;
        let (id, xid) = mark.ok_or(Error::NoRow)?;
        let xid = [Param::Text(xid.into())];
        loop {
            let mut has_settled = false;
            self.read(&[(HAS_SETTLED, &xid)], &mut |_, columns| {
                has_settled = columns.read()?;
                Ok(())
            })
            .await?;
            {
                let mut settled = self.settled.lock().unwrap_or_else(PoisonError::into_inner);
                if has_settled {
                    *settled = id.max(*settled);
                    return Ok(id);
                }
                if Instant::now() > deadline {
                    return Ok(*settled);
                }
            }
            sleep(SETTLE_POLL).await;
        }
    }
}

/// Answers questions about transactions in one round trip.
async fn seen(
    pool: Arc<Pool>,
    questions: Arc<Vec<Question>>,
) -> Result<Vec<Option<Found<Seen>>>, Error> {
    let transactions: Vec<Param<'_>> = questions.iter().map(|it| it.transaction.param()).collect();
    let apps: Vec<Param<'_>> = questions.iter().map(|it| it.app.param()).collect();
    let keys: Vec<Param<'_>> = questions.iter().map(|it| it.key.param()).collect();
    let [first, trails, of_keys] = &*SEEN;
    let about: [&(dyn ToSql + Sync); 2] = [&transactions, &apps];
    let about_keys: [&(dyn ToSql + Sync); 2] = [&apps, &keys];
    let mut asked: Vec<AskedOf<'_>> = vec![(first, &about), (trails, &about[..1])];
    if questions.iter().any(|question| question.key.is_some()) {
        asked.push((of_keys, &about_keys));
    }
    let rows = pool.acquire(async |session| ask_all(session, &asked).await).await?;
    let mut answers = Answers::to(questions.len());
    pass_on(&rows, &mut |statement, columns| answers.read(statement, columns))?;
    Ok(answers.finished())
}

/// Values as the database is handed them.
fn params<'a>(params: &'a [Param<'_>]) -> Vec<&'a (dyn ToSql + Sync)> {
    params.iter().map(|param| param as _).collect()
}

/// Passes rows on, with the number of their statement.
fn pass_on(answers: &[Vec<Row>], each: &mut Each<'_>) -> Result<(), ColumnError> {
    for (number, rows) in answers.iter().enumerate() {
        for row in rows {
            each(number, &mut Columns::from(row))?;
        }
    }
    Ok(())
}

impl From<Error> for StoreError {
    fn from(error: Error) -> Self {
        if error.is_overload() { Self::Overloaded } else { Self::NotRead(error.into()) }
    }
}

impl From<CoalesceError> for StoreError {
    fn from(error: CoalesceError) -> Self {
        match error {
            CoalesceError::Overloaded => Self::Overloaded,
            CoalesceError::Failed(error) if error.is_overload() => Self::Overloaded,
            CoalesceError::Failed(error) => Self::NotRead(error.into()),
            CoalesceError::Panicked => Self::Panicked,
        }
    }
}

impl From<Error> for PayoutError {
    fn from(error: Error) -> Self {
        Self::NotBooked(error.into())
    }
}
