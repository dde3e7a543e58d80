//! Reads of disputes and suspicions of fraud.

use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, Row};

use super::{
    super::Overdue,
    column::{Columns, millis},
    read,
};
use crate::domain::{Dispute, FraudAlert, Id, Reason, Reference};

/// The columns of a dispute, and those of a suspicion of fraud.
pub(super) const DISPUTE: &str =
    "id, merchant, \"transaction\", created, amount, reason_code, reason_title, due";
pub(super) const FRAUD: &str = "id, merchant, \"transaction\", created, reported, reason";

pub(super) fn dispute(db: &Connection, id: Id) -> rusqlite::Result<Option<Dispute>> {
    let sql = format!("SELECT {DISPUTE} FROM disputes WHERE id = ?1");
    db.prepare_cached(&sql)?.query_row([id], dispute_row).optional()
}

pub(super) fn dispute_row(row: &Row<'_>) -> rusqlite::Result<Dispute> {
    let mut columns = Columns::of(row);
    let (id, merchant, transaction) = (columns.next()?, columns.next()?, columns.next()?);
    let (created, amount) = (columns.time()?, columns.next()?);
    let (code, title): (Option<i64>, Option<String>) = (columns.next()?, columns.next()?);
    let reason = code.zip(title).map(|(code, title)| Reason { code, title });
    Ok(Dispute { id, merchant, transaction, created, amount, reason, due: columns.time()? })
}

pub(super) fn fraud(db: &Connection, id: Id) -> rusqlite::Result<Option<FraudAlert>> {
    let sql = format!("SELECT {FRAUD} FROM frauds WHERE id = ?1");
    db.prepare_cached(&sql)?.query_row([id], fraud_row).optional()
}

pub(super) fn fraud_row(row: &Row<'_>) -> rusqlite::Result<FraudAlert> {
    let mut columns = Columns::of(row);
    Ok(FraudAlert {
        id: columns.next()?,
        merchant: columns.next()?,
        transaction: columns.next()?,
        created: columns.time()?,
        reported: columns.optional_time()?,
        reason: columns.next()?,
    })
}

/// Open disputes of test merchants that were due before `until`.
pub(super) fn overdue(db: &Connection, until: Timestamp) -> rusqlite::Result<Vec<Overdue>> {
    let mut query = db.prepare_cached(
        "SELECT disputes.id, \"transaction\", disputes.reference FROM disputes
         CROSS JOIN transactions ON transactions.id = \"transaction\"
         WHERE decision IS NULL AND due < ?1 AND test ORDER BY due LIMIT ?2",
    )?;
    let rows = query.query_map((millis(until), read::JOB_BATCH), |row| {
        let mut columns = Columns::of(row);
        let (id, transaction) = (columns.next()?, columns.next()?);
        Ok(Overdue { id, transaction, reference: columns.text(Reference::stored)? })
    })?;
    rows.collect()
}
