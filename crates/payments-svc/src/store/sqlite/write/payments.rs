//! Payments on their way to the acquirer, and what came of them.

use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::{
    super::{
        super::{Answer, MakeReceipt, Refusal},
        column::{card, millis},
    },
    Applier,
};
use crate::domain::{
    Amounts, Card, Currency, Custom, Descriptor, Id, Original, Payment, ProcessingError, Tds,
    Transaction, Verdict,
};

/// A payment as it is stored.
struct Begun {
    merchant: Id,
    test: bool,
    currency: Currency,
    amount: i64,
    descriptor: Descriptor,
    custom: Option<Custom>,
    card: Card,
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
        let card = &payment.card;
        let (year, month) = card.expiry.parts();
        db.prepare_cached(
            "INSERT INTO operations VALUES
                 (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)",
        )?
        .execute(params![
            id,
            payment.merchant,
            millis(now),
            payment.currency,
            payment.amount.minor(),
            payment.descriptor.as_str(),
            payment.custom.as_ref().map(Custom::as_str),
            card.bin,
            card.last4,
            year,
            month,
            card.scheme,
            card.code_present,
            payment.tds,
            payment.recurring,
        ])?;
        Ok(Ok(Answer::Begun(id)))
    }

    /// The first word on a payment counts: a later one finds nothing.
    pub(super) fn conclude(
        &mut self,
        db: &Connection,
        operation: Id,
        verdict: &Verdict,
        receipt: MakeReceipt,
        now: Timestamp,
    ) -> rusqlite::Result<Result<Answer, Refusal>> {
        let Some(begun) = begun(db, operation)? else { return Ok(Err(Refusal::NotFound)) };
        db.prepare_cached("DELETE FROM operations WHERE id = ?1")?.execute([operation])?;
        let (error, reference) = match verdict {
            Verdict::Approved { reference } => (None, Some(reference.as_str())),
            Verdict::Declined(error) => (Some(*error), None),
        };
        let id = self.ids.next(now);
        insert(db, id, operation, &begun, (error, reference), now)?;
        let answer = Answer::Concluded(Box::new(Transaction {
            id,
            merchant: begun.merchant,
            test: begun.test,
            created: now,
            currency: begun.currency,
            amounts: Amounts {
                amount: begun.amount,
                successful: error.is_none(),
                ..Amounts::default()
            },
            descriptor: begun.descriptor,
            card: begun.card,
            custom: begun.custom,
            tds: begun.tds,
            recurring: begun.recurring,
            error,
            trail: Vec::new(),
        }));
        db.prepare_cached(
            "UPDATE idempotency SET operation = NULL, receipt = ?2 WHERE operation = ?1",
        )?
        .execute((operation, receipt(&answer).0.as_ref()))?;
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
    let row = |row: &Row<'_>| {
        Ok(Begun {
            merchant: row.get("merchant")?,
            test: row.get("test")?,
            currency: row.get("currency")?,
            amount: row.get("amount")?,
            descriptor: Descriptor::stored(row.get("descriptor")?),
            custom: row.get::<_, Option<String>>("custom")?.map(Custom::stored),
            card: card(row)?,
            tds: row.get("tds")?,
            recurring: row.get("recurring")?,
        })
    };
    db.prepare_cached(
        "SELECT operations.*, test FROM operations JOIN merchants ON merchants.id = merchant
         WHERE operations.id = ?1",
    )?
    .query_row([operation], row)
    .optional()
}

fn insert(
    db: &Connection,
    id: Id,
    operation: Id,
    begun: &Begun,
    (error, reference): (Option<ProcessingError>, Option<&str>),
    now: Timestamp,
) -> rusqlite::Result<()> {
    let card = &begun.card;
    let (year, month) = card.expiry.parts();
    db.prepare_cached(
        "INSERT INTO transactions (id, merchant, operation, created, currency, amount, error,
             descriptor, bin, last4, expiry_year, expiry_month, scheme, code_present, tds,
             recurring, reference, has_custom)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)",
    )?
    .execute(params![
        id,
        begun.merchant,
        operation,
        millis(now),
        begun.currency,
        begun.amount,
        error,
        begun.descriptor.as_str(),
        card.bin,
        card.last4,
        year,
        month,
        card.scheme,
        card.code_present,
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
