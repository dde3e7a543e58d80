use crate::{
    Id, TokenDigest,
    write::{Action, Batch, Needs, Rejection},
};

/// End sessions of a user.
#[derive(Debug)]
pub struct EndSessions {
    pub user: Id,
    pub which: Which,
}

/// Which sessions end.
#[derive(Debug, Clone, Copy)]
pub enum Which {
    One(TokenDigest),
    AllBut(TokenDigest),
    All,
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
        let ended = own.map(|row| row.digest).filter(|digest| match &self.which {
            Which::One(one) => digest == one,
            Which::AllBut(other) => digest != other,
            Which::All => true,
        });
        let ended: Vec<_> = ended.collect();
        ended.into_iter().for_each(|digest| batch.rows.sessions.delete(digest));
        Ok(())
    }
}
