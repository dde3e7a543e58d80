//! Merchants, their members, and invitations.

use jiff::Timestamp;

use super::{ActionResult, Batch, done};
use crate::domain::{
    Email, Id, Invitation, LinkSecret, Merchant, MerchantDetails, MerchantUpdate, Pricing, User,
    write::{
        Balance, InvitationRow, LinkSecretRow, MerchantApp, MerchantTexts, MerchantUser, Outcome,
        Rejection, needs::lower_case,
    },
};

impl Batch {
    pub(super) fn create_merchant(
        &mut self,
        app: Id,
        key: &str,
        (details, pricing): (&MerchantDetails, &Pricing),
    ) -> ActionResult {
        let merchant = Merchant {
            id: self.id(),
            key: key.to_owned(),
            created: self.known.now,
            details: details.clone(),
            pricing: *pricing,
            balance: 0,
        };
        let (id, texts) = (merchant.id, MerchantTexts::of(&merchant));
        self.rows.merchants.insert(merchant);
        for shard in 0..self.known.shards {
            self.rows.balances.insert(Balance { merchant: id, shard, minor: 0 });
        }
        self.rows.merchant_apps.insert(MerchantApp { merchant: id, app, test: details.test });
        done(Outcome::Merchant(Box::new(texts)))
    }

    pub(super) fn update_merchant(&mut self, id: Id, update: &MerchantUpdate) -> ActionResult {
        let mut merchant = self.merchant(id)?.clone();
        let details = &mut merchant.details;
        if let Some(name) = &update.name {
            details.name = Some(name.clone());
        }
        if let Some(email) = &update.email {
            details.email = email.clone();
        }
        if let Some(descriptor) = &update.descriptor {
            details.descriptor = descriptor.clone();
        }
        self.rows.merchants.update(merchant);
        done(Outcome::Done)
    }

    pub(super) fn set_link_secret(&mut self, merchant: Id, secret: &LinkSecret) -> ActionResult {
        self.merchant(merchant)?;
        self.rows.link_secrets.replace(LinkSecretRow { merchant, secret: secret.clone() });
        done(Outcome::LinkSecret(merchant))
    }

    /// Writes the invitation in the same database transaction as the membership, so that every new
    /// member gets one.
    pub(super) fn add_user(&mut self, merchant: Id, app: Id, email: &Email) -> ActionResult {
        self.merchant(merchant)?;
        let (address, created) = (lower_case(email), self.known.now);
        let user = match self.known.users_by_email.get(&address) {
            Some(user) => *user,
            None => {
                let user = User { id: self.id(), email: email.clone(), created };
                let id = user.id;
                self.known.users_by_email.insert(address.clone(), id);
                self.changes.users.insert(address, user);
                id
            }
        };
        let already = self.rows.merchant_users.contains(&(merchant, user));
        if !already {
            self.rows.merchant_users.insert(MerchantUser { merchant, user });
            let (id, due) = (self.id(), Timestamp::UNIX_EPOCH);
            let row = InvitationRow { id, merchant, app, user, created, attempts: 0, due };
            self.rows.invitations.insert(row);
        }
        done(Outcome::Membership { already })
    }

    pub(super) fn revoke_user(&mut self, merchant: Id, user: Id) -> ActionResult {
        self.merchant(merchant)?;
        if !self.rows.merchant_users.contains(&(merchant, user)) {
            let is_known = self.known.users.contains(&user);
            return Err(if is_known { Rejection::NotAMember } else { Rejection::NotFound });
        }
        self.rows.merchant_users.delete((merchant, user));
        let own = self.rows.invitations.iter();
        let own = own.filter(|row| (row.merchant, row.user) == (merchant, user));
        let own: Vec<Id> = own.map(|row| row.id).collect();
        self.rows.invitations.retain(|id| !own.contains(id));
        self.rows.invitations_of_users.delete((merchant, user));
        done(Outcome::Done)
    }

    pub(super) fn add_app(&mut self, merchant: Id, app: Id) -> ActionResult {
        let test = self.merchant(merchant)?.details.test;
        if !self.rows.apps.contains(&app) {
            return Err(Rejection::NoSuchApp);
        }
        if !self.rows.merchant_apps.contains(&(merchant, app)) {
            self.rows.merchant_apps.insert(MerchantApp { merchant, app, test });
        }
        done(Outcome::Done)
    }

    pub(super) fn revoke_app(&mut self, merchant: Id, app: Id) -> ActionResult {
        self.merchant(merchant)?;
        if !self.rows.merchant_apps.contains(&(merchant, app)) {
            let is_known = self.rows.apps.contains(&app);
            return Err(if is_known { Rejection::NotAMember } else { Rejection::NotFound });
        }
        self.rows.merchant_apps.delete((merchant, app));
        done(Outcome::Done)
    }

    /// Counts an attempt and sets the time of the next one, before the mail is sent. If the process
    /// is killed before it deletes the invitation, the mail is sent once more, at that time.
    pub(super) fn start_invitation_attempt(&mut self, id: Id, jitter: u16) -> ActionResult {
        let now = self.known.now;
        let row = self.rows.invitations.get(&id).filter(|row| row.due <= now);
        let (row, invitation) =
            row.zip(self.known.invitations.get(&id)).ok_or(Rejection::NotFound)?;
        let attempts = row.attempts.saturating_add(1);
        let due = now.checked_add(Invitation::retry_delay(attempts, jitter));
        let due = due.unwrap_or(Timestamp::MAX);
        let invitation = Invitation { attempts, ..invitation.clone() };
        let row = InvitationRow { attempts, due, ..row.clone() };
        self.rows.invitations.update(row);
        done(Outcome::Invitation(Box::new(invitation)))
    }

    fn merchant(&self, id: Id) -> Result<&Merchant, Rejection> {
        self.rows.merchants.get(&id).ok_or(Rejection::NotFound)
    }
}
