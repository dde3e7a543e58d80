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
        let (step, disputed) = (held.holding.steps, change.amounts.disputed);
        let order = (request.order(), change.amount);
        let decided = Decided { transaction, held: &held, change, dispute: None, now };
        decided.write(db, &mut self.ids, descriptor)?;
        self.instruct(db, transaction, order, Some(step), now)?;
        Ok(Ok(Answer::Moved { transaction, steps: step + 1, disputed }))
    }
}

impl Applier {
    /// Notes what the acquirer has to be told of a transaction.
    pub(super) fn instruct(
        &mut self,
        db: &Connection,
        transaction: Id,
        (order, amount): (Order, i64),
        step: Option<u32>,
        now: Timestamp,
    ) -> rusqlite::Result<()> {
        db.prepare_cached("INSERT INTO instructions VALUES (?1, ?2, ?3, ?4, ?5)")?.execute((
            self.ids.next(now),
            transaction,
            order,
            amount,
            step,
        ))?;
        Ok(())
    }
}

/// What is to be written.
pub(super) struct Decided<'a> {
    pub(super) transaction: Id,
    pub(super) held: &'a Held,
    pub(super) change: Change,
    /// The dispute that it is about.
    pub(super) dispute: Option<Id>,
    pub(super) now: Timestamp,
}

impl Decided<'_> {
    /// The step of the trail, if it has one, and where money moved, its line, which is returned,
    /// and all that goes with it.
    pub(super) fn write(
        &self,
        db: &Connection,
        ids: &mut Ids,
        descriptor: Option<&Descriptor>,
    ) -> rusqlite::Result<Option<Id>> {
        let Self { held, change, .. } = self;
        let line = change.booking.as_ref().map(|booking| (ids.next(self.now), booking));
        if let Some((line, booking)) = line {
            self.book(db, line, booking)?;
        }
        let line = line.map(|(line, _)| line);
        self.update(db)?;
        if let Some(movement) = change.movement {
            let descriptor = match movement {
                Movement::Void => None,
                _ => Some(descriptor.unwrap_or(&held.descriptor)),
            };
            db.prepare_cached(
                "INSERT INTO trail VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
            )?
            .execute(params![
                self.transaction,
                held.holding.steps,
                millis(self.now),
                movement,
                change.amount,
                change.balance,
                change.fee.flat,
                change.fee.rate,
                descriptor.map(Descriptor::as_str),
                line,
                self.dispute,
            ])?;
        }
        Ok(line)
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
        db.prepare_cached(
            "UPDATE transactions SET captured = ?2, refunded = ?3, voided = ?4, disputed = ?5,
                 steps = steps + ?6
             WHERE id = ?1",
        )?
        .execute((
            self.transaction,
            amounts.captured,
            amounts.refunded,
            amounts.voided,
            amounts.disputed,
            self.change.movement.is_some(),
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
