use crate::{
    Id, MailKind,
    write::{Action, Batch, MailChoice, Needs, Rejection},
};

/// Let a member who has accepted get mails of these kinds about a merchant, and no others.
#[derive(Debug)]
pub struct ChooseMails {
    pub merchant: Id,
    pub user: Id,
    /// Among [`MailKind::CHOICES`].
    pub kinds: Vec<MailKind>,
}

impl Action for ChooseMails {
    type Outcome = ();

    fn needs(&self, needs: &mut Needs) {
        let Self { merchant, user, .. } = *self;
        needs.merchants.insert(merchant);
        needs.rows.merchant_users.insert((merchant, user));
        needs.rows.mail_choices.extend(MailKind::CHOICES.map(|kind| (merchant, kind, user)));
    }

    fn decide(&self, batch: &mut Batch) -> Result<(), Rejection> {
        let Self { merchant, user, ref kinds } = *self;
        batch.merchant(merchant)?;
        let member = batch.rows.merchant_users.get(&(merchant, user));
        if member.is_none_or(|member| member.accepted.is_none()) {
            return Err(Rejection::NotFound);
        }
        for kind in MailKind::CHOICES {
            let is_known = batch.rows.mail_choices.contains(&(merchant, kind, user));
            match (kinds.contains(&kind), is_known) {
                (true, false) => {
                    batch.rows.mail_choices.insert(MailChoice { merchant, kind, user });
                }
                (false, true) => batch.rows.mail_choices.delete((merchant, kind, user)),
                (true, true) | (false, false) => {}
            }
        }
        Ok(())
    }
}
