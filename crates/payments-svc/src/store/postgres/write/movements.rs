//! Captures, refunds and voids: what the domain decides, written whole.

use common::postgres::Error;
use jiff::Timestamp;

use super::super::{
    super::{Answer, Refusal},
    column::{fraction, millis},
    read::{self, all, first},
    trail,
    unit::{NEW_IDS, Unit, ids, parameters},
};
use crate::domain::{
    Booking, Change, Descriptor, Holding, Id, Movement, Order, Posting, Request, Step, Transaction,
};

/// A transaction that nobody else moves before this one is over.
struct Held {
    transaction: Transaction,
    holding: Holding,
    /// What the acquirer knows it by.
    payment: Id,
    /// New, and drawn after the lock was got: lines come in the order of the trail's steps.
    line: Id,
    instruction: Id,
}

pub(super) async fn r#move<'a>(
    unit: &mut Unit<'a>,
    id: Id,
    request: &Request,
    descriptor: Option<&Descriptor>,
    now: Timestamp,
) -> Result<Result<Answer, Refusal>, Error> {
    let Some(mut held) = hold(unit, id).await? else { return Ok(Err(Refusal::NotFound)) };
    if matches!(request, Request::Refund { .. }) {
        held.holding.captures = captures(unit, id).await?;
    }
    let change = match held.holding.decide(request) {
        Ok(change) => change,
        Err(refused) => return Ok(Err(refused.into())),
    };
    let step = Step {
        created: now,
        movement: change.movement,
        amount: change.amount,
        balance: change.balance,
        fee: change.fee,
        descriptor: match change.movement {
            Movement::Void => None,
            _ => Some(descriptor.unwrap_or(&held.transaction.descriptor).clone()),
        },
        line: change.booking.as_ref().map(|_| held.line),
    };
    update(unit, &held, &change, &step);
    if let Some(booking) = &change.booking {
        book(unit, &held, &change, booking, now)?;
    }
    let Held { mut transaction, .. } = held;
    transaction.amounts = change.amounts;
    transaction.trail.push(step);
    Ok(Ok(Answer::Moved(Box::new(transaction))))
}

/// Locks the transaction first: what is read after that stays as it is.
async fn hold(unit: &mut Unit<'_>, id: Id) -> Result<Option<Held>, Error> {
    let sql = format!(
        "SELECT {}, {} FROM {} JOIN merchants ON merchants.id = merchant
         WHERE transactions.id = $1 FOR UPDATE OF transactions",
        read::TRANSACTION,
        read::HELD,
        read::TRANSACTIONS
    );
    let trail = trail();
    let [rows, trail, new] = unit.ask([(&sql, &[&id]), (&trail, &[&id]), NEW_IDS]).await?;
    let (line, instruction) = ids(&new)?;
    first(&rows, |columns| {
        let (transaction, steps) = read::transaction(columns)?;
        let (payment, holding) = read::held(columns, (&transaction, steps))?;
        let transaction = read::with_trail((transaction, steps), &mut read::trails(&trail)?);
        Ok(Held { transaction, holding, payment, line, instruction })
    })
}

async fn captures(unit: &mut Unit<'_>, id: Id) -> Result<Vec<crate::domain::Captured>, Error> {
    let sql =
        format!("SELECT {} FROM captures WHERE \"transaction\" = $1 ORDER BY step", read::CAPTURED);
    let [rows] = unit.ask([(&sql, &[&id])]).await?;
    all(&rows, read::captured)
}

/// The transaction's amounts, its trail, its captures, and what the acquirer is told.
fn update(unit: &mut Unit<'_>, held: &Held, change: &Change, step: &Step) {
    let id = held.transaction.id;
    let amounts = &change.amounts;
    unit.write(
        "UPDATE transactions SET captured = $2, refunded = $3, voided = $4, steps = steps + 1
         WHERE id = $1",
        parameters![id, amounts.captured, amounts.refunded, amounts.voided],
    );
    unit.write(
        "INSERT INTO trail VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
        parameters![
            id,
            i64::from(held.holding.steps),
            millis(step.created),
            step.movement,
            step.amount,
            step.balance,
            step.fee.flat,
            step.fee.rate,
            step.descriptor.as_ref().map(|descriptor| descriptor.as_str().to_owned()),
            step.line,
        ],
    );
    for captured in &change.captures {
        unit.write(
            "INSERT INTO captures VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
             ON CONFLICT (\"transaction\", step) DO UPDATE SET amount_out = excluded.amount_out,
                 gross_out = excluded.gross_out, fee_out = excluded.fee_out",
            parameters![
                id,
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
    unit.write(
        "INSERT INTO instructions VALUES ($1, $2, $3, $4)",
        parameters![held.instruction, held.payment, Order::from(change.movement), change.amount],
    );
}

/// The merchant's line, the postings behind it, and the merchant's balance. The balance comes last,
/// since others may wait for the same part of it; sessions keep to parts of their own.
fn book(
    unit: &mut Unit<'_>,
    held: &Held,
    change: &Change,
    booking: &Booking,
    now: Timestamp,
) -> Result<(), Error> {
    let merchant = held.transaction.merchant;
    unit.write(
        "INSERT INTO lines VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        parameters![
            held.line,
            merchant,
            millis(now),
            change.balance,
            change.fee.total().map_err(|error| Error::Column(error.into()))?,
            booking.kind,
            held.transaction.id,
            booking.amount.currency,
            booking.amount.minor,
        ],
    );
    let postings = booking.entry.postings();
    let column =
        |value: fn(&Posting) -> &'static str| -> Vec<_> { postings.iter().map(value).collect() };
    unit.write(
        "INSERT INTO postings
         SELECT $1, number - 1, account, currency, amount
         FROM unnest($2::text[], $3::text[], $4::bigint[]) WITH ORDINALITY
             AS posting (account, currency, amount, number)",
        parameters![
            held.line,
            column(|posting| posting.account.name()),
            column(|posting| posting.money.currency.code()),
            postings.iter().map(|posting| posting.money.minor).collect::<Vec<_>>(),
        ],
    );
    unit.write(
        "UPDATE balances SET balance = balance + $2
         WHERE merchant = $1 AND shard = pg_backend_pid() % $3",
        parameters![merchant, change.balance, super::members::SHARDS],
    );
    Ok(())
}

/// The acquirer has carried these out.
pub(super) fn confirm<'a>(unit: &mut Unit<'a>, instructions: &'a [Id]) -> Answer {
    unit.write("DELETE FROM instructions WHERE id = ANY($1)", parameters![instructions]);
    Answer::Done
}
