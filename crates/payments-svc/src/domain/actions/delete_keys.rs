use crate::domain::{
    Id,
    write::{Action, ActionResult, Batch, Needs, Outcome, done},
};

/// Delete old idempotency keys.
#[derive(Debug)]
pub(crate) struct DeleteKeys {
    /// By app and key.
    pub(crate) keys: Vec<(Id, String)>,
}

impl Action for DeleteKeys {
    fn needs(&self, _: &mut Needs) {}

    fn cost(&self) -> (usize, usize) {
        (self.keys.len(), self.keys.iter().map(|(_, key)| key.len()).sum())
    }

    fn decide(&self, batch: &mut Batch) -> ActionResult {
        self.keys.iter().for_each(|key| batch.rows.keys.delete(key.clone()));
        done(Outcome::Done)
    }
}
