use crate::{
    Id, SealedSecret,
    write::{Action, AuthenticatorRow, Batch, Needs, Rejection},
};

/// Give a user an authenticator, which works after its first code. Replaces one that does not work
/// yet. Rejected with [`Rejection::NotFound`] if one works.
#[derive(Debug)]
pub struct BeginAuthenticator {
    pub user: Id,
    pub secret: SealedSecret,
}

impl Action for BeginAuthenticator {
    type Outcome = ();

    fn needs(&self, needs: &mut Needs) {
        needs.users.insert(self.user);
    }

    fn decide(&self, batch: &mut Batch) -> Result<(), Rejection> {
        let Self { user, secret } = *self;
        let known = batch.rows.authenticators.get(&user);
        if !batch.loaded.users.contains(&user) || known.is_some_and(|row| row.works) {
            return Err(Rejection::NotFound);
        }
        let (works, last_step, wrong, locked) = (false, 0, 0, None);
        let row = AuthenticatorRow { user, secret, works, last_step, wrong, locked };
        batch.rows.authenticators.replace(row);
        Ok(())
    }
}
