//! Merchants, their members, and invitations.

use super::{ActionResult, Batch, done};
use crate::domain::{
    Email, Id, Invitation, LinkSecret, Merchant, MerchantDetails, MerchantUpdate, Pricing, User,
    write::{
        Balance, InvitationAttempt, LinkSecretRow, Membership, MerchantTexts, NewInvitation,
        Outcome, Rejection, known::InvitationState, needs::lower_case,
    },
};

impl Batch {
    pub(super) fn create_merchant(
        &mut self,
        app: Id,
        key: &str,
        (details, pricing): (&MerchantDetails, &Pricing),
    ) -> ActionResult {
        let id = self.id();
        let merchant = Merchant {
            id,
            key: key.to_owned(),
            created: self.known.now,
            details: details.clone(),
            pricing: *pricing,
            balance: 0,
        };
        self.changes.merchants.push(merchant);
        let rows = (0..self.known.shards).map(|shard| Balance { merchant: id, shard, minor: 0 });
        self.changes.new_balances.extend(rows);
        self.set_app(id, app, details.test, true);
        done(Outcome::Merchant(Box::new(MerchantTexts {
            merchant: id,
            name: details.name.clone(),
            email: details.email.clone(),
            descriptor: details.descriptor.clone(),
        })))
    }

    pub(super) fn update_merchant(
        &mut self,
        merchant: Id,
        update: &MerchantUpdate,
    ) -> ActionResult {
        let texts = self.known.merchants.get_mut(&merchant).ok_or(Rejection::NotFound)?;
        if let Some(name) = &update.name {
            texts.name = Some(name.clone());
        }
        if let Some(email) = &update.email {
            texts.email = email.clone();
        }
        if let Some(descriptor) = &update.descriptor {
            texts.descriptor = descriptor.clone();
        }
        self.changes.merchant_texts.insert(merchant, texts.clone());
        done(Outcome::Done)
    }

    pub(super) fn set_link_secret(&mut self, merchant: Id, secret: &LinkSecret) -> ActionResult {
        self.require_merchant(merchant)?;
        self.rows.link_secrets.replace(LinkSecretRow { merchant, secret: secret.clone() });
        done(Outcome::LinkSecret(merchant))
    }

    /// Writes the invitation in the same database transaction as the membership, so that every new
    /// member gets one.
    pub(super) fn add_user(&mut self, merchant: Id, app: Id, email: &Email) -> ActionResult {
        self.require_merchant(merchant)?;
        let address = lower_case(email);
        let user = match self.known.users_by_email.get(&address) {
            Some(user) => *user,
            None => {
                let user = User { id: self.id(), email: email.clone(), created: self.known.now };
                let id = user.id;
                self.known.users_by_email.insert(address.clone(), id);
                self.changes.users.insert(address, user);
                id
            }
        };
        let already = self.known.merchant_users.contains(&(merchant, user));
        if !already {
            self.set_user(merchant, user, true);
            let created = self.known.now;
            let invitation = NewInvitation { id: self.id(), merchant, app, user, created };
            self.changes.invitations.insert(invitation.id, invitation);
        }
        done(Outcome::Membership { already })
    }

    pub(super) fn revoke_user(&mut self, merchant: Id, user: Id) -> ActionResult {
        self.require_merchant(merchant)?;
        if !self.known.merchant_users.contains(&(merchant, user)) {
            let is_known = self.known.users.contains(&user);
            return Err(if is_known { Rejection::NotAMember } else { Rejection::NotFound });
        }
        self.set_user(merchant, user, false);
        self.changes.deleted_invitations_of.insert((merchant, user));
        self.changes
            .invitations
            .retain(|_, invitation| (invitation.merchant, invitation.user) != (merchant, user));
        self.known.invitations.retain(|_, state| state.membership != (merchant, user));
        done(Outcome::Done)
    }

    pub(super) fn add_app(&mut self, merchant: Id, app: Id) -> ActionResult {
        self.require_merchant(merchant)?;
        if !self.known.apps.contains(&app) {
            return Err(Rejection::NoSuchApp);
        }
        let test = self.known.test_merchants.contains(&merchant);
        self.set_app(merchant, app, test, true);
        done(Outcome::Done)
    }

    pub(super) fn revoke_app(&mut self, merchant: Id, app: Id) -> ActionResult {
        self.require_merchant(merchant)?;
        if !self.known.merchant_apps.contains(&(merchant, app)) {
            let is_known = self.known.apps.contains(&app);
            return Err(if is_known { Rejection::NotAMember } else { Rejection::NotFound });
        }
        let test = self.known.test_merchants.contains(&merchant);
        self.set_app(merchant, app, test, false);
        done(Outcome::Done)
    }

    /// Counts an attempt and sets the time of the next one, before the mail is sent. If the process
    /// is killed before it deletes the invitation, the mail is sent once more, at that time.
    pub(super) fn start_invitation_attempt(&mut self, id: Id, jitter: u16) -> ActionResult {
        let now = self.known.now;
        let known = self.known.invitations.get_mut(&id).filter(|known| known.due <= now);
        let InvitationState { invitation, due, .. } = known.ok_or(Rejection::NotFound)?;
        invitation.attempts = invitation.attempts.saturating_add(1);
        let retry_delay = Invitation::retry_delay(invitation.attempts, jitter);
        *due = now.checked_add(retry_delay).unwrap_or(jiff::Timestamp::MAX);
        let attempt =
            InvitationAttempt { invitation: id, attempts: invitation.attempts, due: *due };
        self.changes.attempts.insert(id, attempt);
        done(Outcome::Invitation(Box::new(invitation.clone())))
    }

    fn require_merchant(&self, merchant: Id) -> Result<(), Rejection> {
        let is_known = self.known.merchants.contains_key(&merchant);
        is_known.then_some(()).ok_or(Rejection::NotFound)
    }

    fn set_user(&mut self, merchant: Id, user: Id, exists: bool) {
        let existed = !exists;
        let key = (merchant, user);
        let change = Membership { merchant, member: user, test: false, existed, exists };
        self.changes.merchant_users.entry(key).or_insert(change).exists = exists;
        if exists {
            self.known.merchant_users.insert(key);
        } else {
            self.known.merchant_users.remove(&key);
        }
    }

    fn set_app(&mut self, merchant: Id, app: Id, test: bool, exists: bool) {
        let key = (merchant, app);
        let existed = self.known.merchant_apps.contains(&key);
        let change = Membership { merchant, member: app, test, existed, exists };
        self.changes.merchant_apps.entry(key).or_insert(change).exists = exists;
        if exists {
            self.known.merchant_apps.insert(key);
        } else {
            self.known.merchant_apps.remove(&key);
        }
    }
}
