//! Captures, refunds and voids: what the domain decides, written whole.

use common::postgres::Error;
use jiff::Timestamp;

use super::super::{
    super::{Answer, Refusal},
    column::{fraction, millis},
    read::{self, Held, all, first},
    unit::{NEW_IDS, Unit, ids, parameters},
};
use crate::domain::{Booking, Change, Descriptor, Entry, Id, Movement, Order, Posting, Request};

pub(super) async fn r#move<'a>(
    unit: &mut Unit<'a>,
    transaction: Id,
    request: &Request,
    descriptor: Option<&Descriptor>,
    now: Timestamp,
) -> Result<Result<Answer, Refusal>, Error> {
    // The lock comes first: what is read after that stays as it is, and lines get their ids in the
    // order of the trail's steps.
    let [rows, new] = unit.ask([(read::HOLD, &[&transaction]), NEW_IDS]).await?;
    let Some(mut held) = first(&rows, read::held)? else { return Ok(Err(Refusal::NotFound)) };
    if matches!(request, Request::Refund { .. }) {
        let [captures] = unit.ask([(read::CAPTURES, &[&transaction])]).await?;
        held.holding.captures = all(&captures, read::captured)?;
    }
    let change = match held.holding.decide(request) {
        Ok(change) => change,
        Err(refused) => return Ok(Err(refused.into())),
    };
    let (step, disputed) = (held.holding.steps, change.amounts.disputed);
    let (line, instruction) = ids(&new)?;
    let order = (request.order(), change.amount);
    let decided = Decided { transaction, held: &held, change, dispute: None, now };
    decided.write(unit, line, descriptor)?;
    instruct(unit, (instruction, transaction), order, Some(step));
    Ok(Ok(Answer::Moved { transaction, steps: step.saturating_add(1), disputed }))
}

/// Notes what the acquirer has to be told of a transaction.
pub(super) fn instruct(
    unit: &mut Unit<'_>,
    (instruction, transaction): (Id, Id),
    (order, amount): (Order, i64),
    step: Option<u32>,
) {
    unit.write(
        "INSERT INTO instructions VALUES ($1, $2, $3, $4, $5)",
        parameters![instruction, transaction, order, amount, step.map(i64::from)],
    );
}

/// What is to be written.
pub(super) struct Decided<'h> {
    pub(super) transaction: Id,
    pub(super) held: &'h Held,
    pub(super) change: Change,
    /// The dispute that it is about.
    pub(super) dispute: Option<Id>,
    pub(super) now: Timestamp,
}

impl Decided<'_> {
    /// The step of the trail, if it has one, and where money moved, its line and all that goes with
    /// it.
    pub(super) fn write(
        &self,
        unit: &mut Unit<'_>,
        line: Id,
        descriptor: Option<&Descriptor>,
    ) -> Result<(), Error> {
        let Self { held, change, .. } = self;
        self.update(unit);
        if let Some(movement) = change.movement {
            let descriptor = match movement {
                Movement::Void => None,
                _ => Some(descriptor.unwrap_or(&held.descriptor).as_str().to_owned()),
            };
            unit.write(
                "INSERT INTO trail VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
                parameters![
                    self.transaction,
                    i64::from(held.holding.steps),
                    millis(self.now),
                    movement,
                    change.amount,
                    change.balance,
                    change.fee.flat,
                    change.fee.rate,
                    descriptor,
                    change.booking.as_ref().map(|_| line),
                    self.dispute,
                ],
            );
        }
        match &change.booking {
            Some(booking) => self.book(unit, line, booking),
            None => Ok(()),
        }
    }

    /// The transaction's amounts, and its captures.
    fn update(&self, unit: &mut Unit<'_>) {
        let amounts = &self.change.amounts;
        unit.write(
            "UPDATE transactions SET captured = $2, refunded = $3, voided = $4, disputed = $5,
                 steps = steps + $6
             WHERE id = $1",
            parameters![
                self.transaction,
                amounts.captured,
                amounts.refunded,
                amounts.voided,
                amounts.disputed,
                i64::from(self.change.movement.is_some()),
            ],
        );
        for captured in &self.change.captures {
            unit.write(
                "INSERT INTO captures VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
                 ON CONFLICT (\"transaction\", step) DO UPDATE SET amount_out = excluded.amount_out,
                     gross_out = excluded.gross_out, fee_out = excluded.fee_out",
                parameters![
                    self.transaction,
                    i64::from(captured.step),
                    captured.amount,
                    captured.gross,
                    captured.fee,
                    captured.amount_out,
                    captured.gross_out,
                    captured.fee_out,
                    fraction(&captured.rate),
                    i64::from(captured.spread.parts()),
                ],
            );
        }
    }

    /// The merchant's line, the postings behind it, and the merchant's balance. The balance comes
    /// last, since others may wait for the same part of it; sessions keep to parts of their own.
    fn book(&self, unit: &mut Unit<'_>, line: Id, booking: &Booking) -> Result<(), Error> {
        let Self { held, change, .. } = self;
        unit.write(
            "INSERT INTO lines VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
            parameters![
                line,
                held.merchant,
                millis(self.now),
                change.balance,
                change.fee.total().map_err(|error| Error::Column(error.into()))?,
                booking.kind,
                self.transaction,
                booking.amount.currency,
                booking.amount.minor,
            ],
        );
        post(unit, line, &booking.entry);
        unit.write(
            "UPDATE balances SET balance = balance + $2
             WHERE merchant = $1 AND shard = pg_backend_pid() % $3",
            parameters![held.merchant, change.balance, super::members::SHARDS],
        );
        Ok(())
    }
}

/// The postings behind a line.
pub(in super::super) fn post(unit: &mut Unit<'_>, line: Id, entry: &Entry) {
    let postings = entry.postings();
    let column =
        |value: fn(&Posting) -> &'static str| -> Vec<_> { postings.iter().map(value).collect() };
    unit.write(
        "INSERT INTO postings
         SELECT $1, number - 1, account, currency, amount
         FROM unnest($2::text[], $3::text[], $4::bigint[]) WITH ORDINALITY
             AS posting (account, currency, amount, number)",
        parameters![
            line,
            column(|posting| posting.account.name()),
            column(|posting| posting.money.currency.code()),
            postings.iter().map(|posting| posting.money.minor).collect::<Vec<_>>(),
        ],
    );
}

/// The acquirer has carried these out.
pub(super) fn confirm<'a>(unit: &mut Unit<'a>, instructions: &'a [Id]) -> Answer {
    unit.write("DELETE FROM instructions WHERE id = ANY($1)", parameters![instructions]);
    Answer::Done
}
