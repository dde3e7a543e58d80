use crate::{
    Id, LinkSecret,
    write::{Action, Batch, LinkSecretRow, Needs, Rejection},
};

/// Replace the key that signs the payment links of a merchant.
#[derive(Debug)]
pub struct SetLinkSecret {
    pub merchant: Id,
    pub secret: LinkSecret,
}

impl Action for SetLinkSecret {
    type Outcome = ();

    fn needs(&self, needs: &mut Needs) {
        needs.merchants.insert(self.merchant);
    }

    fn decide(&self, batch: &mut Batch) -> Result<(), Rejection> {
        let (merchant, secret) = (self.merchant, self.secret.clone());
        batch.merchant(merchant)?;
        batch.rows.link_secrets.replace(LinkSecretRow { merchant, secret });
        Ok(())
    }
}
