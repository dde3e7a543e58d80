use crate::{
    Id, LogKind,
    write::{Action, Batch, MerchantApp, Needs, Rejection},
};

/// Make an app a member of a merchant.
#[derive(Debug)]
pub struct AddApp {
    pub merchant: Id,
    pub app: Id,
}

impl Action for AddApp {
    type Outcome = ();

    fn needs(&self, needs: &mut Needs) {
        needs.merchants.insert(self.merchant);
        needs.rows.apps.insert(self.app);
        needs.rows.merchant_apps.insert((self.merchant, self.app));
    }

    fn decide(&self, batch: &mut Batch) -> Result<(), Rejection> {
        let Self { merchant, app } = *self;
        let test = batch.merchant(merchant)?.details.test;
        if !batch.rows.apps.contains(&app) {
            return Err(Rejection::NoSuchApp);
        }
        if !batch.rows.merchant_apps.contains(&(merchant, app)) {
            batch.rows.merchant_apps.insert(MerchantApp { merchant, app, test, creator: false });
            batch.log(merchant, LogKind::AppAdded, app);
        }
        Ok(())
    }
}
