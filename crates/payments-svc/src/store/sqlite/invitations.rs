//! Invitations that are not sent yet.

use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, Row};

use super::{
    super::{Answer, Refusal},
    column::{Columns, millis},
    read::JOB_BATCH,
};
use crate::domain::{Email, Id, Invitation, Name, Website, title};

/// Those that are to be sent at `now`, the ones that have waited longest first.
pub(super) fn due(db: &Connection, now: Timestamp) -> rusqlite::Result<Vec<Id>> {
    let mut query =
        db.prepare_cached("SELECT id FROM invitations WHERE due <= ?1 ORDER BY due, id LIMIT ?2")?;
    query.query_map((millis(now), JOB_BATCH), |row| row.get(0))?.collect()
}

/// Counts an attempt, and sets when the next one is due.
pub(super) fn take(
    db: &Connection,
    id: Id,
    dice: u16,
    now: Timestamp,
) -> rusqlite::Result<Result<Answer, Refusal>> {
    let found = db
        .prepare_cached(
            "SELECT invitations.id, users.email, name, website, attempts FROM invitations
             JOIN users ON users.id = user JOIN merchants ON merchants.id = merchant
             WHERE invitations.id = ?1 AND due <= ?2",
        )?
        .query_row((id, millis(now)), invitation)
        .optional()?;
    let Some(invitation) = found else { return Ok(Err(Refusal::NotFound)) };
    let spacing = Invitation::spacing(invitation.attempts, dice);
    db.prepare_cached("UPDATE invitations SET attempts = ?2, due = ?3 WHERE id = ?1")?
        .execute((id, invitation.attempts, millis(now).saturating_add_unsigned(spacing)))?;
    Ok(Ok(Answer::Invitation(Box::new(invitation))))
}

/// Nothing is left to do for it.
pub(super) fn remove(db: &Connection, id: Id) -> rusqlite::Result<Result<Answer, Refusal>> {
    db.prepare_cached("DELETE FROM invitations WHERE id = ?1")?.execute([id])?;
    Ok(Ok(Answer::Done))
}

/// An invitation with one more attempt.
fn invitation(row: &Row<'_>) -> rusqlite::Result<Invitation> {
    let mut columns = Columns::of(row);
    let (id, to) = (columns.next()?, columns.text(Email::stored)?);
    let (name, website) = (columns.optional(Name::stored)?, columns.text(Website::stored)?);
    let merchant = title(name.as_ref(), &website).to_owned();
    let attempts = columns.next::<u32>()?.saturating_add(1);
    Ok(Invitation { id, to, merchant, attempts })
}
