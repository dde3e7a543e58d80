//! Answers to disputes.

use payments_domain::{Evidence, Id, NewFile, Transaction, write::DisputeRow};

use super::{error::Error, payments::Payments};
use crate::store::DisputeWithCurrency;

impl Payments {
    /// The evidence for a dispute.
    pub(crate) async fn evidence(&self, dispute: Id) -> Result<Evidence, Error> {
        self.store.evidence(dispute).await?.ok_or(Error::NotFound)
    }

    /// A file of the evidence for a dispute.
    pub(crate) async fn evidence_file(&self, dispute: Id, file: Id) -> Result<NewFile, Error> {
        self.store.evidence_file(dispute, file).await?.ok_or(Error::NotFound)
    }

    /// The disputes of a transaction.
    pub(crate) async fn disputes_of(
        &self,
        transaction: &Transaction,
    ) -> Result<Vec<DisputeWithCurrency>, Error> {
        let Transaction { id, currency, .. } = *transaction;
        Ok(self.store.disputes_of_transaction(id, currency).await?)
    }

    /// A dispute of a merchant.
    pub(crate) async fn dispute_of_merchant(
        &self,
        merchant: Id,
        dispute: Id,
    ) -> Result<DisputeRow, Error> {
        let row = self.row::<DisputeRow>(&dispute).await?;
        row.filter(|row| row.merchant == merchant).ok_or(Error::NotFound)
    }
}
