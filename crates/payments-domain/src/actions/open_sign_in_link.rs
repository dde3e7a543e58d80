use crate::{
    Id, LinkKind, TokenDigest,
    write::{Action, Batch, Needs, Rejection},
};

/// Let only this browser use the link of an operator. Does nothing for other links. Rejected with
/// [`Rejection::NotFound`] if the link does not work, or another browser opened it before.
#[derive(Debug)]
pub struct OpenSignInLink {
    pub user: Id,
    pub link: TokenDigest,
    pub browser: TokenDigest,
}

impl Action for OpenSignInLink {
    type Outcome = ();

    fn needs(&self, needs: &mut Needs) {
        needs.users.insert(self.user);
    }

    fn decide(&self, batch: &mut Batch) -> Result<(), Rejection> {
        let mut link = batch.sign_in_link(self.user, self.link)?.clone();
        let bound = link.browser;
        if bound.is_none() && link.kind == LinkKind::Operator {
            link.browser = Some(self.browser);
            batch.rows.sign_in_links.update(link);
        }
        match bound {
            Some(bound) if bound != self.browser => Err(Rejection::NotFound),
            _ => Ok(()),
        }
    }
}
