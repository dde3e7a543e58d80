//! Payments on their way to the acquirer, and what came of them.

use common::postgres::Error;
use jiff::Timestamp;

use super::super::{
    super::{Answer, Refusal, Tell},
    column::{CARD, Columns, millis},
    read::first,
    unit::{NEW_IDS, Unit, ids, parameters},
};
use super::movements::instruct;
use crate::domain::{
    Amounts, Card, Challenge, Conclusion, Custom, Descriptor, Id, Order, Original, Payment,
    Transaction, Verdict,
};

pub(super) async fn begin<'a>(
    unit: &mut Unit<'a>,
    payment: &'a Payment,
    now: Timestamp,
) -> Result<Result<Answer, Refusal>, Error> {
    let [rows] = unit.ask([NEW_IDS]).await?;
    let (id, _) = ids(&rows)?;
    unit.write(
        "INSERT INTO operations (id, merchant, created, currency, amount, descriptor, custom,
             recurring)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
        parameters![
            id,
            payment.merchant,
            millis(now),
            payment.currency,
            payment.amount.minor(),
            payment.descriptor.as_str(),
            payment.custom.as_ref().map(Custom::as_str),
            payment.recurring,
        ],
    );
    Ok(Ok(Answer::Begun(id)))
}

/// The first word on a payment counts: a later one finds nothing.
pub(super) async fn conclude<'a>(
    unit: &mut Unit<'a>,
    operation: Id,
    (verdict, card): (Option<&'a Verdict>, Option<&'a Card>),
    tell: Tell,
    now: Timestamp,
) -> Result<Result<Answer, Refusal>, Error> {
    let sql = format!(
        "DELETE FROM operations USING merchants
         WHERE operations.id = $1 AND merchants.id = merchant
         RETURNING merchant, test, operations.currency, amount, operations.descriptor, custom,
             recurring, {CARD}"
    );
    let [begun, new] = unit.ask([(&sql, &[&operation]), NEW_IDS]).await?;
    let (id, instruction) = ids(&new)?;
    let concluded = first(&begun, |columns| concluded(columns, id, (verdict, card), now))?;
    let Some((begun, conclusion)) = concluded else { return Ok(Err(Refusal::NotFound)) };
    let error = begun.error;
    insert(unit, operation, &begun, conclusion.reference);
    if conclusion.is_reversed {
        instruct(unit, (instruction, id), (Order::Reverse, begun.amounts.amount), None);
    }
    let answer = Answer::Concluded { transaction: id, error };
    unit.write(
        "UPDATE idempotency SET operation = NULL, receipt = $2 WHERE operation = $1",
        parameters![operation, tell(&answer).to_vec()],
    );
    Ok(Ok(answer))
}

/// The transaction that comes of what was begun.
fn concluded<'a>(
    columns: &mut Columns<'_>,
    id: Id,
    (verdict, card): (Option<&'a Verdict>, Option<&Card>),
    now: Timestamp,
) -> Result<(Transaction, Conclusion<'a>), Error> {
    let (merchant, test, currency) = (columns.next()?, columns.next()?, columns.next()?);
    let (amount, descriptor) = (columns.next()?, columns.text(Descriptor::stored)?);
    let (custom, recurring) = (columns.optional(Custom::stored)?, columns.next()?);
    let challenged = columns.optional_card()?;
    let conclusion = Conclusion::of(verdict, challenged.is_some());
    let error = conclusion.error;
    let transaction = Transaction {
        id,
        merchant,
        test,
        created: now,
        currency,
        amounts: Amounts { amount, successful: error.is_none(), ..Amounts::default() },
        descriptor,
        card: card.cloned().or(challenged),
        custom,
        tds: conclusion.tds,
        recurring,
        error,
        trail: Vec::new(),
    };
    Ok((transaction, conclusion))
}

/// The customer is asked: what the payment goes on with is kept.
pub(super) async fn challenge(
    unit: &mut Unit<'_>,
    operation: Id,
    challenge: &Challenge,
) -> Result<Result<Answer, Refusal>, Error> {
    let Challenge { card, reference, until } = challenge;
    let (year, month) = card.expiry.parts();
    let sql = "UPDATE operations SET bin = $2, last4 = $3, expiry_year = $4, expiry_month = $5,
                   scheme = $6, code_present = $7, challenge = $8, challenge_until = $9
               WHERE id = $1 RETURNING id";
    let (month, until) = (i16::from(month), millis(*until));
    let [noted] = unit
        .ask([(
            sql,
            &[
                &operation,
                &card.bin,
                &card.last4,
                &year,
                &month,
                &card.scheme,
                &card.code_present,
                reference,
                &until,
            ],
        )])
        .await?;
    Ok(if noted.is_empty() { Err(Refusal::NotFound) } else { Ok(Answer::Done) })
}

fn insert<'a>(unit: &mut Unit<'a>, operation: Id, new: &Transaction, reference: Option<&'a str>) {
    let card = new.card.as_ref();
    unit.write(
        "INSERT INTO transactions (id, merchant, test, operation, created, currency, amount, error,
             descriptor, bin, last4, expiry_year, expiry_month, scheme, code_present, tds,
             recurring, reference, has_custom)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18,
             $19)",
        parameters![
            new.id,
            new.merchant,
            new.test,
            operation,
            millis(new.created),
            new.currency,
            new.amounts.amount,
            new.error,
            new.descriptor.as_str().to_owned(),
            card.map(|card| card.bin.clone()),
            card.map(|card| card.last4.clone()),
            card.map(|card| card.expiry.parts().0),
            card.map(|card| i16::from(card.expiry.parts().1)),
            card.map(|card| card.scheme),
            card.map(|card| card.code_present),
            new.tds,
            new.recurring,
            reference,
            new.custom.is_some(),
        ],
    );
    if let Some(custom) = &new.custom {
        let custom = custom.as_str().to_owned();
        unit.write("INSERT INTO customs VALUES ($1, $2)", parameters![new.id, custom]);
    }
}

pub(super) async fn save_card<'a>(
    unit: &mut Unit<'a>,
    merchant: Id,
    original: &'a Original,
    notes: Option<&'a str>,
    now: Timestamp,
) -> Result<Result<Answer, Refusal>, Error> {
    let [rows] = unit.ask([NEW_IDS]).await?;
    let (id, _) = ids(&rows)?;
    let Original { card, reference } = original;
    let (year, month) = card.expiry.parts();
    unit.write(
        "INSERT INTO cards VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
        parameters![
            id,
            merchant,
            millis(now),
            &*card.bin,
            &*card.last4,
            year,
            i16::from(month),
            card.scheme,
            card.code_present,
            &**reference,
            notes,
        ],
    );
    Ok(Ok(Answer::Card(id)))
}
