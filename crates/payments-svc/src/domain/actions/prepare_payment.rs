use crate::domain::{
    Id,
    write::{Action, ActionResult, Batch, Needs, Outcome, done},
};

/// Record the acquirer's ID of the authorization that it will be asked for.
#[derive(Debug)]
pub(crate) struct PreparePayment {
    /// The ID from [`Outcome::PaymentBegun`].
    pub(crate) pending_payment: Id,
    pub(crate) authorization: String,
}

impl Action for PreparePayment {
    fn needs(&self, needs: &mut Needs) {
        needs.pending_payments.insert(self.pending_payment);
    }

    fn decide(&self, batch: &mut Batch) -> ActionResult {
        let mut row = batch.pending_payment(self.pending_payment)?.clone();
        row.authorization = Some(self.authorization.clone());
        batch.rows.pending_payments.update(row);
        done(Outcome::Done)
    }
}
