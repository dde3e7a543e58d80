//! Answers to disputes.

use payments_domain::{Evidence, Id};

use super::{error::Error, payments::Payments};

impl Payments {
    /// The evidence for a dispute.
    pub(crate) async fn evidence(&self, dispute: Id) -> Result<Evidence, Error> {
        self.store.evidence(dispute).await?.ok_or(Error::NotFound)
    }
}
