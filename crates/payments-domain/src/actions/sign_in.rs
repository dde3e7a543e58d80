use crate::{
    Id, LinkKind, LogKind, MailKind, TokenDigest,
    write::{Action, Batch, MailChoice, MerchantUser, Needs, Rejection, SessionRow},
};

/// Use a link: begin a session, and accept memberships, whose other links end. Rejected with
/// [`Rejection::NotFound`] if the link does not work, or not in this browser.
#[derive(Debug)]
pub struct SignIn {
    pub user: Id,
    pub link: TokenDigest,
    pub browser: TokenDigest,
    /// The session that begins.
    pub session: TokenDigest,
    /// The memberships to accept.
    pub accepts: Vec<Id>,
}

impl Action for SignIn {
    type Outcome = ();

    fn needs(&self, needs: &mut Needs) {
        needs.users.insert(self.user);
        let members = self.accepts.iter().map(|merchant| (*merchant, self.user));
        needs.rows.merchant_users.extend(members);
    }

    fn ids(&self) -> usize {
        self.accepts.len()
    }

    fn cost(&self) -> (usize, usize) {
        (self.accepts.len().saturating_add(30), 0)
    }

    fn decide(&self, batch: &mut Batch) -> Result<(), Rejection> {
        let Self { user, link, browser, session: digest, accepts } = self;
        let kind = {
            let link = batch.sign_in_link(*user, *link)?;
            if link.kind != LinkKind::Invitation && link.browser != Some(*browser) {
                return Err(Rejection::NotFound);
            }
            link.kind
        };
        let created = batch.now();
        batch.rows.sign_in_links.delete(*link);
        if kind != LinkKind::SignIn {
            for merchant in accepts {
                let member = batch.rows.merchant_users.get(&(*merchant, *user)).cloned();
                if let Some(member) = member.filter(|member| member.accepted.is_none()) {
                    let accepted = Some(created);
                    if let Some(members) = batch.loaded.members.get_mut(merchant) {
                        *members = members.saturating_add(1);
                    }
                    batch.rows.merchant_users.update(MerchantUser { accepted, ..member });
                    let kinds = MailKind::CHOICES.into_iter().filter(|kind| kind.is_default());
                    for kind in kinds {
                        let choice = MailChoice { merchant: *merchant, kind, user: *user };
                        batch.rows.mail_choices.insert(choice);
                    }
                    batch.end_invitation(*merchant, *user);
                    batch.log(*merchant, LogKind::InvitationAccepted, *user);
                }
            }
        }
        let (digest, user, used, verified) = (*digest, *user, created, None);
        batch.add_session(SessionRow { digest, user, created, verified, used });
        Ok(())
    }
}
