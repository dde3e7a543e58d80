use crate::{
    Id, TokenDigest,
    write::{Action, Batch, Needs, Rejection},
};

/// Replace the recovery codes of a user. Rejected with [`Rejection::NotFound`] if the user has no
/// authenticator that works.
#[derive(Debug)]
pub struct SetRecoveryCodes {
    pub user: Id,
    pub codes: Vec<TokenDigest>,
}

impl Action for SetRecoveryCodes {
    type Outcome = ();

    fn needs(&self, needs: &mut Needs) {
        needs.users.insert(self.user);
    }

    fn cost(&self) -> (usize, usize) {
        (40, 0)
    }

    fn decide(&self, batch: &mut Batch) -> Result<(), Rejection> {
        let row = batch.rows.authenticators.get(&self.user);
        row.filter(|row| row.works).ok_or(Rejection::NotFound)?;
        batch.set_recovery_codes(self.user, &self.codes);
        Ok(())
    }
}
