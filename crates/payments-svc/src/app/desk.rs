//! Reads of the desk: merchants of users, and their payments.

use payments_domain::{Id, Merchant, PageQuery, Transaction};

use super::{error::Error, payments::Payments};
use crate::store::TransactionFilter;

impl Payments {
    /// The merchants of a user, newest first.
    pub(crate) async fn merchants_of_user(&self, user: Id) -> Result<Vec<Merchant>, Error> {
        Ok(self.store.merchants_of_user(user).await?)
    }

    /// A merchant of a user. [`Error::NotFound`] if it does not exist, or is not theirs.
    pub(crate) async fn merchant_of_user(&self, user: Id, merchant: Id) -> Result<Merchant, Error> {
        self.store.merchant_of_user(user, merchant).await?.ok_or(Error::NotFound)
    }

    /// A page of the transactions of a merchant, newest first.
    pub(crate) async fn search(
        &self,
        merchant: Id,
        page_query: PageQuery,
        filter: TransactionFilter,
    ) -> Result<Vec<Transaction>, Error> {
        Ok(self.store.clone().transactions(merchant, page_query, filter).await?)
    }

    /// A transaction of a merchant.
    pub(crate) async fn transaction_of_merchant(
        &self,
        merchant: Id,
        id: Id,
    ) -> Result<Transaction, Error> {
        self.store.transaction_of_merchant(merchant, id).await?.ok_or(Error::NotFound)
    }
}
