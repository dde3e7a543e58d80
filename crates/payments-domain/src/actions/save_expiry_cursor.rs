use crate::{
    Id,
    write::{Action, Batch, ExpiryRow, Needs, Rejection},
};

/// Record that the expiry job has checked all transactions up to this one.
#[derive(Debug)]
pub struct SaveExpiryCursor {
    pub through: Id,
}

impl Action for SaveExpiryCursor {
    type Outcome = ();

    fn needs(&self, _: &mut Needs) {}

    fn decide(&self, batch: &mut Batch) -> Result<(), Rejection> {
        let before = batch.rows.expiry.get(&true).map_or(Id::MIN, |row| row.through);
        let through = before.max(self.through);
        batch.rows.expiry.update(ExpiryRow { only: true, through });
        Ok(())
    }
}
