use jiff::Timestamp;

use crate::{
    AcquirerId, AcquirerName,
    write::{Action, Batch, FactsPosition, Needs, Rejection},
};

/// Record how far the facts of an acquirer are booked. `None` changes nothing.
#[derive(Debug)]
pub struct SaveFactsPosition {
    pub acquirer: AcquirerName,
    /// All facts up to this one are booked.
    pub fact: Option<AcquirerId>,
    /// The books were compared with the acquirer's objects.
    pub compared: Option<Timestamp>,
}

impl Action for SaveFactsPosition {
    type Outcome = ();

    fn needs(&self, needs: &mut Needs) {
        needs.rows.facts_positions.insert(self.acquirer);
    }

    fn decide(&self, batch: &mut Batch) -> Result<(), Rejection> {
        let known = batch.rows.facts_positions.get(&self.acquirer).cloned();
        let (fact, compared) = known.map_or((None, None), |known| (known.fact, known.compared));
        batch.rows.facts_positions.replace(FactsPosition {
            acquirer: self.acquirer,
            fact: self.fact.clone().or(fact),
            compared: self.compared.or(compared),
        });
        Ok(())
    }
}
