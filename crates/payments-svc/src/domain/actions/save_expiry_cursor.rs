use crate::domain::{
    Id,
    write::{Action, ActionResult, Batch, ExpiryRow, Needs, Outcome, done},
};

/// Record that the expiry job has checked all transactions up to this one.
#[derive(Debug)]
pub(crate) struct SaveExpiryCursor {
    pub(crate) through: Id,
}

impl Action for SaveExpiryCursor {
    fn needs(&self, _: &mut Needs) {}

    fn decide(&self, batch: &mut Batch) -> ActionResult {
        let before = batch.rows.expiry.get(&true).map_or(Id::MIN, |row| row.through);
        let through = before.max(self.through);
        batch.rows.expiry.update(ExpiryRow { only: true, through });
        done(Outcome::Done)
    }
}
