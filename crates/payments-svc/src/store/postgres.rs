//! The PostgreSQL engine: any number of replicas share one database.

use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use common::{
    batch::Runner,
    files::Files,
    outage::Outage,
    postgres::{
        Base, CoalesceError, Coalesced, Database, Error, OpenError, Pool, Statement, query_all,
    },
    sql::{ColumnError, Columns, Param, Stored as _},
};
use jiff::Timestamp;
use tokio::time::{Duration, Instant, sleep};
use tokio_postgres::{Row, types::ToSql};
use uuid::Uuid;

use super::{
    DatabaseConfig, Found, Select, StoreError,
    batch::LIMITS,
    snapshot::{SHORT_TRAIL, Snapshot, SnapshotRequest, SnapshotRows, statements},
    sqlite::RowCallback,
};

mod batch;
mod check;
mod reconcile;

pub(super) use batch::SHARDS;
pub(super) use check::{check, findings};
pub(super) use reconcile::operations;

use batch::Writer;
use payments_domain::Id;

/// The maximum number of coalesced reads ([`Postgres::snapshot`]) that run at once.
const READERS: usize = 2;

/// How long a page waits for the database transactions that were open at its request. These
/// normally take milliseconds. If one hangs, the page ends at the last ID that was known to be
/// settled.
const SETTLE: Duration = Duration::from_secs(1);

/// Intervals between two checks whether these transactions have ended. Each is twice as long as the
/// one before, up to the last.
const FIRST_POLL: Duration = Duration::from_millis(1);
const LAST_POLL: Duration = Duration::from_millis(50);

/// Why the newest rows are not shown.
#[derive(Debug, thiserror::Error)]
#[error("a transaction of the database server is open since before {0}: newer rows wait")]
struct Unsettled(Id);

/// An ID, and a transaction number (`xid`). Once all database transactions up to this number have
/// ended, none can add a row with this ID or a smaller one: a later database transaction draws a
/// greater ID. The migration that creates the function `settling` gives the proof.
const SETTLING: &str = "SELECT id, xid::text FROM settling()";
const HAS_SETTLED: &str = "SELECT $1::text::xid8 < pg_snapshot_xmin(pg_current_snapshot())";

const CLOCK: &str = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint";

/// Takes or extends a lease for ten seconds. Returns a row if `$2` holds it.
const LEASE: &str = "INSERT INTO leases VALUES ($1, $2, clock_timestamp() + interval '10 seconds')
     ON CONFLICT (job) DO UPDATE SET holder = excluded.holder, until = excluded.until
     WHERE leases.holder = excluded.holder OR leases.until < clock_timestamp()
     RETURNING true";

/// Ends the leases of a process that stops, so that other processes take them at once.
const END_LEASES: &str = "DELETE FROM leases WHERE holder = $1";

/// Extends the enabled webhooks of `$1` that it holds for less than seven seconds, to ten. Takes
/// others that no process holds, so that it has at most `$2`. Rows that a batch has locked are left
/// for the next time: waiting for them could deadlock.
const TAKE_WEBHOOKS: &str = "UPDATE webhook_progress
     SET generation = generation + (holder IS DISTINCT FROM $1)::int,
         epoch = epoch + (holder IS DISTINCT FROM $1)::int, holder = $1,
         until = clock_timestamp() + interval '10 seconds'
     WHERE webhook IN (
         SELECT webhook FROM webhook_progress JOIN webhooks ON id = webhook
         WHERE disabled IS NULL AND (until IS NULL
             OR until < clock_timestamp() + CASE holder WHEN $1 THEN interval '7 seconds'
                 ELSE interval '0' END)
         ORDER BY holder IS DISTINCT FROM $1, webhook
         LIMIT greatest(0, $2 - (
             SELECT count(*) FROM webhook_progress JOIN webhooks ON id = webhook
             WHERE disabled IS NULL AND holder = $1
                 AND until >= clock_timestamp() + interval '7 seconds'))
         FOR UPDATE OF webhook_progress SKIP LOCKED
     )";

/// Ends these leases, as [`END_LEASES`].
const RELEASE_WEBHOOKS: &str = "UPDATE webhook_progress SET holder = NULL, until = NULL
     WHERE webhook IN (SELECT webhook FROM webhook_progress WHERE holder = $1
                       ORDER BY webhook FOR UPDATE SKIP LOCKED)";

/// The statements of [`Postgres::snapshot`]. Without `OFFSET 0`, the planner may read the whole
/// table `trail`, if its statistics are from a time when the table was small.
static SNAPSHOT_SQL: LazyLock<[String; 3]> = LazyLock::new(|| {
    statements([
        "unnest($1::bytea[], $2::bytea[]) WITH ORDINALITY AS asked (id, caller, question)",
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

pub(crate) struct Postgres {
    database: Database,
    pub(super) base: Base<Writer>,
    /// Combines the reads before movements, because many requests arrive at the same time.
    snapshot: Coalesced<SnapshotRequest, Option<Found<Snapshot>>>,
    /// This process's name as a lease holder.
    holder: String,
    /// [`Self::timeline_changes`], and the greatest ID that is known to be settled since the last
    /// change; see [`Self::settle`].
    settled: Mutex<(u64, Id)>,
    settling: Outage,
}

impl Postgres {
    pub(super) async fn open(
        config: &DatabaseConfig,
        files: &mut Files,
    ) -> Result<Self, OpenError> {
        let database = Database::following(config, files)?;
        migrate(&database).await?;
        let batches = Pool::new(&database, LIMITS.batches, batch::SETTINGS)?;
        let pool = Arc::new(Pool::new(&database, config.connections, batch::SETTINGS)?);
        let reading = Arc::clone(&pool);
        let read = move |questions| snapshot(Arc::clone(&reading), questions);
        Ok(Self {
            base: Base::start(Writer::new(batches), Runner::run, database.clone(), pool),
            snapshot: Coalesced::new(READERS, read),
            holder: Uuid::new_v4().to_string(),
            settled: Mutex::new((0, Id::MIN)),
            settling: Outage::of("waiting for open transactions of the database server"),
            database,
        })
    }

    pub(super) fn timeline_changes(&self) -> u64 {
        self.database.timeline_changes()
    }

    pub(super) async fn close(&self) {
        self.base.end_writer().await;
        let holder = [self.holder.param()];
        // If this fails, the leases expire after ten seconds.
        let ends = [(END_LEASES, &holder[..]), (RELEASE_WEBHOOKS, &holder[..])];
        let _ = self.read(&ends, &mut |_, _| Ok(())).await;
        self.base.pool.close();
    }

    /// The time of the database.
    pub(super) async fn database_time(&self) -> Result<Timestamp, Error> {
        let mut now = None;
        self.read(&[(CLOCK, &[])], &mut |_, columns| {
            now = Some(columns.read_as(Timestamp::from_millisecond)?);
            Ok(())
        })
        .await?;
        now.ok_or(Error::NoRow)
    }

    /// Takes or extends the lease of a job for ten seconds. Returns whether this process holds it.
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

    /// Takes webhooks for ten seconds, and extends those that this process holds: at most `limit`.
    pub(super) async fn take_webhooks(&self, limit: i64) -> Result<(), Error> {
        let params = [self.holder.param(), Param::Int(limit)];
        self.read(&[(TAKE_WEBHOOKS, &params)], &mut |_, _| Ok(())).await
    }

    /// This process's name as a holder of leases.
    pub(super) fn holder(&self) -> &str {
        &self.holder
    }

    /// Sends the statements in one round trip, and passes every row to `each`.
    pub(super) async fn read(
        &self,
        selects: &[Select<'_>],
        each: &mut RowCallback<'_>,
    ) -> Result<(), Error> {
        let params: Vec<Vec<&(dyn ToSql + Sync)>> =
            selects.iter().map(|(_, params)| to_sql(params)).collect();
        let statements: Vec<Statement<'_>> =
            selects.iter().zip(&params).map(|((sql, _), params)| (*sql, &**params)).collect();
        let results =
            self.base.pool.acquire(async |session| query_all(session, &statements).await).await?;
        Ok(read_rows(&results, each)?)
    }

    /// Reads a transaction before a movement, together with the reads of other requests.
    pub(super) async fn snapshot(
        &self,
        question: SnapshotRequest,
    ) -> Result<Option<Found<Snapshot>>, StoreError> {
        Ok(self.snapshot.query(question).await?)
    }

    /// Waits until an ID is settled, and returns it: no database transaction, open or future, adds
    /// a row with an ID up to it. After [`SETTLE`], returns the last ID that was settled before.
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
        let mut poll = FIRST_POLL;
        loop {
            let mut has_settled = false;
            self.read(&[(HAS_SETTLED, &xid)], &mut |_, columns| {
                has_settled = columns.read()?;
                Ok(())
            })
            .await?;
            {
                let mut settled = self.settled.lock().unwrap_or_else(PoisonError::into_inner);
                let (changes, newest) = &mut *settled;
                // A server whose clock is behind may add rows below an ID of another timeline.
                if *changes != self.timeline_changes() {
                    (*changes, *newest) = (self.timeline_changes(), Id::MIN);
                }
                if has_settled {
                    *newest = id.max(*newest);
                    self.settling.succeeded();
                    return Ok(id);
                }
                if Instant::now() > deadline {
                    self.settling.failed(Unsettled(id));
                    return Ok(*newest);
                }
            }
            sleep(poll).await;
            poll = (poll * 2).min(LAST_POLL);
        }
    }
}

/// Runs the missing migrations.
pub(super) async fn migrate(database: &Database) -> Result<(), OpenError> {
    database.migrate(migrations::migrations::runner()).await
}

/// Reads the snapshots of these requests in one round trip, in their order.
async fn snapshot(
    pool: Arc<Pool>,
    questions: Arc<Vec<SnapshotRequest>>,
) -> Result<Vec<Option<Found<Snapshot>>>, Error> {
    let transactions: Vec<Param<'_>> =
        questions.iter().map(|question| question.transaction.param()).collect();
    let apps: Vec<Param<'_>> = questions.iter().map(|question| question.app.param()).collect();
    let callers: Vec<Param<'_>> =
        questions.iter().map(|question| question.caller.param()).collect();
    let keys: Vec<Param<'_>> = questions.iter().map(|question| question.key.param()).collect();
    let [transactions_sql, trails_sql, keys_sql] = &*SNAPSHOT_SQL;
    let params: [&(dyn ToSql + Sync); 2] = [&transactions, &callers];
    let key_params: [&(dyn ToSql + Sync); 2] = [&apps, &keys];
    let mut statements: Vec<Statement<'_>> =
        vec![(transactions_sql, &params), (trails_sql, &params[..1])];
    if questions.iter().any(|question| question.key.is_some()) {
        statements.push((keys_sql, &key_params));
    }
    let results = pool.acquire(async |session| query_all(session, &statements).await).await?;
    let mut answers = SnapshotRows::to(questions.len());
    read_rows(&results, &mut |statement, columns| answers.read(statement, columns))?;
    Ok(answers.finished())
}

/// The parameters, in the form that the client library takes.
fn to_sql<'a>(params: &'a [Param<'_>]) -> Vec<&'a (dyn ToSql + Sync)> {
    params.iter().map(|param| param as _).collect()
}

/// Passes every row to `each`, with the index of its statement.
fn read_rows(results: &[Vec<Row>], each: &mut RowCallback<'_>) -> Result<(), ColumnError> {
    for (statement, rows) in results.iter().enumerate() {
        for row in rows {
            each(statement, &mut Columns::from(row))?;
        }
    }
    Ok(())
}

impl From<Error> for StoreError {
    fn from(error: Error) -> Self {
        CoalesceError::from(Arc::new(error)).into()
    }
}

impl From<CoalesceError> for StoreError {
    fn from(error: CoalesceError) -> Self {
        match error {
            CoalesceError::Overloaded => Self::Overloaded,
            CoalesceError::Failed(error) if error.is_overload() => Self::Overloaded,
            CoalesceError::Failed(error) if error.is_locked() => Self::Busy,
            CoalesceError::Failed(error) => Self::ReadFailed(error.into()),
            CoalesceError::Panicked => Self::Panicked,
        }
    }
}
