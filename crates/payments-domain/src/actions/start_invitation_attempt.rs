use jiff::Timestamp;

use crate::{
    Id, Invitation,
    write::{Action, Batch, InvitationRow, Needs, Rejection},
};

/// Count an attempt to send an invitation, and set the time of the next one, before the mail is
/// sent. If the process is killed before it deletes the invitation, the mail is sent once more, at
/// that time. Rejected if no attempt is due.
#[derive(Debug)]
pub struct StartInvitationAttempt {
    pub invitation: Id,
    /// A random number that spreads the retries: see `Invitation::retry_delay`.
    pub jitter: u16,
}

impl Action for StartInvitationAttempt {
    type Outcome = Invitation;

    fn needs(&self, needs: &mut Needs) {
        needs.invitations.insert(self.invitation);
    }

    fn decide(&self, batch: &mut Batch) -> Result<Invitation, Rejection> {
        let Self { invitation: id, jitter } = *self;
        let now = batch.now();
        let row = batch.rows.invitations.get(&id).filter(|row| row.due <= now);
        let found = row.zip(batch.loaded.invitations.get(&id));
        let (row, invitation) = found.ok_or(Rejection::NotFound)?;
        let attempts = row.attempts.saturating_add(1);
        let due = now.checked_add(Invitation::retry_delay(attempts, jitter));
        let due = due.unwrap_or(Timestamp::MAX);
        let invitation = Invitation { attempts, ..invitation.clone() };
        let row = InvitationRow { attempts, due, ..row.clone() };
        batch.rows.invitations.update(row);
        Ok(invitation)
    }
}
