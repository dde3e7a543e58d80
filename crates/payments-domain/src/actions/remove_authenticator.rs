use crate::{
    Id,
    write::{Action, Batch, Needs, Rejection},
};

/// Remove the authenticator and the recovery codes of a user, if there are any.
#[derive(Debug)]
pub struct RemoveAuthenticator(pub Id);

impl Action for RemoveAuthenticator {
    type Outcome = ();

    fn needs(&self, needs: &mut Needs) {
        needs.users.insert(self.0);
    }

    fn decide(&self, batch: &mut Batch) -> Result<(), Rejection> {
        batch.rows.authenticators.delete(self.0);
        batch.set_recovery_codes(self.0, &[]);
        Ok(())
    }
}
