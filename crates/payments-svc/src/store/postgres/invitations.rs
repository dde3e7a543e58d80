//! Invitations that are not sent yet. When they are due is told by the database's clock, since
//! those of replicas may differ by more than it takes to send one.

use common::postgres::Error;
use jiff::Timestamp;

use super::{
    super::{Answer, Refusal},
    JOB_BATCH, Postgres,
    column::Columns,
    read::{all, first},
    unit::{Unit, parameters},
};
use crate::domain::{Email, Id, Invitation, Name, Website, title};

impl Postgres {
    /// Those that are to be sent now, the ones that have waited longest first. Those that somebody
    /// is at are left out.
    pub(in super::super) async fn due_invitations(&self, _: Timestamp) -> Result<Vec<Id>, Error> {
        let sql = "SELECT id FROM invitations
                   WHERE due <= (extract(epoch FROM clock_timestamp()) * 1000)::bigint
                   ORDER BY due, id LIMIT $1 FOR UPDATE SKIP LOCKED";
        let [rows] = self.ask([(sql, &[&JOB_BATCH])]).await?;
        all(&rows, |columns| columns.next())
    }
}

/// Counts an attempt, and sets when the next one is due.
pub(super) async fn take(
    unit: &mut Unit<'_>,
    id: Id,
    dice: u16,
) -> Result<Result<Answer, Refusal>, Error> {
    let sql = "SELECT invitations.id, users.email, name, website, attempts, clock
               FROM (SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS clock) AS now,
                   invitations JOIN users ON users.id = \"user\"
                   JOIN merchants ON merchants.id = merchant
               WHERE invitations.id = $1 AND due <= clock
               FOR UPDATE OF invitations SKIP LOCKED";
    let [rows] = unit.ask([(sql, &[&id])]).await?;
    let Some((invitation, clock)) = first(&rows, invitation)? else {
        return Ok(Err(Refusal::NotFound));
    };
    let spacing = Invitation::spacing(invitation.attempts, dice);
    unit.write(
        "UPDATE invitations SET attempts = $2, due = $3 WHERE id = $1",
        parameters![id, i64::from(invitation.attempts), clock.saturating_add_unsigned(spacing)],
    );
    Ok(Ok(Answer::Invitation(Box::new(invitation))))
}

/// Nothing is left to do for it.
pub(super) fn remove(unit: &mut Unit<'_>, id: Id) -> Answer {
    unit.write("DELETE FROM invitations WHERE id = $1", parameters![id]);
    Answer::Done
}

/// An invitation with one more attempt, and the time.
fn invitation(columns: &mut Columns<'_>) -> Result<(Invitation, i64), Error> {
    let (id, to) = (columns.next()?, columns.text(Email::stored)?);
    let (name, website) = (columns.optional(Name::stored)?, columns.text(Website::stored)?);
    let merchant = title(name.as_ref(), &website).to_owned();
    let attempts = columns.count()?.saturating_add(1);
    Ok((Invitation { id, to, merchant, attempts }, columns.next()?))
}
