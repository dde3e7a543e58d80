use crate::{
    Id,
    write::{Action, Batch, Needs, Rejection},
};

/// Record the acquirer's ID of the authorization that it will be asked for.
#[derive(Debug)]
pub struct PreparePayment {
    /// The ID from [`PaymentBegun`](super::PaymentBegun).
    pub pending_payment: Id,
    pub authorization: String,
}

impl Action for PreparePayment {
    type Outcome = ();

    fn needs(&self, needs: &mut Needs) {
        needs.pending_payments.insert(self.pending_payment);
    }

    fn decide(&self, batch: &mut Batch) -> Result<(), Rejection> {
        let mut row = batch.pending_payment(self.pending_payment)?.clone();
        row.authorization = Some(self.authorization.clone());
        batch.rows.pending_payments.update(row);
        Ok(())
    }
}
