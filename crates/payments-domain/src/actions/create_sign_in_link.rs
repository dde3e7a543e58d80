use crate::{
    Id, LinkKind, TokenDigest,
    write::{Action, Batch, Needs, Rejection, SignInLinkRow},
};

/// Add a link that the operator gives to a user.
#[derive(Debug)]
pub struct CreateSignInLink {
    pub user: Id,
    pub link: TokenDigest,
}

impl Action for CreateSignInLink {
    type Outcome = ();

    fn needs(&self, needs: &mut Needs) {
        needs.users.insert(self.user);
    }

    fn decide(&self, batch: &mut Batch) -> Result<(), Rejection> {
        let Self { user, link: digest } = *self;
        if !batch.loaded.users.contains(&user) {
            return Err(Rejection::NotFound);
        }
        let (kind, created) = (LinkKind::Operator, batch.now());
        let until = kind.until(created);
        let (merchant, browser) = (None, None);
        batch.add_sign_in_link(SignInLinkRow {
            digest,
            user,
            kind,
            merchant,
            created,
            until,
            browser,
        });
        Ok(())
    }
}
