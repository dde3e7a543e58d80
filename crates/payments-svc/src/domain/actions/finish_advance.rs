use crate::domain::{
    Id,
    write::{Action, ActionResult, Batch, Needs, Outcome, Rejection, done},
};

/// Record that all that is due after this advance has been ended.
#[derive(Debug)]
pub(crate) struct FinishAdvance {
    pub(crate) app: Id,
    pub(crate) advance: Id,
}

impl Action for FinishAdvance {
    fn needs(&self, needs: &mut Needs) {
        needs.locked_apps.insert(self.app);
    }

    fn decide(&self, batch: &mut Batch) -> ActionResult {
        let mut row = batch.rows.apps.get(&self.app).ok_or(Rejection::NotFound)?.clone();
        if row.clock.finish(self.advance) {
            batch.rows.apps.update(row);
        }
        done(Outcome::Done)
    }
}
