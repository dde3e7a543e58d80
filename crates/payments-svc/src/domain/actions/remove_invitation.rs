use crate::domain::{
    Id,
    write::{Action, ActionResult, Batch, Needs, Outcome, done},
};

/// Delete an invitation that was sent, or failed at its last attempt.
#[derive(Debug)]
pub(crate) struct RemoveInvitation {
    pub(crate) invitation: Id,
}

impl Action for RemoveInvitation {
    fn needs(&self, _: &mut Needs) {}

    fn decide(&self, batch: &mut Batch) -> ActionResult {
        batch.rows.invitations.delete(self.invitation);
        done(Outcome::Done)
    }
}
