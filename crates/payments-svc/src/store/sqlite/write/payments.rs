//! Payments on their way to the acquirer, and what came of them.

use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::Applier;
use crate::{
    domain::{
        Card, Challenge, Conclusion, Currency, Custom, Descriptor, Id, Order, Original, Payment,
        Verdict,
    },
    store::{
        Answer, Refusal,
        sqlite::column::{CARD, Columns, millis},
    },
};

/// A payment as it is stored.
struct Begun {
    merchant: Id,
    test: bool,
    currency: Currency,
    amount: i64,
    descriptor: Descriptor,
    custom: Option<Custom>,
    recurring: bool,
    /// What is kept of the card while its customer is asked.
    challenged: Option<Card>,
}

impl Applier {
    pub(super) fn begin(
        &mut self,
        db: &Connection,
        payment: &Payment,
        now: Timestamp,
    ) -> rusqlite::Result<Result<Answer, Refusal>> {
        let id = self.ids.next(now);
        db.prepare_cached(
            "INSERT INTO operations (id, merchant, created, currency, amount, descriptor, custom,
                 recurring)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        )?
        .execute((
            id,
            payment.merchant,
            millis(now),
            payment.currency,
            payment.amount.minor(),
            payment.descriptor.as_str(),
            payment.custom.as_ref().map(Custom::as_str),
            payment.recurring,
        ))?;
        Ok(Ok(Answer::Begun(id)))
    }

    /// The first word on a payment counts: a later one finds nothing.
    pub(super) fn conclude(
        &mut self,
        db: &Connection,
        operation: Id,
        (verdict, card): (Option<&Verdict>, Option<&Card>),
        now: Timestamp,
    ) -> rusqlite::Result<Result<Answer, Refusal>> {
        let Some(begun) = begun(db, operation)? else { return Ok(Err(Refusal::NotFound)) };
        db.prepare_cached("DELETE FROM operations WHERE id = ?1")?.execute([operation])?;
        let conclusion = Conclusion::of(verdict, begun.challenged.is_some());
        let error = conclusion.error;
        let id = self.ids.next(now);
        let card = card.or(begun.challenged.as_ref());
        insert(db, (id, operation, now), &begun, card, &conclusion)?;
        if conclusion.is_reversed {
            self.instruct(db, id, (Order::Reverse, begun.amount), None, now)?;
        }
        let answer = Answer::Concluded { transaction: id, error };
        db.prepare_cached(
            "UPDATE idempotency SET operation = NULL, receipt = ?2 WHERE operation = ?1",
        )?
        .execute((operation, (self.tell)(&answer).as_ref()))?;
        Ok(Ok(answer))
    }

    pub(super) fn save_card(
        &mut self,
        db: &Connection,
        merchant: Id,
        original: &Original,
        notes: Option<&str>,
        now: Timestamp,
    ) -> rusqlite::Result<Result<Answer, Refusal>> {
        let id = self.ids.next(now);
        let Original { card, reference } = original;
        let (year, month) = card.expiry.parts();
        db.prepare_cached(
            "INSERT INTO cards VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
        )?
        .execute(params![
            id,
            merchant,
            millis(now),
            card.bin,
            card.last4,
            year,
            month,
            card.scheme,
            card.code_present,
            reference,
            notes,
        ])?;
        Ok(Ok(Answer::Card(id)))
    }
}

pub(super) fn challenge(
    db: &Connection,
    operation: Id,
    challenge: &Challenge,
) -> rusqlite::Result<Result<Answer, Refusal>> {
    let Challenge { card, reference, until } = challenge;
    let (year, month) = card.expiry.parts();
    let noted = db
        .prepare_cached(
            "UPDATE operations SET bin = ?2, last4 = ?3, expiry_year = ?4, expiry_month = ?5,
                 scheme = ?6, code_present = ?7, challenge = ?8, challenge_until = ?9
             WHERE id = ?1",
        )?
        .execute(params![
            operation,
            card.bin,
            card.last4,
            year,
            month,
            card.scheme,
            card.code_present,
            reference,
            millis(*until),
        ])?;
    Ok(if noted == 0 { Err(Refusal::NotFound) } else { Ok(Answer::Done) })
}

fn begun(db: &Connection, operation: Id) -> rusqlite::Result<Option<Begun>> {
    let sql = format!(
        "SELECT merchant, test, operations.currency, amount, operations.descriptor, custom,
             recurring, {CARD}
         FROM operations JOIN merchants ON merchants.id = merchant WHERE operations.id = ?1"
    );
    db.prepare_cached(&sql)?.query_row([operation], begun_row).optional()
}

fn begun_row(row: &Row<'_>) -> rusqlite::Result<Begun> {
    let mut columns = Columns::of(row);
    Ok(Begun {
        merchant: columns.next()?,
        test: columns.next()?,
        currency: columns.next()?,
        amount: columns.next()?,
        descriptor: columns.text(Descriptor::stored)?,
        custom: columns.optional(Custom::stored)?,
        recurring: columns.next()?,
        challenged: columns.optional_card()?,
    })
}

fn insert(
    db: &Connection,
    (id, operation, now): (Id, Id, Timestamp),
    begun: &Begun,
    card: Option<&Card>,
    conclusion: &Conclusion<'_>,
) -> rusqlite::Result<()> {
    db.prepare_cached(
        "INSERT INTO transactions (id, merchant, test, operation, created, currency, amount, error,
             descriptor, bin, last4, expiry_year, expiry_month, scheme, code_present, tds,
             recurring, reference, has_custom)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19)",
    )?
    .execute(params![
        id,
        begun.merchant,
        begun.test,
        operation,
        millis(now),
        begun.currency,
        begun.amount,
        conclusion.error,
        begun.descriptor.as_str(),
        card.map(|card| &card.bin),
        card.map(|card| &card.last4),
        card.map(|card| card.expiry.parts().0),
        card.map(|card| card.expiry.parts().1),
        card.map(|card| card.scheme),
        card.map(|card| card.code_present),
        conclusion.tds,
        begun.recurring,
        conclusion.reference,
        begun.custom.is_some(),
    ])?;
    if let Some(custom) = &begun.custom {
        db.prepare_cached("INSERT INTO customs VALUES (?1, ?2)")?.execute((id, custom.as_str()))?;
    }
    Ok(())
}
