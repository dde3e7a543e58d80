use jiff::Timestamp;

use crate::{
    Id,
    write::{Action, Batch, ExpiryRow, Needs, Rejection},
};

/// Record how far the expiry job is. `None` changes nothing.
#[derive(Debug)]
pub struct SaveExpiryCursor {
    /// It has checked all transactions up to this one.
    pub through: Option<Id>,
    /// It has voided all authorizations that acquirers end until then.
    pub ended: Option<Timestamp>,
}

impl Action for SaveExpiryCursor {
    type Outcome = ();

    fn needs(&self, needs: &mut Needs) {
        needs.rows.expiry.insert(true);
    }

    fn decide(&self, batch: &mut Batch) -> Result<(), Rejection> {
        let row = *batch.rows.expiry.get(&true).ok_or(Rejection::NotFound)?;
        let through = self.through.map_or(row.through, |through| through.max(row.through));
        let ended = self.ended.map_or(row.ended, |ended| ended.max(row.ended));
        batch.rows.expiry.update(ExpiryRow { through, ended, ..row });
        Ok(())
    }
}
