use crate::{
    AcquirerId, AcquirerName,
    write::{Action, Batch, FactsPosition, Needs, Rejection},
};

/// Record that all facts of an acquirer up to this one are booked.
#[derive(Debug)]
pub struct SaveFactsPosition {
    pub acquirer: AcquirerName,
    pub fact: AcquirerId,
}

impl Action for SaveFactsPosition {
    type Outcome = ();

    fn needs(&self, _: &mut Needs) {}

    fn decide(&self, batch: &mut Batch) -> Result<(), Rejection> {
        let (acquirer, fact) = (self.acquirer, self.fact.clone());
        batch.rows.facts_positions.replace(FactsPosition { acquirer, fact });
        Ok(())
    }
}
