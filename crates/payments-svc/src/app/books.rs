//! Reads of the desk about the books of a merchant: payouts.

use payments_domain::{ApiKeyDigest, Id, Payout};

use super::{error::Error, payments::Payments};
use crate::store::Found;

impl Payments {
    /// A payout of a merchant.
    pub(crate) async fn payout_of_merchant(&self, merchant: Id, id: Id) -> Result<Payout, Error> {
        let found: Option<Found<Payout>> = self.store.resource(id, ApiKeyDigest::NONE).await?;
        let payout = found.map(|found| found.value);
        payout.filter(|payout| payout.transfer.merchant == merchant).ok_or(Error::NotFound)
    }
}
