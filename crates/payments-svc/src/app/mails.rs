//! Mails that tell members of merchants what has happened.

use payments_domain::{
    Actor, Id, MailKind,
    actions::{ChooseMails, TellMembers},
};

use super::{error::Error, payments::Payments};

impl Payments {
    /// The kinds of mails that a member gets.
    pub(crate) async fn chosen_mails(
        &self,
        merchant: Id,
        user: Id,
    ) -> Result<Vec<MailKind>, Error> {
        Ok(self.store.chosen_mails(merchant, user).await?)
    }

    pub(crate) async fn choose_mails(
        &self,
        merchant: Id,
        user: Id,
        kinds: Vec<MailKind>,
    ) -> Result<(), Error> {
        self.write(Actor::user(user), ChooseMails { merchant, user, kinds }).await
    }

    /// Queues the mails about what has happened since the last time, unless nobody can send them.
    pub(crate) async fn tell_members(&self, has_mail: bool) -> Result<(), Error> {
        for notice in self.store.notices().await? {
            let members =
                if has_mail { self.store.members_to_tell(&notice).await? } else { Vec::new() };
            let action = TellMembers { notice: notice.id, members };
            match self.write(Actor::SYSTEM, action).await {
                // Another replica was faster.
                Err(Error::NotFound) => {}
                told => told?,
            }
        }
        Ok(())
    }
}
