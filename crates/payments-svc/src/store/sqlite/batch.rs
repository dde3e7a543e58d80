//! A batch of writes in SQLite.
//!
//! 1. One batch runs at a time, on the thread of the writer. Its database transaction takes the
//!    write lock at its start. So there are no row locks, and no write waits for a row.
//! 2. Rows are found one by one with prepared statements: there is no round trip to save.
//! 3. The last ID is read from table `ids` at the start. Each batch draws newer ones, and stores the
//!    last with its changes.
//! 4. Writes do not expire in the queue (`start_timeout`): only a full queue rejects them.
//! 5. The balance of a merchant is one row, because only one batch writes at a time.

use std::{
    cell::RefCell,
    collections::BTreeSet,
    iter,
    sync::{Arc, LazyLock},
    time::Duration,
};

use common::{
    batch::{Cost, Decided, Engine, Failure, Limits, Loaded, Panicked},
    sql::{Columns, Group, Param, SqliteRows, Stored as _, bind, key_column},
    sqlite::{Embedded, failure},
};
use jiff::Timestamp;
use payments_domain::{
    Id, IdGenerator, PayoutRequest,
    write::{Balance, Changes, LoadedRows, Needs, PayoutState, RowKeys, Write},
};
use rusqlite::{Connection, Transaction};
use uuid::Uuid;

use super::super::{
    batch::{self, WriteResult},
    day_totals::captured_since,
    load::{LOCKED, Query, READ},
    now, rows,
};
use super::transactions::TransactionCache;

/// The statements that load a batch, in their order.
static QUERIES: LazyLock<Vec<(String, &'static Query)>> = LazyLock::new(|| {
    let sql = |query: &'static Query| {
        let key = (1..).zip(query.key);
        let key = key.map(|(number, (column, _))| format!("{} = ${number}", key_column(column)));
        let key = key.collect::<Vec<_>>().join(" AND ");
        (format!("{} WHERE {key} {}", (query.select)(), query.rest), query)
    };
    LOCKED.iter().chain(&READ).chain(RowKeys::QUERIES).map(sql).collect()
});

static BALANCE: LazyLock<String> = LazyLock::new(|| {
    format!("SELECT {} FROM balances WHERE merchant = $1", Balance::of("balances"))
});

static HELD: LazyLock<String> = LazyLock::new(|| captured_since("$2", "$3"));

pub(in super::super) struct Writer {
    pub(super) db: Embedded,
    ids: RefCell<IdGenerator>,
    transactions: Arc<TransactionCache>,
}

impl Writer {
    /// Reads the last ID from `connection`.
    pub(super) fn new(
        db: Embedded,
        connection: &Connection,
        transactions: Arc<TransactionCache>,
    ) -> rusqlite::Result<Self> {
        Ok(Self { db, ids: RefCell::new(new_ids(connection)?), transactions })
    }
}

/// A source of IDs that follow those in the database.
fn new_ids(db: &Connection) -> rusqlite::Result<IdGenerator> {
    Ok(IdGenerator::after(last_id(db)?, Uuid::new_v4().as_u64_pair().0))
}

impl Engine for Writer {
    const LIMITS: Limits =
        Limits { batches: 1, another_at: 1, start_timeout: Duration::MAX, ..batch::LIMITS };
    type Write = Write;
    type Answer = WriteResult;
    type LoadedRows = LoadedRows;
    type Changes = Changes;
    type Open<'e> = Transaction<'e>;

    fn cost(write: &Write) -> Cost {
        batch::cost(write)
    }

    async fn load(&self, batch: &[&Write]) -> Result<Loaded<Transaction<'_>, LoadedRows>, Failure> {
        let open = self.db.begin().map_err(failure)?;
        let known = load(&open, batch, &mut self.ids.borrow_mut()).map_err(failure)?;
        Ok(Loaded { open, known, locked: Vec::new() })
    }

    fn decide(
        &self,
        known: LoadedRows,
        batch: &[&Write],
    ) -> Result<Decided<WriteResult, Changes>, Panicked> {
        batch::decide(known, batch)
    }

    async fn write<'e>(
        &'e self,
        open: Transaction<'e>,
        decided: Decided<WriteResult, Changes>,
    ) -> Result<Vec<WriteResult>, Failure> {
        if !decided.changes.is_empty() {
            batch::verify(&decided.changes)?;
            write(&open, &decided.changes, self.ids.borrow().last()).map_err(failure)?;
            let _changing = self.transactions.change(&decided.changes);
            self.db.commit(open).map_err(failure)?;
        }
        Ok(decided.answers)
    }

    fn after_batch(&self, bytes: usize) {
        self.db.after_batch(bytes);
    }

    fn disk_full(&self, writes: usize) {
        self.db.disk_full(writes);
    }

    fn locked(&self) {
        self.db.report_lock();
    }

    fn idle(&self) {
        self.db.idle();
    }
}

/// Reads the rows that the writes need, and draws IDs for them.
fn load(db: &Connection, batch: &[&Write], ids: &mut IdGenerator) -> rusqlite::Result<LoadedRows> {
    let needs = Needs::of(batch.iter().copied());
    let now = now();
    let count = batch.iter().map(|write| write.action.ids()).sum();
    let drawn = iter::repeat_with(|| ids.next(now)).take(count).collect();
    let mut known = LoadedRows::new(now, drawn, 1);
    for (sql, query) in &*QUERIES {
        let keys = (query.keys)(&needs);
        if keys.is_empty() {
            continue;
        }
        let values = (query.values)(&needs);
        let mut statement = db.prepare_cached(sql)?;
        for key in keys.chunks_exact(query.key.len()) {
            bind(&mut statement, key.iter().chain(&values))?;
            let mut rows = statement.raw_query();
            while let Some(row) = rows.next()? {
                (query.read)(&mut known, &mut Columns::from(row))?;
            }
        }
    }
    if let Some(request) = &needs.payout {
        let (run, (held_since, held)) = (request.run, held(db, request, now)?);
        known.payout =
            first_row(db, &rows::PAYOUT_STATE, &rows::payout_params(request), |columns| {
                let (merchant, is_done) = rows::payout_state(columns)?;
                Ok(PayoutState { run, merchant, held, held_since, is_done })
            })?;
    }
    let booked = known.transactions.values().map(|transaction| transaction.merchant);
    let payout = needs.payout.map(|request| request.merchant);
    let merchants = booked.chain(payout).chain(needs.balances.iter().copied());
    let merchants: BTreeSet<Id> = merchants.collect();
    for merchant in merchants {
        let mut statement = db.prepare_cached(&BALANCE)?;
        bind(&mut statement, &[merchant.param()])?;
        let mut rows = statement.raw_query();
        while let Some(row) = rows.next()? {
            known.rows.balances.load(Group::read(&mut Columns::from(row))?);
        }
    }
    Ok(known)
}

/// The time after which captures are too young to be paid, and their sum.
fn held(
    db: &Connection,
    request: &PayoutRequest,
    now: Timestamp,
) -> rusqlite::Result<(Option<Timestamp>, i64)> {
    if request.delay.is_zero() {
        return Ok((None, 0));
    }
    let since = now.checked_sub(request.delay).unwrap_or(Timestamp::MIN);
    // The second of an ID is never before the time of its line: see `IdGenerator`.
    let (merchant, first) = (request.merchant, Id::at(since));
    let params = (merchant.as_bytes(), first.as_bytes(), since.as_millisecond());
    let sum = db.prepare_cached(&HELD)?.query_row(params, |row| row.get(0))?;
    Ok((Some(since), sum))
}

/// The last ID that was drawn and stored.
pub(in super::super) fn last_id(db: &Connection) -> rusqlite::Result<Id> {
    let last = db.prepare_cached("SELECT last FROM ids")?.query_row([], |row| row.get(0))?;
    Ok(Id::stored(last))
}

/// The first row of a statement.
fn first_row<T>(
    db: &Connection,
    sql: &str,
    params: &[Param<'_>],
    read: impl Fn(&mut Columns<'_>) -> Result<T, common::sql::ColumnError>,
) -> rusqlite::Result<Option<T>> {
    let mut statement = db.prepare_cached(sql)?;
    bind(&mut statement, params)?;
    let mut rows = statement.raw_query();
    let row = rows.next()?;
    Ok(row.map(|row| read(&mut Columns::from(row))).transpose()?)
}

/// Writes changes, and the last ID that was drawn.
fn write(db: &Connection, changes: &Changes, last: Id) -> rusqlite::Result<()> {
    changes.write(&mut SqliteRows(db))?;
    db.prepare_cached("UPDATE ids SET last = $1")?.execute([last.as_bytes()])?;
    Ok(())
}

#[cfg(test)]
pub(super) mod tests;
