use crate::{
    BankChange, EventType, Fact, Iban, Id, Name,
    write::{Action, Batch, Needs, Rejection},
};

/// Replace the account for payouts of a merchant.
#[derive(Debug)]
pub struct SetBank {
    pub merchant: Id,
    pub iban: Iban,
    pub holder: Name,
}

impl Action for SetBank {
    type Outcome = ();

    fn needs(&self, needs: &mut Needs) {
        needs.merchants.insert(self.merchant);
    }

    /// Does nothing if it is the same account.
    fn decide(&self, batch: &mut Batch) -> Result<(), Rejection> {
        let mut merchant = batch.merchant(self.merchant)?.clone();
        let details = &mut merchant.details;
        let bank = (Some(&self.iban), Some(&self.holder));
        if (details.iban.as_ref(), details.holder.as_ref()) == bank {
            return Ok(());
        }
        let (iban, holder) = (self.iban.clone(), self.holder.clone());
        (details.iban, details.holder) = (Some(iban.clone()), Some(holder.clone()));
        batch.rows.merchants.update(merchant);
        let (id, created) = (batch.id(), batch.loaded.now);
        let change = BankChange { id, merchant: self.merchant, created, iban, holder };
        batch.rows.bank_changes.insert(change);
        batch.add_event(self.merchant, EventType::BankChanged, Fact::Bank(id));
        Ok(())
    }
}
