use crate::domain::{
    Id, MerchantUpdate,
    write::{Action, ActionResult, Batch, Needs, Outcome, done},
};

/// Change texts of a merchant.
#[derive(Debug)]
pub(crate) struct UpdateMerchant {
    pub(crate) merchant: Id,
    pub(crate) update: MerchantUpdate,
}

impl Action for UpdateMerchant {
    fn needs(&self, needs: &mut Needs) {
        needs.merchants.insert(self.merchant);
    }

    fn decide(&self, batch: &mut Batch) -> ActionResult {
        let mut merchant = batch.merchant(self.merchant)?.clone();
        let (details, update) = (&mut merchant.details, &self.update);
        if let Some(name) = &update.name {
            details.name = Some(name.clone());
        }
        if let Some(email) = &update.email {
            details.email = email.clone();
        }
        if let Some(descriptor) = &update.descriptor {
            details.descriptor = descriptor.clone();
        }
        batch.rows.merchants.update(merchant);
        done(Outcome::Done)
    }
}
