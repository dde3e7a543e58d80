use crate::{
    Id, TokenDigest,
    write::{Action, Batch, Needs, Rejection},
};

/// End a session of a user, or all of them.
#[derive(Debug)]
pub struct EndSessions {
    pub user: Id,
    /// `None`: all.
    pub session: Option<TokenDigest>,
}

impl Action for EndSessions {
    type Outcome = ();

    fn needs(&self, needs: &mut Needs) {
        needs.users.insert(self.user);
    }

    fn decide(&self, batch: &mut Batch) -> Result<(), Rejection> {
        if !batch.loaded.users.contains(&self.user) {
            return Err(Rejection::NotFound);
        }
        let own = batch.rows.sessions.iter().filter(|row| row.user == self.user);
        let ended = own.map(|row| row.digest);
        let ended = ended.filter(|digest| self.session.is_none_or(|session| session == *digest));
        let ended: Vec<_> = ended.collect();
        ended.into_iter().for_each(|digest| batch.rows.sessions.delete(digest));
        Ok(())
    }
}
