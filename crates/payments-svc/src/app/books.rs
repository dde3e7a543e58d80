//! Reads of the desk about the books of a merchant: payouts and disputes.

use jiff::Timestamp;
use payments_domain::{ApiKeyDigest, Id, Payout};

use super::{error::Error, payments::Payments};
use crate::store::{Found, ListedDispute};

impl Payments {
    /// A payout of a merchant.
    pub(crate) async fn payout_of_merchant(&self, merchant: Id, id: Id) -> Result<Payout, Error> {
        let found: Option<Found<Payout>> = self.store.resource(id, ApiKeyDigest::NONE).await?;
        let payout = found.map(|found| found.value);
        payout.filter(|payout| payout.transfer.merchant == merchant).ok_or(Error::NotFound)
    }

    /// The open disputes of a merchant by due date, after the dispute with this due date and ID.
    pub(crate) async fn open_disputes(
        &self,
        merchant: Id,
        after: (Timestamp, Id),
        limit: u32,
    ) -> Result<Vec<ListedDispute>, Error> {
        Ok(self.store.disputes_by_due_date(merchant, after, limit).await?)
    }

    /// The decided disputes of a merchant, newest first.
    pub(crate) async fn decided_disputes(
        &self,
        merchant: Id,
        before: Id,
        limit: u32,
    ) -> Result<Vec<ListedDispute>, Error> {
        Ok(self.store.decided_disputes(merchant, before, limit).await?)
    }
}
