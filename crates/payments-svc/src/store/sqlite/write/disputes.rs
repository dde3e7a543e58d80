//! What acquirers tell of their own accord, and what comes of it.

use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::{Applier, movements::Decided};
use crate::{
    domain::{
        Consequence, Contest, Decision, Event, Exchange, Id, Notification, Reason, Reference,
        Refused, Slice,
    },
    store::{
        Answer, Refusal,
        sqlite::{
            column::{Columns, millis},
            read,
        },
    },
};

impl Applier {
    /// Each thing that is told happens once.
    pub(super) fn notice(
        &mut self,
        db: &Connection,
        notification: &Notification,
        exchanges: (Exchange, Exchange),
        now: Timestamp,
    ) -> rusqlite::Result<Result<Answer, Refusal>> {
        let Notification { id, transaction, event, .. } = notification;
        let Some(held) = read::held(db, *transaction, true)? else {
            return Ok(Err(Refusal::NotFound));
        };
        if is_known(db, id)? {
            return Ok(Ok(Answer::Done));
        }
        let (contest, waiting) = match event.dispute() {
            None => (None, None),
            Some(dispute) => {
                (contest(db, *transaction, dispute)?, waiting(db, *transaction, dispute)?)
            }
        };
        let noticed = held.holding.notice(event, (contest.as_ref(), waiting), exchanges);
        let consequence = match noticed {
            Ok(consequence) => consequence,
            Err(overflow) => return Ok(Err(Refused::from(overflow).into())),
        };
        note(db, notification, consequence.waits(), now)?;
        let decided = |change, dispute| Decided {
            transaction: *transaction,
            held: &held,
            change,
            dispute: Some(dispute),
            now,
        };
        match consequence {
            Consequence::None | Consequence::Wait(_) => {}
            Consequence::Alert => self.alert(db, held.merchant, notification, now)?,
            Consequence::Open(opening, end) => {
                let dispute = self.ids.next(now);
                let line = decided(opening.change, dispute).write(db, &mut self.ids, None)?;
                insert(db, (dispute, held.merchant, line, now), notification)?;
                insert_slices(db, dispute, &opening.slices)?;
                if let Some((decision, change)) = end {
                    decided(change, dispute).write(db, &mut self.ids, None)?;
                    decide(db, dispute, decision)?;
                }
            }
            Consequence::End { dispute, decision, change } => {
                decided(change, dispute).write(db, &mut self.ids, None)?;
                decide(db, dispute, decision)?;
            }
        }
        Ok(Ok(Answer::Done))
    }

    fn alert(
        &mut self,
        db: &Connection,
        merchant: Id,
        notification: &Notification,
        now: Timestamp,
    ) -> rusqlite::Result<()> {
        let Event::Fraud { reported, reason } = &notification.event else { return Ok(()) };
        db.prepare_cached("INSERT INTO frauds VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?.execute((
            self.ids.next(now),
            merchant,
            notification.transaction,
            millis(now),
            reported.map(millis),
            reason,
        ))?;
        Ok(())
    }
}

fn is_known(db: &Connection, id: &Reference) -> rusqlite::Result<bool> {
    db.prepare_cached("SELECT 1 FROM notifications WHERE id = ?1")?.exists([id.as_str()])
}

/// Notes that this was told, and what of it waits.
fn note(
    db: &Connection,
    notification: &Notification,
    waits: Option<Decision>,
    now: Timestamp,
) -> rusqlite::Result<()> {
    let dispute = notification.event.dispute().filter(|_| waits.is_some());
    db.prepare_cached("INSERT INTO notifications VALUES (?1, ?2, ?3, ?4, ?5)")?.execute((
        notification.id.as_str(),
        notification.transaction,
        millis(now),
        dispute.map(Reference::as_str),
        waits,
    ))?;
    Ok(())
}

/// The dispute that the acquirer knows by this.
fn contest(
    db: &Connection,
    transaction: Id,
    reference: &Reference,
) -> rusqlite::Result<Option<Contest>> {
    let found = db
        .prepare_cached(
            "SELECT id, decision FROM disputes WHERE \"transaction\" = ?1 AND reference = ?2",
        )?
        .query_row((transaction, reference.as_str()), |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let Some((id, decision)) = found else { return Ok(None) };
    let mut query = db.prepare_cached(
        "SELECT step, amount, gross, fee, again FROM slices WHERE dispute = ?1 ORDER BY number",
    )?;
    let slices = query.query_map([id], slice)?.collect::<Result<_, _>>()?;
    Ok(Some(Contest { id, decision, slices }))
}

fn slice(row: &Row<'_>) -> rusqlite::Result<Slice> {
    let mut columns = Columns::of(row);
    Ok(Slice {
        step: columns.next()?,
        amount: columns.next()?,
        gross: columns.next()?,
        fee: columns.next()?,
        again: columns.next()?,
    })
}

/// The first word on the end of a dispute that was told before its opening.
fn waiting(
    db: &Connection,
    transaction: Id,
    reference: &Reference,
) -> rusqlite::Result<Option<Decision>> {
    db.prepare_cached(
        "SELECT decision FROM notifications WHERE \"transaction\" = ?1 AND dispute = ?2
         ORDER BY created LIMIT 1",
    )?
    .query_row((transaction, reference.as_str()), |row| row.get(0))
    .optional()
}

fn insert(
    db: &Connection,
    (id, merchant, line, now): (Id, Id, Option<Id>, Timestamp),
    notification: &Notification,
) -> rusqlite::Result<()> {
    let Event::Opened { dispute, amount, reason, due } = &notification.event else {
        return Ok(());
    };
    let (code, title) = reason.as_ref().map(|Reason { code, title }| (code, title)).unzip();
    db.prepare_cached(
        "INSERT INTO disputes VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, NULL)",
    )?
    .execute(params![
        id,
        merchant,
        notification.transaction,
        dispute.as_str(),
        millis(now),
        amount.minor(),
        code,
        title,
        millis(*due),
        line,
    ])?;
    Ok(())
}

fn insert_slices(db: &Connection, dispute: Id, slices: &[Slice]) -> rusqlite::Result<()> {
    let mut insert = db.prepare_cached("INSERT INTO slices VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")?;
    for (number, slice) in (0_i64..).zip(slices) {
        let Slice { step, amount, gross, fee, again } = slice;
        insert.execute((dispute, number, step, amount, gross, fee, again))?;
    }
    Ok(())
}

fn decide(db: &Connection, dispute: Id, decision: Decision) -> rusqlite::Result<()> {
    db.prepare_cached("UPDATE disputes SET decision = ?2 WHERE id = ?1")?
        .execute((dispute, decision))?;
    Ok(())
}
