//! Receipts that payers get by mail.

use common::limits::ClientAddress;
use payments_domain::{Email, Id, Merchant, Movement, Step, Transaction, write::ReceiptRow};

use super::{error::Error, payments::Payments};

/// The receipt of a payment, for everybody who has the link to it.
pub(crate) struct MailedReceipt {
    pub(crate) merchant: Merchant,
    pub(crate) transaction: Transaction,
    /// The ISO 639-1 code of the language in which the payer paid.
    pub(crate) language: String,
}

impl MailedReceipt {
    /// The refunds that no step reverses, the oldest first.
    pub(crate) fn refunds(&self) -> Vec<&Step> {
        let mut refunds: Vec<&Step> = Vec::new();
        let steps = self.transaction.trail.iter();
        for step in steps.filter(|step| step.movement == Movement::Refund) {
            let is_undone = |refund: &&Step| refund.amount.checked_add(step.amount) == Some(0);
            match refunds.iter().position(is_undone) {
                Some(undone) => drop(refunds.remove(undone)),
                None => refunds.push(step),
            }
        }
        refunds
    }
}

impl Payments {
    /// Counts a receipt to an address. Whether it may be sent: an address that got too many
    /// lately gets none, and nobody sends many by test payments.
    pub(crate) fn may_send_receipt(
        &self,
        merchant: &Merchant,
        address: ClientAddress,
        email: &Email,
    ) -> bool {
        self.limits.count_receipt(merchant.details.test, address, email).is_ok()
    }

    /// The receipt of a transaction. `None` if its link has ended.
    pub(crate) async fn mailed_receipt(&self, id: Id) -> Result<Option<MailedReceipt>, Error> {
        let Some(row) = self.row::<ReceiptRow>(&id).await? else { return Ok(None) };
        let merchant = self.row(&row.merchant).await?.ok_or(Error::NotFound)?;
        let transaction = self.transaction_of_merchant(row.merchant, id).await?;
        Ok(Some(MailedReceipt { merchant, transaction, language: row.to.language }))
    }
}
