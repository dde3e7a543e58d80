use crate::{
    Id,
    write::{Action, Batch, Needs, Rejection},
};

/// Record that all that is due after this advance has been ended.
#[derive(Debug)]
pub struct FinishAdvance {
    pub app: Id,
    pub advance: Id,
}

impl Action for FinishAdvance {
    type Outcome = ();

    fn needs(&self, needs: &mut Needs) {
        needs.locked_apps.insert(self.app);
    }

    fn decide(&self, batch: &mut Batch) -> Result<(), Rejection> {
        let mut row = batch.rows.apps.get(&self.app).ok_or(Rejection::NotFound)?.clone();
        if row.clock.finish(self.advance) {
            batch.rows.apps.update(row);
        }
        Ok(())
    }
}
