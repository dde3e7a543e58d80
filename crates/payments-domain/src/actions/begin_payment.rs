use crate::{
    CustomData, Id, LinkDigest, Payment, ReceiptAddress,
    write::{Action, Batch, KeyState, Needs, Outcome, PendingRow, Rejection, UsedLink},
};

/// Record a pending payment, before the acquirer is called. A link that pays only once is used from
/// here on, so that two payments cannot overlap. If the payment fails, the link is free again.
#[derive(Debug)]
pub struct BeginPayment {
    pub payment: Box<Payment>,
    /// The payment link, if it pays only once. Rejected if the link has paid, or is paying.
    pub link: Option<LinkDigest>,
    /// Where the receipt goes, if the payment succeeds.
    pub receipt: Option<ReceiptAddress>,
}

/// A pending payment was recorded, with this ID.
#[derive(Debug)]
pub struct PaymentBegun(pub Id);

impl Outcome for PaymentBegun {
    fn key_state(&self) -> KeyState {
        KeyState::InFlight(self.0)
    }
}

impl Action for BeginPayment {
    type Outcome = PaymentBegun;

    fn needs(&self, needs: &mut Needs) {
        needs.rows.used_links.extend(self.link.map(|link| (self.payment.merchant, link)));
    }

    fn cost(&self) -> (usize, usize) {
        (3, self.payment.custom.as_ref().map_or(0, |custom| CustomData::as_str(custom).len()))
    }

    fn decide(&self, batch: &mut Batch) -> Result<PaymentBegun, Rejection> {
        let (merchant, link) = (self.payment.merchant, self.link);
        if link.is_some_and(|link| batch.rows.used_links.contains(&(merchant, link))) {
            return Err(Rejection::LinkUsed);
        }
        let id = batch.id();
        if let Some(link) = link {
            batch.rows.used_links.insert(UsedLink { merchant, link, pending_payment: id });
        }
        batch.rows.pending_payments.insert(PendingRow {
            id,
            created: batch.loaded.now,
            payment: (*self.payment).clone(),
            actor: batch.actor,
            acquirer_key: batch.acquirer_key(id).digest(),
            link,
            receipt: self.receipt.clone(),
            authorization: None,
            challenge: None,
        });
        Ok(PaymentBegun(id))
    }
}
