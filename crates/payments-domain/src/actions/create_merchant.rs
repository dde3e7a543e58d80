use crate::{
    Id, Merchant, MerchantDetails, Pricing, Standing,
    write::{Action, Balance, Batch, MerchantApp, Needs, Rejection},
};

/// Create a merchant, with the calling app as its first member.
#[derive(Debug)]
pub struct CreateMerchant {
    pub app: Id,
    pub key: String,
    pub details: Box<MerchantDetails>,
    pub pricing: Pricing,
    /// Whether it may take payments at once.
    pub approved: bool,
}

impl Action for CreateMerchant {
    type Outcome = Merchant;

    fn needs(&self, _: &mut Needs) {}

    fn decide(&self, batch: &mut Batch) -> Result<Merchant, Rejection> {
        let merchant = Merchant {
            id: batch.id(),
            key: self.key.clone(),
            created: batch.now(),
            details: (*self.details).clone(),
            standing: Standing::new(self.approved),
            pricing: self.pricing,
            balance: 0,
        };
        let (id, test, app) = (merchant.id, merchant.details.test, self.app);
        batch.rows.merchants.insert(merchant.clone());
        for shard in 0..batch.loaded.shards {
            batch.rows.balances.insert(Balance { merchant: id, shard, minor: 0 });
        }
        batch.rows.merchant_apps.insert(MerchantApp { merchant: id, app, test, creator: true });
        Ok(merchant)
    }
}
