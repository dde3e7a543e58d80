use crate::domain::{
    Id,
    write::{Action, ActionResult, Batch, Needs, Outcome, done},
};

/// Delete old events.
#[derive(Debug)]
pub(crate) struct DeleteEvents {
    pub(crate) events: Vec<Id>,
}

impl Action for DeleteEvents {
    fn needs(&self, _: &mut Needs) {}

    fn cost(&self) -> (usize, usize) {
        (self.events.len(), self.events.len().saturating_mul(Id::BYTES))
    }

    fn decide(&self, batch: &mut Batch) -> ActionResult {
        self.events.iter().for_each(|event| batch.rows.events.delete(*event));
        done(Outcome::Done)
    }
}
