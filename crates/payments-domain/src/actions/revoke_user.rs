use crate::{
    Id, MailKind,
    write::{Action, Batch, Needs, Rejection},
};

/// End the membership of a user, and delete the mails about it, the choice of mails and the links of invitations.
#[derive(Debug)]
pub struct RevokeUser {
    pub merchant: Id,
    pub user: Id,
}

impl Action for RevokeUser {
    type Outcome = ();

    fn needs(&self, needs: &mut Needs) {
        needs.merchants.insert(self.merchant);
        needs.users.insert(self.user);
        needs.rows.merchant_users.insert((self.merchant, self.user));
    }

    fn decide(&self, batch: &mut Batch) -> Result<(), Rejection> {
        let Self { merchant, user } = *self;
        batch.merchant(merchant)?;
        if !batch.rows.merchant_users.contains(&(merchant, user)) {
            let is_known = batch.loaded.users.contains(&user);
            return Err(if is_known { Rejection::NotAMember } else { Rejection::NotFound });
        }
        batch.rows.merchant_users.delete((merchant, user));
        for kind in MailKind::CHOICES {
            batch.rows.mail_choices.delete((merchant, kind, user));
        }
        let own = batch.rows.mails.iter();
        let own = own.filter(|row| (row.merchant, row.user) == (Some(merchant), user));
        let own: Vec<Id> = own.map(|row| row.id).collect();
        batch.rows.mails.retain(|id| !own.contains(id));
        batch.rows.mails_of_members.delete((Some(merchant), user));
        let links = batch.rows.sign_in_links.iter();
        let links = links.filter(|row| (row.merchant, row.user) == (Some(merchant), user));
        let links: Vec<_> = links.map(|row| row.digest).collect();
        links.into_iter().for_each(|digest| batch.rows.sign_in_links.delete(digest));
        Ok(())
    }
}
