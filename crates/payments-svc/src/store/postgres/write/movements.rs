//! Captures, refunds and voids: what the domain decides, written whole.

use jiff::Timestamp;

use super::super::{
    super::{Answer, Refusal},
    column::{fraction, millis},
    read::{self, Held, all, first},
    session::Error,
    unit::{NEW_IDS, Unit, ids, parameters},
};
use crate::domain::{
    Booking, Captured, Change, Descriptor, Entry, Id, Movement, Order, Posting, Request,
};

pub(super) async fn r#move<'a>(
    unit: &mut Unit<'a>,
    transaction: Id,
    request: &Request,
    descriptor: Option<&Descriptor>,
    now: Timestamp,
) -> Result<Result<Answer, Refusal>, Error> {
    // The lock comes first: what is read after that stays as it is, and lines get their ids in the
    // order of the trail's steps.
    let sql = format!("{} FOR UPDATE OF transactions", read::HELD);
    let [rows, new] = unit.ask([(&sql, &[&transaction]), NEW_IDS]).await?;
    let Some(mut held) = first(&rows, read::held)? else { return Ok(Err(Refusal::NotFound)) };
    if matches!(request, Request::Refund { .. }) {
        held.holding.captures = captures(unit, transaction).await?;
    }
    let change = match held.holding.decide(request) {
        Ok(change) => change,
        Err(refused) => return Ok(Err(refused.into())),
    };
    let steps = held.holding.steps.saturating_add(1);
    let (line, instruction) = ids(&new)?;
    let decided = Decided { transaction, held, change, now };
    decided.write(unit, line, descriptor)?;
    decided.instruct(unit, instruction);
    Ok(Ok(Answer::Moved { transaction, steps }))
}

async fn captures(unit: &mut Unit<'_>, transaction: Id) -> Result<Vec<Captured>, Error> {
    let sql =
        format!("SELECT {} FROM captures WHERE \"transaction\" = $1 ORDER BY step", read::CAPTURED);
    let [rows] = unit.ask([(&sql, &[&transaction])]).await?;
    all(&rows, read::captured)
}

/// What is to be written.
struct Decided {
    transaction: Id,
    held: Held,
    change: Change,
    now: Timestamp,
}

impl Decided {
    /// The step of the trail, and where money moved, its line and all that goes with it.
    fn write(
        &self,
        unit: &mut Unit<'_>,
        line: Id,
        descriptor: Option<&Descriptor>,
    ) -> Result<(), Error> {
        let Self { held, change, .. } = self;
        self.update(unit);
        let descriptor = match change.movement {
            Movement::Void => None,
            _ => Some(descriptor.unwrap_or(&held.descriptor).as_str().to_owned()),
        };
        unit.write(
            "INSERT INTO trail VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
            parameters![
                self.transaction,
                i64::from(held.holding.steps),
                millis(self.now),
                change.movement,
                change.amount,
                change.balance,
                change.fee.flat,
                change.fee.rate,
                descriptor,
                change.booking.as_ref().map(|_| line),
            ],
        );
        match &change.booking {
            Some(booking) => self.book(unit, line, booking),
            None => Ok(()),
        }
    }

    /// The transaction's amounts, and its captures.
    fn update(&self, unit: &mut Unit<'_>) {
        let amounts = &self.change.amounts;
        unit.write(
            "UPDATE transactions SET captured = $2, refunded = $3, voided = $4, steps = steps + 1
             WHERE id = $1",
            parameters![self.transaction, amounts.captured, amounts.refunded, amounts.voided],
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

    /// What the acquirer is told.
    fn instruct(&self, unit: &mut Unit<'_>, instruction: Id) {
        let Self { held, change, .. } = self;
        unit.write(
            "INSERT INTO instructions VALUES ($1, $2, $3, $4)",
            parameters![instruction, held.payment, Order::from(change.movement), change.amount],
        );
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
