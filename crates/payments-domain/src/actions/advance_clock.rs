use crate::{
    Advance, AdvanceBy, Id,
    write::{Action, Batch, Needs, Rejection},
};

/// Advance the sandbox clock of an app.
#[derive(Debug)]
pub struct AdvanceClock {
    pub app: Id,
    pub by: AdvanceBy,
}

impl Action for AdvanceClock {
    type Outcome = ();

    fn needs(&self, needs: &mut Needs) {
        needs.locked_apps.insert(self.app);
    }

    fn decide(&self, batch: &mut Batch) -> Result<(), Rejection> {
        let mut row = batch.rows.apps.get(&self.app).ok_or(Rejection::NotFound)?.clone();
        row.clock.advance(Advance { id: batch.id(), by: self.by });
        batch.rows.apps.update(row);
        Ok(())
    }
}
