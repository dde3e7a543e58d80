use crate::{
    Id, TokenDigest,
    write::{Action, Batch, Needs, Rejection, SessionRow},
};

/// Record that a session is used.
#[derive(Debug)]
pub struct UseSession {
    pub user: Id,
    pub session: TokenDigest,
}

impl Action for UseSession {
    type Outcome = ();

    fn needs(&self, needs: &mut Needs) {
        needs.users.insert(self.user);
    }

    fn decide(&self, batch: &mut Batch) -> Result<(), Rejection> {
        let (row, used) = (batch.session(self.user, self.session)?.clone(), batch.now());
        batch.rows.sessions.update(SessionRow { used, ..row });
        Ok(())
    }
}
