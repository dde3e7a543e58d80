//! Payouts, written beside the service that owns the directory, if one runs.

use std::{path::Path, thread::sleep, time::Duration};

use common::sqlite as engine;
use jiff::Timestamp;
use rusqlite::{Connection, Row, TransactionBehavior, params};
use uuid::Uuid;

use super::{
    super::now,
    DATABASE,
    column::{Columns, millis},
    read,
    write::{movements::post, note_id},
};
use crate::domain::{Iban, Id, Ids, LineKind, Payout, PayoutRun, Transfer};

/// How often, and how many times, the service's writer is asked for its turn: for half a minute.
const ASK_EVERY: Duration = Duration::from_millis(1);
const ASKED_AT_MOST: i32 = 30_000;

/// What the service's writer is given between two payouts: it waits for the lock with longer and
/// longer breaks, and could miss each moment in which it is free.
const YIELD: Duration = Duration::from_millis(5);

/// Pays whomever something is due to, unless the run is closed, and closes it. What the service has
/// open stays its own: it alone brings the database to a version's shape, and makes checkpoints.
pub(in super::super) fn pay_out(data_dir: &Path, run: PayoutRun) -> rusqlite::Result<Vec<Payout>> {
    let path = data_dir.join(DATABASE);
    let merchants = creditors(&engine::open_reader(&path)?, run)?;
    let mut writer = Beside { db: engine::open(&path)?, ids: new_ids(), run };
    writer.db.busy_handler(Some(ask_again))?;
    for merchant in merchants {
        writer.pay(merchant)?;
        sleep(YIELD);
    }
    writer.close()?;
    payouts(&writer.db, run)
}

fn ask_again(asked: i32) -> bool {
    sleep(ASK_EVERY);
    asked < ASKED_AT_MOST
}

/// Ids that have yet to follow those in the database.
fn new_ids() -> Ids {
    Ids::after(Id::FIRST, Uuid::new_v4().as_u64_pair().0)
}

/// Merchants that something may be due to, unless the run is closed.
fn creditors(db: &Connection, run: PayoutRun) -> rusqlite::Result<Vec<Id>> {
    let mut query = db.prepare(
        "SELECT id FROM merchants JOIN balances ON merchant = id
         WHERE test = ?1 AND iban IS NOT NULL AND balance > 0 AND NOT EXISTS (
             SELECT 1 FROM payout_runs WHERE day = ?2 AND test = ?1 AND closed
         ) ORDER BY id",
    )?;
    query.query_map((run.test, run.day.to_string()), |row| row.get(0))?.collect()
}

/// A writer beside the service's.
struct Beside {
    db: Connection,
    ids: Ids,
    run: PayoutRun,
}

impl Beside {
    /// Pays a merchant what is due to it now, once in a run.
    fn pay(&mut self, merchant: Id) -> rusqlite::Result<()> {
        let db = self.db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        if is_over(&db, self.run, merchant)? {
            return Ok(());
        }
        let Some(transfer) = read::merchant(&db, merchant)?.as_ref().and_then(Transfer::due) else {
            return Ok(());
        };
        let now = now();
        self.ids.follow(read::last_id(&db)?);
        let (line, id) = (self.ids.next(now), self.ids.next(now));
        book(&db, &Payout { id, line, transfer }, self.run, now)?;
        note_id(&db, self.ids.last())?;
        db.commit()
    }

    fn close(&self) -> rusqlite::Result<()> {
        self.db.execute(
            "INSERT OR IGNORE INTO payout_runs VALUES (?1, ?2, 1)",
            (self.run.day.to_string(), self.run.test),
        )?;
        Ok(())
    }
}

/// Whether a merchant is not paid in this run any more.
fn is_over(db: &Connection, run: PayoutRun, merchant: Id) -> rusqlite::Result<bool> {
    db.prepare_cached(
        "SELECT 1 FROM payout_runs WHERE day = ?1 AND test = ?2 AND closed
         UNION ALL SELECT 1 FROM payouts WHERE day = ?1 AND merchant = ?3",
    )?
    .exists((run.day.to_string(), run.test, merchant))
}

/// The payout, the merchant's line, the postings behind it, and the merchant's balance.
fn book(db: &Connection, payout: &Payout, run: PayoutRun, now: Timestamp) -> rusqlite::Result<()> {
    let Transfer { merchant, name, iban, amount } = &payout.transfer;
    let (taken, entry) = payout.transfer.booking();
    db.prepare_cached("INSERT INTO payouts VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)")?.execute(
        params![
            payout.id,
            run.day.to_string(),
            run.test,
            merchant,
            payout.line,
            name,
            iban.as_str(),
            amount.currency,
            amount.minor,
        ],
    )?;
    db.prepare_cached(
        "INSERT INTO lines (id, merchant, created, balance, fee, kind, currency, amount)
         VALUES (?1, ?2, ?3, ?4, 0, ?5, ?6, ?4)",
    )?
    .execute((
        payout.line,
        merchant,
        millis(now),
        taken.minor,
        LineKind::Payout,
        taken.currency,
    ))?;
    post(db, payout.line, &entry)?;
    db.prepare_cached("UPDATE balances SET balance = balance + ?2 WHERE merchant = ?1")?
        .execute((merchant, taken.minor))?;
    Ok(())
}

/// The payouts of a run, in the order in which they were made.
fn payouts(db: &Connection, run: PayoutRun) -> rusqlite::Result<Vec<Payout>> {
    let mut query = db.prepare(
        "SELECT id, line, merchant, name, iban, currency, amount FROM payouts
         WHERE day = ?1 AND test = ?2 ORDER BY id",
    )?;
    query.query_map((run.day.to_string(), run.test), payout)?.collect()
}

fn payout(row: &Row<'_>) -> rusqlite::Result<Payout> {
    let mut columns = Columns::of(row);
    let (id, line) = (columns.next()?, columns.next()?);
    let transfer = Transfer {
        merchant: columns.next()?,
        name: columns.next()?,
        iban: columns.text(Iban::stored)?,
        amount: columns.money()?,
    };
    Ok(Payout { id, line, transfer })
}
