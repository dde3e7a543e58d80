//! Merchants and their members.

use common::limits::ClientAddress;
use payments_domain::{
    Actor, App, Email, Id, Merchant, MerchantDetails,
    actions::{AddUser, CreateMerchant, RenewInvitation, UserAdded},
    write::{By, KeyedRequest},
};
use uuid::Uuid;

use super::{error::Error, once::Written, payments::Payments};

impl Payments {
    /// Creates a merchant with `app` as its first member.
    pub(crate) async fn create_merchant(
        &self,
        app: &App,
        details: MerchantDetails,
        keyed: Option<KeyedRequest>,
    ) -> Result<Written<Merchant>, Error> {
        let (key, pricing) = (Uuid::new_v4().to_string(), self.defaults.pricing);
        let approved = details.test || !self.defaults.needs_approval;
        let details = Box::new(details);
        let action = CreateMerchant { app: app.id, key, details, pricing, approved };
        self.write_keyed(Actor::app(app.id), action, keyed).await
    }

    /// Finds a merchant by its public key. If no merchant has the key, the error names the field
    /// `key` of the request.
    pub(crate) async fn merchant_by_key(&self, key: &str) -> Result<Merchant, Error> {
        self.store.merchant_by_key(key).await?.ok_or_else(unknown_key)
    }

    /// Like [`Self::merchant_by_key`], and counts an attempt to pay or to save a card. An unknown
    /// key counts as that of a live merchant, which has the lower limit.
    pub(crate) async fn merchant_of_attempt(
        &self,
        key: &str,
        address: ClientAddress,
    ) -> Result<Merchant, Error> {
        self.limits.check_attempts(address)?;
        let merchant = self.store.merchant_by_key(key).await?;
        let is_test = merchant.as_ref().is_some_and(|merchant| merchant.details.test);
        self.limits.count_attempt(is_test, address)?;
        merchant.ok_or_else(unknown_key)
    }

    pub(crate) fn count_attempt(&self, test: bool, address: ClientAddress) -> Result<(), Error> {
        Ok(self.limits.count_attempt(test, address)?)
    }

    /// Makes a user a member of a merchant, and stores an invitation in the same database
    /// transaction.
    pub(crate) async fn invite(
        &self,
        by: impl Into<By>,
        merchant: Id,
        email: Email,
        keyed: Option<KeyedRequest>,
    ) -> Result<Written<UserAdded>, Error> {
        let by = by.into();
        let counted = self.limits.count_invitation(by.actor.id.unwrap_or(merchant))?;
        let action = AddUser { merchant, email, mail: true };
        let added = self.write_keyed(by, action, keyed).await?;
        if !added.is_replayed && added.outcome.is_mailed {
            counted.keep();
        }
        Ok(added)
    }

    /// Sends a new invitation to a user who has not accepted. The links of earlier ones end.
    pub(crate) async fn renew_invitation(
        &self,
        actor: Actor,
        (merchant, user): (Id, Id),
        keyed: Option<KeyedRequest>,
    ) -> Result<Written<()>, Error> {
        let counted = self.limits.count_invitation(actor.id.unwrap_or(merchant))?;
        let action = RenewInvitation { merchant, user };
        let renewed = self.write_keyed(actor, action, keyed).await?;
        if !renewed.is_replayed {
            counted.keep();
        }
        Ok(renewed)
    }
}

fn unknown_key() -> Error {
    Error::field("key", "is not the public key of a merchant")
}
