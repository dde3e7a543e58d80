//! A batch of writes in PostgreSQL: one round trip loads and locks rows, a second one writes and
//! commits.
//!
//! The locks, in the order in which a batch takes them:
//!
//! 1. Rows of merchants, pending payments, mails, transactions, apps (with their API keys and
//!    webhooks), and users (with all that they sign in with), in this order ([`LOCKED`]): `FOR UPDATE … SKIP LOCKED`.
//! 2. One free row of the balance of each merchant, of its [`SHARDS`] rows: `SKIP LOCKED`, too.
//! 3. For a payout only: the row of the open run, then all rows of the balance, in order. The
//!    command waits for these locks. A payout is alone in its batch, so it holds no other balance.
//! 4. The progress of the webhooks of these apps. Another process that takes or releases webhooks
//!    locks it, too, for one statement that waits for no lock.
//! 5. While it writes: rows that it deletes or updates without such a lock, and entries of unique
//!    indexes. `BatchRows` has the order.
//!
//! The reasons:
//!
//! 1. The load of a service waits for no lock of another batch. A row that another process holds
//!    postpones only the writes that need it. So batches cannot deadlock, and a process that hangs
//!    delays no other writes.
//! 2. A batch waits only while it writes, in an order that all batches share. So they cannot
//!    deadlock there, either.
//! 3. `SKIP LOCKED` hides locked rows, as if they did not exist. For rows that were not found,
//!    `locked` reads again without a lock: a row that this second read finds is locked by another
//!    process.
//! 4. A balance of one row would let only one batch at a time book for a merchant. With several
//!    rows, a batch takes any free one.
//! 5. Idempotency keys have no lock. They are read after the locks and inserted last. If two
//!    processes insert the same key, the second insert violates the unique index, and its batch
//!    runs again.
//!
//! Inside one process, running batches never need the same row of [`LOCKED`]: see `lock_keys` in
//! `store/batch.rs`.

use std::{
    collections::{BTreeSet, HashSet},
    sync::LazyLock,
};

use common::{
    batch::{Cost, Decided, Engine, Failure, Limits, Loaded, Panicked},
    postgres::{Error, Pool, Statement, Transaction},
    sql::{Columns, Group, Kind, Param, PostgresRows, Stored as _, key_column},
};
use jiff::Timestamp;
use payments_domain::{
    Id, PayoutRequest,
    write::{Changes, LoadedRows, Needs, PayoutState, RowKeys, Write},
};
use tokio_postgres::{Row, types::ToSql};

use super::super::{
    batch::{self, WriteResult},
    day_totals::captured_since,
    load::{EMAIL, LOCKED, Query, READ},
    rows,
};

/// Settings of the database connections of a service, after those of `common`. An index serves
/// every statement. These settings force the planner to use it, even without statistics, and to
/// plan each statement only once.
pub(super) const SETTINGS: &str = "SET plan_cache_mode = force_generic_plan;
     SET enable_seqscan = off; SET enable_bitmapscan = off;
     SET enable_hashjoin = off; SET enable_mergejoin = off; SET jit = off";

/// The number of rows of each merchant's balance.
pub(in super::super) const SHARDS: i64 = 16;

/// Locks one free row of the balance of each merchant. No index has `test`, which is the same for
/// all transactions of a merchant. With `merchant` alone, PostgreSQL may read a whole index.
static BALANCES: LazyLock<String> = LazyLock::new(|| {
    free_rows("(SELECT DISTINCT merchant, test FROM transactions WHERE id = ANY($1)) AS held")
});

/// Like [`BALANCES`], by the IDs of the merchants.
static BALANCES_OF: LazyLock<String> =
    LazyLock::new(|| free_rows("unnest($1::bytea[]) AS held (merchant)"));

fn free_rows(held: &str) -> String {
    format!(
        "SELECT held.merchant, free.shard, free.balance FROM {held},
         LATERAL (SELECT shard, balance FROM balances WHERE balances.merchant = held.merchant
             ORDER BY shard LIMIT 1 FOR UPDATE SKIP LOCKED) AS free"
    )
}

/// Locks all rows of the balance of a merchant, for a payout. Waits for other batches.
const WHOLE_BALANCE: &str = "SELECT merchant, shard, balance FROM balances WHERE merchant = $1
     ORDER BY shard FOR UPDATE";

/// Locks the row of an open run. The statement that closes the run waits for this lock.
const OPEN_RUN: &str = "SELECT 1 FROM payout_runs
     WHERE day = $1 AND test = $2 AND format = $3 AND NOT closed FOR SHARE";

/// What the captures of a merchant in the last `$2` milliseconds have added to its balance. The rows
/// of the balance must be locked, so that no capture is committed in the meantime. The second of an ID
/// can be some seconds older than the line (`new_ids`), so the first ID is an hour earlier.
static HELD: LazyLock<String> = LazyLock::new(|| {
    let since = "(SELECT created FROM start)";
    let first = format!("id_of(greatest({since} / 1000 - 3600, 0), 0)");
    format!(
        "WITH start AS MATERIALIZED (
             SELECT greatest((extract(epoch FROM clock_timestamp()) * 1000)::bigint - $2, 0) AS created
         )
         SELECT {since}, ({})",
        captured_since(&first, since)
    )
});

const NEW_IDS: &str = "SELECT ids, clock FROM new_ids($1)";

/// The statements that load a batch, in their order.
static QUERIES: LazyLock<Vec<(String, &'static Query)>> = LazyLock::new(|| {
    let locked = LOCKED.iter().map(|query| (sql(query, "SKIP LOCKED"), query));
    let read = READ.iter().chain(RowKeys::QUERIES);
    locked.chain(read.map(|query| (sql(query, ""), query))).collect()
});

fn sql(query: &Query, wait: &str) -> String {
    let lock = query.lock.map(|table| {
        let Some((id, _)) = query.key.first() else { return String::new() };
        format!("ORDER BY {id} FOR UPDATE OF {table} {wait}")
    });
    let (select, rest, lock) = ((query.select)(), query.rest, lock.unwrap_or_default());
    let column = |column| match column {
        EMAIL => "lower(users.email COLLATE \"C\")".to_owned(),
        column => key_column(column),
    };
    let array = |kind| match kind {
        Kind::Bool => "boolean[]",
        Kind::Int => "bigint[]",
        Kind::Text => "text[]",
        Kind::Bytes | Kind::Uuid => "bytea[]",
    };
    if let [(first, kind)] = *query.key {
        return format!(
            "{select} WHERE {} = ANY($1::{}) {rest} {lock}",
            column(first),
            array(kind)
        );
    }
    let [mut arrays, mut names, mut conditions] = [const { Vec::new() }; 3];
    for (number, (name, kind)) in (1..).zip(query.key) {
        arrays.push(format!("${number}::{}", array(*kind)));
        names.push(format!("key{number}"));
        conditions.push(format!("{} = asked.key{number}", column(name)));
    }
    format!(
        "{select} JOIN unnest({}) AS asked ({}) ON {} {} {lock}",
        arrays.join(", "),
        names.join(", "),
        conditions.join(" AND "),
        rest.replacen("AND", "WHERE", usize::from(rest.starts_with("AND"))),
    )
}

pub(in super::super) struct Writer(Pool);

impl Writer {
    pub(super) fn new(pool: Pool) -> Self {
        Self(pool)
    }
}

impl Engine for Writer {
    const LIMITS: Limits = batch::LIMITS;
    type Write = Write;
    type Answer = WriteResult;
    type LoadedRows = LoadedRows;
    type Changes = Changes;
    type Open<'e> = Transaction;

    fn cost(write: &Write) -> Cost {
        batch::cost(write)
    }

    fn lock_keys(write: &Write, lock_keys: &mut Vec<u64>) {
        batch::lock_keys(write, lock_keys);
    }

    async fn load(&self, batch: &[&Write]) -> Result<Loaded<Transaction, LoadedRows>, Failure> {
        let mut open = self.0.transaction().await?;
        let (known, locked) = load(&mut open, batch).await?;
        Ok(Loaded { open, known, locked })
    }

    fn decide(
        &self,
        known: LoadedRows,
        batch: &[&Write],
    ) -> Result<Decided<WriteResult, Changes>, Panicked> {
        batch::decide(known, batch)
    }

    async fn write(
        &self,
        open: Transaction,
        decided: Decided<WriteResult, Changes>,
    ) -> Result<Vec<WriteResult>, Failure> {
        if !decided.changes.is_empty() {
            batch::verify(&decided.changes)?;
            write(open, &decided.changes).await?;
        }
        Ok(decided.answers)
    }

    fn locked(&self) {
        self.0.report_lock();
    }
}

/// Locks and reads the rows that the writes need. Also returns the indexes of the writes that must
/// wait, because another process has locked one of their rows.
pub(super) async fn load(
    open: &mut Transaction,
    batch: &[&Write],
) -> Result<(LoadedRows, Vec<usize>), Error> {
    let needs = Needs::of(batch.iter().copied());
    let payout = needs.payout.as_ref().map(rows::payout_params);
    let (mut held_since, mut held) = (None, 0);
    let transactions: Vec<Param<'_>> = needs.transactions.keys().map(Id::param).collect();
    let count = batch.iter().map(|write| write.action.ids()).sum::<usize>();
    let count = i64::try_from(count).unwrap_or(i64::MAX);

    let mut plan = Plan::default();
    for (sql, query) in &QUERIES[..LOCKED.len()] {
        plan.keys(sql, query, &needs, Target::Locked(query));
    }
    plan.arrays(&BALANCES, vec![transactions], Vec::new(), Target::Balances);
    let merchants: Vec<Param<'_>> = needs.balances.iter().map(Id::param).collect();
    plan.arrays(&BALANCES_OF, vec![merchants], Vec::new(), Target::Balances);
    if let (Some(request), Some([day, test, format, merchant])) = (&needs.payout, &payout) {
        plan.values(OPEN_RUN, [day, test, format].map(Clone::clone), Target::OpenRun);
        plan.values(WHOLE_BALANCE, [merchant.clone()], Target::Balances);
        if !request.delay.is_zero() {
            let delay = i64::try_from(request.delay.as_millis()).unwrap_or(i64::MAX);
            plan.values(&HELD, [merchant.clone(), Param::Int(delay)], Target::Held);
        }
        plan.values(
            &rows::PAYOUT_STATE,
            [day, test, format, merchant].map(Clone::clone),
            Target::Payout,
        );
    }
    for (sql, query) in &QUERIES[LOCKED.len()..] {
        plan.keys(sql, query, &needs, Target::Rows(query));
    }
    plan.values(NEW_IDS, [Param::Int(count)], Target::IdGenerator);

    let results = plan.send(open).await?;
    let (ids, now) = new_ids(results.last().and_then(|rows| rows.first()))?;
    let mut known = LoadedRows::new(now, ids, SHARDS);
    let mut is_open_run = false;
    let mut found = BTreeSet::new();
    for (target, rows) in plan.0.iter().map(|(_, _, target)| target).zip(&results) {
        for row in rows {
            let columns = &mut Columns::from(row);
            match target {
                Target::Locked(query) => {
                    found.insert(Columns::from(row).read::<Id>()?.param().owned());
                    (query.read)(&mut known, columns)?;
                }
                Target::Rows(query) => (query.read)(&mut known, columns)?,
                Target::Balances => known.rows.balances.load(Group::read(columns)?),
                Target::OpenRun => is_open_run = true,
                Target::Held => (held_since, held) = (columns.read()?, columns.read()?),
                Target::Payout => {
                    let Some(PayoutRequest { run, .. }) = needs.payout else { continue };
                    let (merchant, is_done) = rows::payout_state(columns)?;
                    let is_done = is_done || !is_open_run;
                    known.payout = Some(PayoutState { run, merchant, held, held_since, is_done });
                }
                Target::IdGenerator => {}
            }
        }
    }
    let locked = locked(open, batch, &needs, &known, &found).await?;
    Ok((known, locked))
}

/// The parameters of a statement: values, or an array for each column.
type Params<'a> = Vec<Box<dyn ToSql + Sync + Send + 'a>>;

/// The destination of the rows of a statement.
enum Target {
    /// Rows of [`LOCKED`]. The first column is the ID.
    Locked(&'static Query),
    Rows(&'static Query),
    Balances,
    OpenRun,
    Held,
    Payout,
    IdGenerator,
}

/// The statements of one round trip.
#[derive(Default)]
struct Plan<'a>(Vec<(&'a str, Params<'a>, Target)>);

impl<'a> Plan<'a> {
    /// Adds a statement that finds rows by key, unless there are no keys.
    fn keys(&mut self, sql: &'a str, query: &'static Query, needs: &'a Needs, target: Target) {
        let keys = (query.keys)(needs);
        if !keys.is_empty() {
            self.arrays(sql, arrays(query, keys), (query.values)(needs), target);
        }
    }

    /// Adds a statement with arrays and further values, unless the arrays are empty.
    fn arrays(
        &mut self,
        sql: &'a str,
        arrays: Vec<Vec<Param<'a>>>,
        values: Vec<Param<'a>>,
        target: Target,
    ) {
        if arrays.first().is_some_and(|array| !array.is_empty()) {
            let arrays = arrays.into_iter().map(|array| Box::new(array) as _);
            let values = values.into_iter().map(|value| Box::new(value) as _);
            self.0.push((sql, arrays.chain(values).collect(), target));
        }
    }

    fn values(
        &mut self,
        sql: &'a str,
        values: impl IntoIterator<Item = Param<'a>>,
        target: Target,
    ) {
        let params = values.into_iter().map(|value| Box::new(value) as _).collect();
        self.0.push((sql, params, target));
    }

    async fn send(&self, open: &mut Transaction) -> Result<Vec<Vec<Row>>, Error> {
        let params: Vec<Vec<&(dyn ToSql + Sync)>> = self
            .0
            .iter()
            .map(|(_, params, _)| params.iter().map(|param| &**param as _).collect())
            .collect();
        let statements: Vec<Statement<'_>> =
            self.0.iter().zip(&params).map(|((sql, ..), params)| (*sql, &**params)).collect();
        open.query(&statements).await
    }
}

/// The keys to find, as one array for each column of the key.
fn arrays<'a>(query: &Query, keys: Vec<Param<'a>>) -> Vec<Vec<Param<'a>>> {
    let mut arrays = vec![Vec::new(); query.key.len()];
    for (index, value) in keys.into_iter().enumerate() {
        arrays[index % query.key.len()].push(value);
    }
    arrays
}

/// Reads the row that [`NEW_IDS`] selects: the new IDs, and the time of the database.
fn new_ids(row: Option<&Row>) -> Result<(Vec<Id>, Timestamp), Error> {
    let row = row.ok_or(Error::NoRow)?;
    let broken = |error: &str| Error::Column(error.to_owned().into());
    let id = |bytes: &[u8]| {
        bytes.try_into().map(Id::stored).map_err(|_| broken("an id has a wrong length"))
    };
    let ids: Vec<&[u8]> = row.try_get(0)?;
    let clock = Timestamp::from_millisecond(row.try_get(1)?);
    let clock = clock.map_err(|error| Error::Column(error.into()))?;
    Ok((ids.into_iter().map(id).collect::<Result<_, _>>()?, clock))
}

/// The indexes of the writes that must wait, because another process has locked one of their rows.
async fn locked(
    open: &mut Transaction,
    batch: &[&Write],
    needs: &Needs,
    known: &LoadedRows,
    found: &BTreeSet<Param<'static>>,
) -> Result<Vec<usize>, Error> {
    let mut missing = Vec::new();
    for query in &LOCKED {
        let ids = (query.keys)(needs).into_iter().filter(|id| !found.contains(id));
        let ids: Vec<Param<'_>> = ids.collect();
        if let (Some(table), false) = (query.lock, ids.is_empty()) {
            missing.push((format!("SELECT id FROM {table} WHERE id = ANY($1)"), ids));
        }
    }
    let mut plan = Plan::default();
    for (sql, ids) in &missing {
        plan.arrays(sql, vec![ids.clone()], Vec::new(), Target::IdGenerator);
    }
    let mut locked = BTreeSet::new();
    if !plan.0.is_empty() {
        // The load skipped these rows, but they exist. So they are locked.
        for row in plan.send(open).await?.iter().flatten() {
            locked.insert(Columns::from(row).read::<Id>()?.param().owned());
        }
    }
    // All rows of the balance are locked, by a payout or by other batches.
    let balances: HashSet<Id> = known.rows.balances.iter().map(|row| row.merchant).collect();
    let unbalanced = known.transactions.iter().filter(|(_, row)| !balances.contains(&row.merchant));
    locked.extend(unbalanced.map(|(transaction, _)| transaction.param().owned()));
    let merchants = needs.balances.iter().filter(|id| known.rows.merchants.contains(id));
    let unbalanced = merchants.filter(|merchant| !balances.contains(merchant));
    locked.extend(unbalanced.map(|merchant| merchant.param().owned()));
    if locked.is_empty() {
        return Ok(Vec::new());
    }
    let must_wait = |write: &Write| {
        let needs = Needs::of([write]);
        LOCKED.iter().any(|query| (query.keys)(&needs).iter().any(|id| locked.contains(id)))
    };
    let waiting = batch.iter().enumerate().filter(|(_, write)| must_wait(write));
    Ok(waiting.map(|(index, _)| index).collect())
}

/// Writes changes and commits.
pub(super) async fn write(open: Transaction, changes: &Changes) -> Result<(), Error> {
    let mut rows = PostgresRows::default();
    let Ok(()) = changes.write(&mut rows);
    let params = rows.params();
    open.commit(&rows.statements(&params)).await.map(drop)
}
