use crate::{
    Id,
    write::{Action, Batch, Needs, Rejection},
};

/// Let a merchant take payments for the first time.
#[derive(Debug)]
pub struct ApproveMerchant(pub Id);

impl Action for ApproveMerchant {
    type Outcome = ();

    fn needs(&self, needs: &mut Needs) {
        needs.merchants.insert(self.0);
    }

    fn decide(&self, batch: &mut Batch) -> Result<(), Rejection> {
        let mut merchant = batch.merchant(self.0)?.clone();
        merchant.standing.approved = true;
        batch.rows.merchants.update(merchant);
        Ok(())
    }
}
