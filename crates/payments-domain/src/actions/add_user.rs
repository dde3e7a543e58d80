use sql::group;

use crate::{
    Email, Id, LogKind, MailKind, User,
    write::{Action, Batch, MerchantUser, Needs, Rejection},
};

/// The key by which users are found: the address, with ASCII letters in lower case.
fn lower_case(email: &Email) -> String {
    email.as_str().to_ascii_lowercase()
}

/// Make a user a member of a merchant, and queue the invitation: in one database transaction, so
/// everybody who has not accepted gets one.
#[derive(Debug)]
pub struct AddUser {
    pub merchant: Id,
    pub email: Email,
    /// Whether a user who has not accepted gets a mail.
    pub mail: bool,
}

group! {
    /// The user is a member.
    #[derive(Debug)]
    pub struct UserAdded {
        /// Whether the user was a member before.
        was_member: bool = "was_member",
        /// Whether the user gets a mail.
        is_mailed: bool = "is_mailed",
    }
}

impl Action for AddUser {
    type Outcome = UserAdded;

    fn needs(&self, needs: &mut Needs) {
        needs.merchants.insert(self.merchant);
        needs.emails.insert((self.merchant, lower_case(&self.email)));
    }

    fn decide(&self, batch: &mut Batch) -> Result<UserAdded, Rejection> {
        let Self { merchant, email, mail } = self;
        let merchant = *merchant;
        batch.merchant(merchant)?;
        let (address, created) = (lower_case(email), batch.now());
        let user = match batch.loaded.users_by_email.get(&address) {
            Some(user) => *user,
            None => {
                let user = User { id: batch.id(), email: email.clone(), created };
                let id = user.id;
                batch.loaded.users_by_email.insert(address.clone(), id);
                batch.users.insert(address, user);
                id
            }
        };
        let member = batch.rows.merchant_users.get(&(merchant, user)).cloned();
        let was_member = member.is_some();
        let is_mailed = *mail && member.is_none_or(|member| member.accepted.is_none());
        if !was_member {
            batch.rows.merchant_users.insert(MerchantUser { merchant, user, accepted: None });
            batch.log(merchant, LogKind::UserInvited, user);
        } else if is_mailed {
            batch.log(merchant, LogKind::InvitationRenewed, user);
        }
        if is_mailed {
            batch.queue_mail(MailKind::Invitation, Some(user), merchant, None);
        }
        Ok(UserAdded { was_member, is_mailed })
    }
}
