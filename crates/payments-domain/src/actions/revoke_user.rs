use crate::{
    Id, LogKind, MailKind,
    write::{Action, Batch, Needs, Rejection},
};

/// End the membership of a user, and delete the mails about it, the choice of mails and the links of invitations.
#[derive(Debug)]
pub struct RevokeUser {
    pub merchant: Id,
    pub user: Id,
    /// Whether the last user who has accepted an invitation of the merchant stays.
    pub keeps_last: bool,
}

impl Action for RevokeUser {
    type Outcome = ();

    fn needs(&self, needs: &mut Needs) {
        needs.merchants.insert(self.merchant);
        needs.users.insert(self.user);
        needs.rows.merchant_users.insert((self.merchant, self.user));
        if self.keeps_last {
            needs.members.insert(self.merchant);
        }
    }

    fn decide(&self, batch: &mut Batch) -> Result<(), Rejection> {
        let Self { merchant, user, keeps_last } = *self;
        batch.merchant(merchant)?;
        let Some(member) = batch.rows.merchant_users.get(&(merchant, user)) else {
            let is_known = batch.loaded.users.contains(&user);
            return Err(if is_known { Rejection::NotAMember } else { Rejection::NotFound });
        };
        if member.accepted.is_some()
            && let Some(members) = batch.loaded.members.get_mut(&merchant)
        {
            if keeps_last && *members <= 1 {
                return Err(Rejection::LastMember);
            }
            *members = members.saturating_sub(1);
        }
        batch.rows.merchant_users.delete((merchant, user));
        for kind in MailKind::CHOICES {
            batch.rows.mail_choices.delete((merchant, kind, user));
        }
        batch.end_invitation(merchant, user);
        batch.log(merchant, LogKind::UserRemoved, user);
        Ok(())
    }
}
