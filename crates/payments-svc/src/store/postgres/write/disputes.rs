//! What acquirers tell of their own accord, and what comes of it.

use common::postgres::{Asked, Error};
use jiff::Timestamp;
use tokio_postgres::types::ToSql;

use super::{
    super::{
        super::{Answer, Refusal},
        column::millis,
        read::{self, all, first},
        unit::{NEW_IDS, Unit, ids, parameters},
    },
    movements::Decided,
};
use crate::domain::{
    Consequence, Contest, Decision, Event, Exchange, Id, Notification, Reason, Reference, Refused,
    Slice,
};

/// The first word on the end of a dispute that was told before its opening.
const WAITING: &str = "SELECT decision FROM notifications
     WHERE \"transaction\" = $1 AND dispute = $2 ORDER BY created LIMIT 1";

/// Each thing that is told happens once.
pub(super) async fn notice<'a>(
    unit: &mut Unit<'a>,
    notification: &'a Notification,
    exchanges: (Exchange, Exchange),
    now: Timestamp,
) -> Result<Result<Answer, Refusal>, Error> {
    let Notification { id, transaction, event, .. } = notification;
    // The lock comes first: what is read after that stays as it is.
    let slices = format!(
        "SELECT {} FROM slices JOIN disputes ON disputes.id = dispute
         WHERE \"transaction\" = $1 AND reference = $2 ORDER BY number",
        read::SLICE
    );
    let dispute = event.dispute().map_or("", Reference::as_str);
    let about: [&(dyn ToSql + Sync); 2] = [transaction, &dispute];
    let asked: [Asked<'_>; 8] = [
        (read::HOLD, &[transaction]),
        ("SELECT 1 FROM notifications WHERE id = $1", &[&id.as_str()]),
        (read::CAPTURES, &[transaction]),
        ("SELECT id, decision FROM disputes WHERE \"transaction\" = $1 AND reference = $2", &about),
        (&slices, &about),
        (WAITING, &about),
        NEW_IDS,
        NEW_IDS,
    ];
    let [rows, known, captures, contest, slices, waiting, new, more] = unit.ask(asked).await?;
    let Some(mut held) = first(&rows, read::held)? else { return Ok(Err(Refusal::NotFound)) };
    if !known.is_empty() {
        return Ok(Ok(Answer::Done));
    }
    held.holding.captures = all(&captures, read::captured)?;
    let slices = all(&slices, read::slice)?;
    let contest = first(&contest, |columns| {
        Ok(Contest { id: columns.next()?, decision: columns.next()?, slices })
    })?;
    let waiting = first(&waiting, |columns| columns.next())?;
    let consequence = match held.holding.notice(event, (contest.as_ref(), waiting), exchanges) {
        Ok(consequence) => consequence,
        Err(overflow) => return Ok(Err(Refused::from(overflow).into())),
    };
    note(unit, notification, consequence.waits(), now);
    let decided = |change, dispute| Decided {
        transaction: *transaction,
        held: &held,
        change,
        dispute: Some(dispute),
        now,
    };
    let ((id, line), (end_line, _)) = (ids(&new)?, ids(&more)?);
    match consequence {
        Consequence::None | Consequence::Wait(_) => {}
        Consequence::Alert => alert(unit, (id, held.merchant), notification, now),
        Consequence::Open(opening, end) => {
            decided(opening.change, id).write(unit, line, None)?;
            insert(unit, (id, held.merchant, line), notification, now);
            insert_slices(unit, id, &opening.slices);
            if let Some((decision, change)) = end {
                decided(change, id).write(unit, end_line, None)?;
                decide(unit, id, decision);
            }
        }
        Consequence::End { dispute, decision, change } => {
            decided(change, dispute).write(unit, line, None)?;
            decide(unit, dispute, decision);
        }
    }
    Ok(Ok(Answer::Done))
}

fn alert(
    unit: &mut Unit<'_>,
    (id, merchant): (Id, Id),
    notification: &Notification,
    now: Timestamp,
) {
    let Event::Fraud { reported, reason } = notification.event else { return };
    unit.write(
        "INSERT INTO frauds VALUES ($1, $2, $3, $4, $5, $6)",
        parameters![
            id,
            merchant,
            notification.transaction,
            millis(now),
            reported.map(millis),
            reason
        ],
    );
}

/// Notes that this was told, and what of it waits.
fn note<'a>(
    unit: &mut Unit<'a>,
    notification: &'a Notification,
    waits: Option<Decision>,
    now: Timestamp,
) {
    let dispute = notification.event.dispute().filter(|_| waits.is_some());
    unit.write(
        "INSERT INTO notifications VALUES ($1, $2, $3, $4, $5)",
        parameters![
            notification.id.as_str(),
            notification.transaction,
            millis(now),
            dispute.map(Reference::as_str),
            waits,
        ],
    );
}

fn insert<'a>(
    unit: &mut Unit<'a>,
    (id, merchant, line): (Id, Id, Id),
    notification: &'a Notification,
    now: Timestamp,
) {
    let Event::Opened { dispute, amount, reason, due } = &notification.event else { return };
    let (code, title) = reason.as_ref().map(|Reason { code, title }| (*code, &**title)).unzip();
    unit.write(
        "INSERT INTO disputes VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, NULL)",
        parameters![
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
        ],
    );
}

fn insert_slices(unit: &mut Unit<'_>, dispute: Id, slices: &[Slice]) {
    for (number, slice) in (0_i64..).zip(slices) {
        let Slice { step, amount, gross, fee, again } = *slice;
        unit.write(
            "INSERT INTO slices VALUES ($1, $2, $3, $4, $5, $6, $7)",
            parameters![dispute, number, step.map(i64::from), amount, gross, fee, again],
        );
    }
}

fn decide(unit: &mut Unit<'_>, dispute: Id, decision: Decision) {
    unit.write("UPDATE disputes SET decision = $2 WHERE id = $1", parameters![dispute, decision]);
}
