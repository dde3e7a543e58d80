use crate::{
    Id, LogKind, MailKind,
    write::{Action, Batch, Needs, Rejection},
};

/// Queue the invitation of a user again. The links of earlier mails end. Rejected with
/// [`Rejection::NotFound`] unless the user is invited and has not accepted.
#[derive(Debug)]
pub struct RenewInvitation {
    pub merchant: Id,
    pub user: Id,
}

impl Action for RenewInvitation {
    type Outcome = ();

    fn needs(&self, needs: &mut Needs) {
        needs.merchants.insert(self.merchant);
        needs.users.insert(self.user);
        needs.rows.merchant_users.insert((self.merchant, self.user));
    }

    fn decide(&self, batch: &mut Batch) -> Result<(), Rejection> {
        let Self { merchant, user } = *self;
        batch.merchant(merchant)?;
        let member = batch.rows.merchant_users.get(&(merchant, user));
        member.filter(|member| member.accepted.is_none()).ok_or(Rejection::NotFound)?;
        batch.end_invitation(merchant, user);
        batch.queue_mail(MailKind::Invitation, Some(user), merchant, None);
        batch.log(merchant, LogKind::InvitationRenewed, user);
        Ok(())
    }
}
