use crate::{
    Id, MAX_FILES,
    write::{Action, Batch, Needs, Rejection},
};

/// Delete the evidence of disputes that were decided long ago.
#[derive(Debug)]
pub struct DeleteEvidence {
    pub disputes: Vec<Id>,
}

impl Action for DeleteEvidence {
    type Outcome = ();

    fn needs(&self, _: &mut Needs) {}

    fn cost(&self) -> (usize, usize) {
        (self.disputes.len().saturating_mul(6), self.disputes.len().saturating_mul(Id::BYTES))
    }

    fn decide(&self, batch: &mut Batch) -> Result<(), Rejection> {
        for &dispute in &self.disputes {
            batch.rows.evidence.delete(dispute);
            (0..MAX_FILES).for_each(|number| batch.rows.evidence_files.delete((dispute, number)));
        }
        Ok(())
    }
}
