use crate::{
    Id,
    write::{Action, Batch, Needs, Rejection},
};

/// Delete old idempotency keys.
#[derive(Debug)]
pub struct DeleteKeys {
    /// By app and key.
    pub keys: Vec<(Id, String)>,
}

impl Action for DeleteKeys {
    type Outcome = ();

    fn needs(&self, _: &mut Needs) {}

    fn cost(&self) -> (usize, usize) {
        (self.keys.len(), self.keys.iter().map(|(_, key)| key.len()).sum())
    }

    fn decide(&self, batch: &mut Batch) -> Result<(), Rejection> {
        self.keys.iter().for_each(|key| batch.rows.keys.delete(key.clone()));
        Ok(())
    }
}
