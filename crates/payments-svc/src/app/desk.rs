//! The desk: merchants of users, and their payments.

use payments_domain::{
    Actor, ApiKeyDigest, FieldError, Id, Merchant, Transaction, write::KeyedRequest,
};

use super::{error::Error, movements::MovementInput, payments::Payments};

impl Payments {
    /// The merchants of a user, newest first.
    pub(crate) async fn merchants_of_user(&self, user: Id) -> Result<Vec<Merchant>, Error> {
        Ok(self.store.merchants_of_user(user).await?)
    }

    /// A merchant of a user. [`Error::NotFound`] if it does not exist, or is not theirs.
    pub(crate) async fn merchant_of_user(&self, user: Id, merchant: Id) -> Result<Merchant, Error> {
        self.store.merchant_of_user(user, merchant).await?.ok_or(Error::NotFound)
    }

    /// A transaction of a merchant.
    pub(crate) async fn transaction_of_merchant(
        &self,
        merchant: Id,
        id: Id,
    ) -> Result<Transaction, Error> {
        self.store.transaction_of_merchant(merchant, id).await?.ok_or(Error::NotFound)
    }

    /// Moves money of a payment of the merchant, of which the user has seen so many steps. If it has
    /// more, the error names the field `steps`.
    pub(crate) async fn move_at_desk(
        &self,
        user: Id,
        merchant: Id,
        (payment, seen, input): (Id, u32, MovementInput),
        keyed: KeyedRequest,
    ) -> Result<(), Error> {
        let caller = (keyed.app, ApiKeyDigest::NONE);
        let found = self.store.snapshot(payment, caller, Some(keyed.key.clone())).await?;
        let snapshot = found.ok_or(Error::NotFound)?.value;
        if snapshot.transaction_terms.merchant != merchant {
            return Err(Error::NotFound);
        }
        let is_current = snapshot.steps == seen;
        let read = || {
            let changed = || vec![FieldError::new("steps", "the payment has changed")];
            is_current.then_some(input).ok_or_else(changed)
        };
        self.move_once(Actor::user(user), Some(keyed), snapshot, read).await.map(|_| ())
    }
}
