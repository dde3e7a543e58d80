use crate::{
    Id, LogKind,
    write::{Action, Batch, Needs, Rejection},
};

/// End the membership of an app.
#[derive(Debug)]
pub struct RevokeApp {
    pub merchant: Id,
    pub app: Id,
}

impl Action for RevokeApp {
    type Outcome = ();

    fn needs(&self, needs: &mut Needs) {
        needs.merchants.insert(self.merchant);
        needs.rows.apps.insert(self.app);
        needs.rows.merchant_apps.insert((self.merchant, self.app));
    }

    fn decide(&self, batch: &mut Batch) -> Result<(), Rejection> {
        let Self { merchant, app } = *self;
        batch.merchant(merchant)?;
        if !batch.rows.merchant_apps.contains(&(merchant, app)) {
            let is_known = batch.rows.apps.contains(&app);
            return Err(if is_known { Rejection::NotAMember } else { Rejection::NotFound });
        }
        batch.rows.merchant_apps.delete((merchant, app));
        batch.log(merchant, LogKind::AppRemoved, app);
        Ok(())
    }
}
