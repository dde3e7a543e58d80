//! A batch of writes in PostgreSQL: one round trip loads and locks, a second one writes and commits.
//!
//! The load never waits for a lock: a row that another process holds postpones the writes that need
//! it, and no others. So batches cannot wait for each other in a circle. A batch waits only when it
//! writes, in an order that all batches share.

use std::{collections::HashSet, sync::LazyLock};

use common::{
    batch::{Cost, Decided, Engine, Failure, Limits, Loaded, Panicked},
    postgres::{Asked, Error, Pool, Transaction},
    sql::{Columns, Kind, Param, PostgresRows, Stored as _},
};
use jiff::Timestamp;
use tokio_postgres::{Row, types::ToSql};

use super::super::{
    batch::{self, Decision},
    load::{EMAIL, LOCKED, Query, READ},
    rows, tables,
};
use crate::domain::{
    Id,
    write::{Balance, Changes, Known, Needs, PayoutState, Write},
};

/// The sessions of batches, beside what all are told: every statement has an index that serves it,
/// whether or not the database has counted the rows yet, and is planned once.
pub(super) const SETTINGS: &str = "SET plan_cache_mode = force_generic_plan;
     SET enable_seqscan = off; SET enable_bitmapscan = off;
     SET enable_hashjoin = off; SET enable_mergejoin = off; SET jit = off";

/// In how many rows a merchant's balance is kept, so that several batches can book for a merchant.
const SHARDS: i64 = 16;

/// One row of the balance of each merchant, of those that nobody else has locked.
const BALANCES: &str = "SELECT held.merchant, free.shard, free.balance
     FROM (SELECT DISTINCT merchant FROM transactions WHERE id = ANY($1)) AS held,
         LATERAL (SELECT shard, balance FROM balances WHERE balances.merchant = held.merchant
             ORDER BY shard LIMIT 1 FOR UPDATE SKIP LOCKED) AS free";

/// The whole balance of a merchant. This waits: a payout takes it all.
const WHOLE_BALANCE: &str = "SELECT merchant, shard, balance FROM balances WHERE merchant = $1
     ORDER BY shard FOR UPDATE";

/// Whoever closes the run waits for this.
const OPEN_RUN: &str =
    "SELECT 1 FROM payout_runs WHERE day = $1 AND test = $2 AND NOT closed FOR SHARE";

const NEW_IDS: &str = "SELECT ids, clock FROM new_ids($1)";

/// The statements of a batch, in their order.
static QUERIES: LazyLock<Vec<(String, &'static Query)>> =
    LazyLock::new(|| LOCKED.iter().chain(&READ).map(|query| (sql(query), query)).collect());

fn sql(query: &Query) -> String {
    let lock = query.lock.map(|table| {
        let Some((id, _)) = query.key.first() else { return String::new() };
        format!("ORDER BY {id} FOR UPDATE OF {table} SKIP LOCKED")
    });
    let (select, rest, lock) = (query.select, query.rest, lock.unwrap_or_default());
    let column = |name| if name == EMAIL { "lower(users.email COLLATE \"C\")" } else { name };
    let array = |kind| match kind {
        Kind::Text => "text[]",
        _ => "bytea[]",
    };
    match *query.key {
        [(first, kind)] => {
            format!("{select} WHERE {} = ANY($1::{}) {rest} {lock}", column(first), array(kind))
        }
        [(first, one), (second, two)] => format!(
            "{select} JOIN unnest($1::{}, $2::{}) AS asked (first, second)
                 ON {} = asked.first AND {} = asked.second {} {lock}",
            array(one),
            array(two),
            column(first),
            column(second),
            rest.replacen("AND", "WHERE", usize::from(rest.starts_with("AND"))),
        ),
        _ => String::new(),
    }
}

/// The engine that runs batches.
pub(in super::super) struct Writer(Pool);

impl Writer {
    pub(super) fn new(pool: Pool) -> Self {
        Self(pool)
    }
}

impl Engine for Writer {
    const LIMITS: Limits = batch::LIMITS;
    type Operation = Write;
    type Answer = Decision;
    type Known = Known;
    type Changes = Changes;
    type Open<'e> = Transaction;

    fn cost(write: &Write) -> Cost {
        batch::cost(write)
    }

    fn exclusive(write: &Write, names: &mut Vec<u64>) {
        batch::names(write, names);
    }

    async fn load(&self, batch: &[&Write]) -> Result<Loaded<Transaction, Known>, Failure> {
        let mut open = self.0.transaction().await?;
        let (known, locked) = load(&mut open, batch).await?;
        Ok(Loaded { open, known, locked })
    }

    fn decide(
        &self,
        known: Known,
        batch: &[&Write],
    ) -> Result<Decided<Decision, Changes>, Panicked> {
        batch::decide(known, batch)
    }

    async fn write(
        &self,
        open: Transaction,
        decided: Decided<Decision, Changes>,
    ) -> Result<Vec<Decision>, Failure> {
        if !decided.changes.is_empty() {
            write(open, &decided.changes).await?;
        }
        Ok(decided.answers)
    }
}

/// Locks and reads what writes need. Returns it with the places of the writes that wait, since
/// another process has locked a row of theirs.
pub(super) async fn load(
    open: &mut Transaction,
    batch: &[&Write],
) -> Result<(Known, Vec<usize>), Error> {
    let needs = Needs::of(batch.iter().copied());
    let payout = needs.payout.map(|(run, merchant)| rows::payout_params(run, merchant));
    let transactions: Vec<Param<'_>> = needs.transactions.keys().map(Id::param).collect();
    let count = i64::try_from(needs.ids).unwrap_or(i64::MAX);

    let mut plan = Plan::default();
    for (sql, query) in &QUERIES[..LOCKED.len()] {
        plan.keys(sql, query, &needs);
    }
    if !transactions.is_empty() {
        plan.arrays(BALANCES, vec![transactions], Into::Balances);
    }
    if let Some([day, test, merchant]) = &payout {
        plan.values(OPEN_RUN, [day, test].map(Clone::clone), Into::OpenRun);
        plan.values(WHOLE_BALANCE, [merchant.clone()], Into::Balances);
        plan.values(rows::PAYOUT_STATE, [day, test, merchant].map(Clone::clone), Into::Payout);
    }
    for (sql, query) in &QUERIES[LOCKED.len()..] {
        plan.keys(sql, query, &needs);
    }
    plan.values(NEW_IDS, [Param::Int(count)], Into::Ids);

    let answers = plan.ask(open).await?;
    let (ids, now) = new_ids(answers.last().and_then(|rows| rows.first()))?;
    let mut known = Known::new(now, ids, SHARDS);
    let mut is_open_run = false;
    for (into, rows) in plan.0.iter().map(|(_, _, into)| into).zip(&answers) {
        for row in rows {
            let columns = &mut Columns::from(row);
            match into {
                Into::Rows(query) => (query.read)(&mut known, columns)?,
                Into::Balances => {
                    let (merchant, shard) = (columns.read()?, columns.read()?);
                    let balance = Balance { merchant, shard, minor: columns.read()? };
                    known.balances.entry(merchant).or_default().push(balance);
                }
                Into::OpenRun => is_open_run = true,
                Into::Payout => {
                    let Some((run, _)) = needs.payout else { continue };
                    let merchant = rows::merchant(columns)?;
                    let is_over = columns.read::<bool>()? || !is_open_run;
                    known.payout = Some(PayoutState { run, merchant, is_over });
                }
                Into::Ids => {}
            }
        }
    }
    let locked = locked(open, batch, &needs, &known).await?;
    Ok((known, locked))
}

/// Values or arrays of values that are put into a statement.
type Params<'a> = Vec<Box<dyn ToSql + Sync + Send + 'a>>;

/// The destination of the rows of a statement.
enum Into {
    Rows(&'static Query),
    Balances,
    OpenRun,
    Payout,
    Ids,
}

/// The statements of one round trip.
#[derive(Default)]
struct Plan<'a>(Vec<(&'a str, Params<'a>, Into)>);

impl<'a> Plan<'a> {
    /// Adds a statement that asks for keys, unless there are none.
    fn keys(&mut self, sql: &'a str, query: &'static Query, needs: &'a Needs) {
        let count = self.0.len();
        self.arrays(sql, arrays(query, needs), Into::Rows(query));
        if let Some((_, params, _)) = self.0.get_mut(count) {
            params.extend((query.values)(needs).into_iter().map(|value| Box::new(value) as _));
        }
    }

    /// Adds a statement, unless its arrays are empty.
    fn arrays(&mut self, sql: &'a str, arrays: Vec<Vec<Param<'a>>>, into: Into) {
        if arrays.first().is_some_and(|array| !array.is_empty()) {
            let params = arrays.into_iter().map(|array| Box::new(array) as _).collect();
            self.0.push((sql, params, into));
        }
    }

    fn values(&mut self, sql: &'a str, values: impl IntoIterator<Item = Param<'a>>, into: Into) {
        let params = values.into_iter().map(|value| Box::new(value) as _).collect();
        self.0.push((sql, params, into));
    }

    async fn ask(&self, open: &mut Transaction) -> Result<Vec<Vec<Row>>, Error> {
        let params: Vec<Vec<&(dyn ToSql + Sync)>> = self
            .0
            .iter()
            .map(|(_, params, _)| params.iter().map(|param| &**param as _).collect())
            .collect();
        let asked: Vec<Asked<'_>> =
            self.0.iter().zip(&params).map(|((sql, ..), params)| (*sql, &**params)).collect();
        open.ask(&asked).await
    }
}

/// The keys that a statement asks for, as an array for each column of the key.
fn arrays<'a>(query: &Query, needs: &'a Needs) -> Vec<Vec<Param<'a>>> {
    let mut arrays = vec![Vec::new(); query.key.len()];
    for (place, value) in (query.keys)(needs).into_iter().enumerate() {
        arrays[place % query.key.len()].push(value);
    }
    arrays
}

/// Reads what [`NEW_IDS`] selects.
fn new_ids(row: Option<&Row>) -> Result<(Vec<Id>, Timestamp), Error> {
    let row = row.ok_or(Error::NoRow)?;
    let broken = |error: &str| Error::Column(error.to_owned().into());
    let id = |bytes: &[u8]| bytes.try_into().map(Id::stored).map_err(|_| broken("no id"));
    let ids: Vec<&[u8]> = row.try_get(0)?;
    let clock = Timestamp::from_millisecond(row.try_get(1)?);
    let clock = clock.map_err(|error| Error::Column(error.into()))?;
    Ok((ids.into_iter().map(id).collect::<Result<_, _>>()?, clock))
}

/// The places of the writes some of whose rows another process has locked.
async fn locked(
    open: &mut Transaction,
    batch: &[&Write],
    needs: &Needs,
    known: &Known,
) -> Result<Vec<usize>, Error> {
    let merchants = needs.merchants.iter().filter(|id| !known.merchants.contains_key(id));
    let operations = needs.operations.iter().filter(|id| !known.operations.contains_key(id));
    let invitations = needs.invitations.iter().filter(|id| !known.invitations.contains_key(id));
    let transactions = needs.transactions.keys().filter(|id| !known.transactions.contains_key(id));
    let mut plan = Plan::default();
    for (sql, ids) in [
        ("SELECT id FROM merchants WHERE id = ANY($1)", merchants.map(Id::param).collect()),
        ("SELECT id FROM operations WHERE id = ANY($1)", operations.map(Id::param).collect()),
        ("SELECT id FROM invitations WHERE id = ANY($1)", invitations.map(Id::param).collect()),
        ("SELECT id FROM transactions WHERE id = ANY($1)", transactions.map(Id::param).collect()),
    ] {
        plan.arrays(sql, vec![ids], Into::Ids);
    }
    let mut locked = HashSet::new();
    if !plan.0.is_empty() {
        // Rows that are there were left out for their locks.
        for row in plan.ask(open).await?.iter().flatten() {
            locked.insert(Columns::from(row).read::<Id>()?);
        }
    }
    // While a payout holds a merchant's whole balance, nothing can be booked for the merchant.
    let has_balance = |merchant| known.balances.contains_key(merchant);
    let unbalanced = known.transactions.iter().filter(|(_, held)| !has_balance(&held.merchant));
    locked.extend(unbalanced.map(|(transaction, _)| *transaction));
    if locked.is_empty() {
        return Ok(Vec::new());
    }
    let waits = |write: &Write| {
        let Needs { merchants, operations, invitations, transactions, .. } = Needs::of([write]);
        let rows = merchants.iter().chain(&operations).chain(&invitations);
        rows.chain(transactions.keys()).any(|id| locked.contains(id))
    };
    let places = batch.iter().enumerate().filter(|(_, write)| waits(write));
    Ok(places.map(|(place, _)| place).collect())
}

/// Writes changes and commits.
pub(super) async fn write(open: Transaction, changes: &Changes) -> Result<(), Error> {
    let mut rows = PostgresRows::default();
    let Ok(()) = tables::write(changes, &mut rows);
    let params = rows.params();
    open.commit(&rows.asked(&params)).await.map(drop)
}
