use std::time::Duration;

use jiff::Timestamp;

use crate::{
    Card, Id,
    write::{Action, Batch, Needs, PendingChallenge, Rejection},
};

/// The time limit for a customer to answer 3-D Secure.
const CHALLENGE: Duration = Duration::from_secs(15 * 60);

/// Record that the customer of a pending payment must answer 3-D Secure. Stores the card data and
/// the acquirer's reference: the payment continues with them after the customer's answer.
#[derive(Debug)]
pub struct ChallengePayment {
    /// The ID from [`PaymentBegun`](super::PaymentBegun).
    pub pending_payment: Id,
    pub card: Box<Card>,
    /// The acquirer's ID of the challenge.
    pub reference: String,
}

impl Action for ChallengePayment {
    type Outcome = ();

    fn needs(&self, needs: &mut Needs) {
        needs.pending_payments.insert(self.pending_payment);
    }

    fn is_follow_up(&self) -> bool {
        true
    }

    fn decide(&self, batch: &mut Batch) -> Result<(), Rejection> {
        let mut row = batch.pending_payment(self.pending_payment)?.clone();
        let until = batch.now().checked_add(CHALLENGE).unwrap_or(Timestamp::MAX);
        let (card, reference) = ((*self.card).clone(), self.reference.clone());
        row.challenge = Some(PendingChallenge { card, reference, until });
        batch.rows.pending_payments.update(row);
        Ok(())
    }
}
