//! Captures, refunds and voids: what the domain decides, written whole.

use jiff::Timestamp;
use rusqlite::{Connection, params};

use super::Applier;
use crate::{
    domain::{
        Booking, Change, Descriptor, Entry, Id, Ids, Movement, Order, Overflow, Refused, Request,
    },
    store::{
        Answer, Refusal,
        sqlite::{
            column::{broken, fraction, millis},
            read::{self, Held},
        },
    },
};

impl Applier {
    pub(super) fn perform(
        &mut self,
        db: &Connection,
        transaction: Id,
        (request, descriptor): (&Request, Option<&Descriptor>),
        now: Timestamp,
    ) -> rusqlite::Result<Result<Answer, Refusal>> {
        let refunds = matches!(request, Request::Refund { .. });
        let Some(held) = read::held(db, transaction, refunds)? else {
            return Ok(Err(Refusal::NotFound));
        };
        let change = match held.holding.decide(request) {
            Ok(change) => change,
            Err(refused) => return Ok(Err(refused.into())),
        };
        if held.balance.checked_add(change.balance).is_none() {
            return Ok(Err(Refused::from(Overflow).into()));
        }
        let steps = held.holding.steps + 1;
        Decided { transaction, held, change, now }.write(db, &mut self.ids, descriptor)?;
        Ok(Ok(Answer::Moved { transaction, steps }))
    }
}

/// What is to be written.
struct Decided {
    transaction: Id,
    held: Held,
    change: Change,
    now: Timestamp,
}

impl Decided {
    fn write(
        &self,
        db: &Connection,
        ids: &mut Ids,
        descriptor: Option<&Descriptor>,
    ) -> rusqlite::Result<()> {
        let Self { held, change, .. } = self;
        let line = change.booking.as_ref().map(|booking| (ids.next(self.now), booking));
        if let Some((line, booking)) = line {
            self.book(db, line, booking)?;
        }
        self.update(db)?;
        let descriptor = match change.movement {
            Movement::Void => None,
            _ => Some(descriptor.unwrap_or(&held.descriptor)),
        };
        db.prepare_cached("INSERT INTO trail VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)")?
            .execute(params![
                self.transaction,
                held.holding.steps,
                millis(self.now),
                change.movement,
                change.amount,
                change.balance,
                change.fee.flat,
                change.fee.rate,
                descriptor.map(Descriptor::as_str),
                line.map(|(line, _)| line),
            ])?;
        db.prepare_cached("INSERT INTO instructions VALUES (?1, ?2, ?3, ?4)")?.execute((
            ids.next(self.now),
            held.payment,
            Order::from(change.movement),
            change.amount,
        ))?;
        Ok(())
    }

    /// The merchant's line, the postings behind it, and the merchant's balance.
    fn book(&self, db: &Connection, line: Id, booking: &Booking) -> rusqlite::Result<()> {
        let Self { held, change, .. } = self;
        db.prepare_cached("INSERT INTO lines VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)")?
            .execute((
                line,
                held.merchant,
                millis(self.now),
                change.balance,
                change.fee.total().map_err(broken)?,
                booking.kind,
                self.transaction,
                booking.amount.currency,
                booking.amount.minor,
            ))?;
        post(db, line, &booking.entry)?;
        db.prepare_cached("UPDATE balances SET balance = balance + ?2 WHERE merchant = ?1")?
            .execute((held.merchant, change.balance))?;
        Ok(())
    }

    /// The transaction's amounts, and its captures.
    fn update(&self, db: &Connection) -> rusqlite::Result<()> {
        let amounts = &self.change.amounts;
        let steps = self.held.holding.steps + 1;
        db.prepare_cached(
            "UPDATE transactions SET captured = ?2, refunded = ?3, voided = ?4, steps = ?5
             WHERE id = ?1",
        )?
        .execute((
            self.transaction,
            amounts.captured,
            amounts.refunded,
            amounts.voided,
            steps,
        ))?;
        let mut upsert = db.prepare_cached(
            "INSERT INTO captures VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
             ON CONFLICT DO UPDATE SET amount_out = excluded.amount_out,
                 gross_out = excluded.gross_out, fee_out = excluded.fee_out",
        )?;
        for captured in &self.change.captures {
            upsert.execute(params![
                self.transaction,
                captured.step,
                captured.amount,
                captured.gross,
                captured.fee,
                captured.amount_out,
                captured.gross_out,
                captured.fee_out,
                fraction(&captured.rate),
                captured.spread.parts(),
            ])?;
        }
        Ok(())
    }
}

/// The postings behind a line.
pub(in super::super) fn post(db: &Connection, line: Id, entry: &Entry) -> rusqlite::Result<()> {
    let mut insert = db.prepare_cached("INSERT INTO postings VALUES (?1, ?2, ?3, ?4, ?5)")?;
    for (number, posting) in (0_i64..).zip(entry.postings()) {
        let money = posting.money;
        insert.execute((line, number, posting.account, money.currency, money.minor))?;
    }
    Ok(())
}

/// The acquirer has carried these out.
pub(super) fn confirm(
    db: &Connection,
    instructions: &[Id],
) -> rusqlite::Result<Result<Answer, Refusal>> {
    let mut delete = db.prepare_cached("DELETE FROM instructions WHERE id = ?1")?;
    for instruction in instructions {
        delete.execute([instruction])?;
    }
    Ok(Ok(Answer::Done))
}
