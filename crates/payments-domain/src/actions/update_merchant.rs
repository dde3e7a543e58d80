use crate::{
    Id, MerchantUpdate,
    write::{Action, Batch, Needs, Rejection},
};

/// Change texts of a merchant.
#[derive(Debug)]
pub struct UpdateMerchant {
    pub merchant: Id,
    pub update: MerchantUpdate,
}

impl Action for UpdateMerchant {
    type Outcome = ();

    fn needs(&self, needs: &mut Needs) {
        needs.merchants.insert(self.merchant);
    }

    fn decide(&self, batch: &mut Batch) -> Result<(), Rejection> {
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
        Ok(())
    }
}
