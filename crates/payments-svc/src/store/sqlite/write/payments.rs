//! Payments on their way to the acquirer, and what came of them.

use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::Applier;
use crate::{
    domain::{
        Card, Currency, Custom, Descriptor, Id, Order, Original, Payment, ProcessingError, Tds,
        Verdict,
    },
    store::{
        Answer, Refusal,
        sqlite::column::{Columns, millis},
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
    tds: Tds,
    recurring: bool,
}

impl Applier {
    pub(super) fn begin(
        &mut self,
        db: &Connection,
        payment: &Payment,
        now: Timestamp,
    ) -> rusqlite::Result<Result<Answer, Refusal>> {
        let id = self.ids.next(now);
        db.prepare_cached("INSERT INTO operations VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)")?
            .execute((
                id,
                payment.merchant,
                millis(now),
                payment.currency,
                payment.amount.minor(),
                payment.descriptor.as_str(),
                payment.custom.as_ref().map(Custom::as_str),
                payment.tds,
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
        let (error, reference) = match verdict {
            Some(Verdict::Approved { reference }) => (None, Some(reference.as_str())),
            Some(Verdict::Declined(error)) => (Some(*error), None),
            None => (Some(ProcessingError::TRY_AGAIN), None),
        };
        let id = self.ids.next(now);
        insert(db, (id, operation, now), &begun, card, (error, reference))?;
        if verdict.is_none() {
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

fn begun(db: &Connection, operation: Id) -> rusqlite::Result<Option<Begun>> {
    db.prepare_cached(
        "SELECT merchant, test, operations.currency, amount, operations.descriptor, custom, tds,
             recurring
         FROM operations JOIN merchants ON merchants.id = merchant WHERE operations.id = ?1",
    )?
    .query_row([operation], begun_row)
    .optional()
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
        tds: columns.next()?,
        recurring: columns.next()?,
    })
}

fn insert(
    db: &Connection,
    (id, operation, now): (Id, Id, Timestamp),
    begun: &Begun,
    card: Option<&Card>,
    (error, reference): (Option<ProcessingError>, Option<&str>),
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
        error,
        begun.descriptor.as_str(),
        card.map(|card| &card.bin),
        card.map(|card| &card.last4),
        card.map(|card| card.expiry.parts().0),
        card.map(|card| card.expiry.parts().1),
        card.map(|card| card.scheme),
        card.map(|card| card.code_present),
        begun.tds,
        begun.recurring,
        reference,
        begun.custom.is_some(),
    ])?;
    if let Some(custom) = &begun.custom {
        db.prepare_cached("INSERT INTO customs VALUES (?1, ?2)")?.execute((id, custom.as_str()))?;
    }
    Ok(())
}
