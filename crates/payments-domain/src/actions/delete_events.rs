use crate::{
    Id,
    write::{Action, Batch, Needs, Rejection},
};

/// Delete old events.
#[derive(Debug)]
pub struct DeleteEvents {
    pub events: Vec<Id>,
}

impl Action for DeleteEvents {
    type Outcome = ();

    fn needs(&self, _: &mut Needs) {}

    fn cost(&self) -> (usize, usize) {
        (self.events.len(), self.events.len().saturating_mul(Id::BYTES))
    }

    fn decide(&self, batch: &mut Batch) -> Result<(), Rejection> {
        self.events.iter().for_each(|event| batch.rows.events.delete(*event));
        Ok(())
    }
}
