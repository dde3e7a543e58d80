use crate::{
    Id,
    write::{Action, Batch, Needs, Rejection},
};

/// Delete an invitation that was sent, or failed at its last attempt.
#[derive(Debug)]
pub struct RemoveInvitation {
    pub invitation: Id,
}

impl Action for RemoveInvitation {
    type Outcome = ();

    fn needs(&self, _: &mut Needs) {}

    fn decide(&self, batch: &mut Batch) -> Result<(), Rejection> {
        batch.rows.invitations.delete(self.invitation);
        Ok(())
    }
}
