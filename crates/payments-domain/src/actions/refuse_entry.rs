use crate::{
    AcquirerKey, Id,
    write::{Action, Batch, Needs, Rejection},
};

/// Delete an outbox entry that the acquirer refuses, and reverse what was booked with it. Rejected
/// if the entry does not exist.
#[derive(Debug)]
pub struct RefuseEntry {
    pub entry: Id,
    pub transaction: Id,
    /// The key of the entry.
    pub key: AcquirerKey,
}

impl Action for RefuseEntry {
    type Outcome = ();

    fn needs(&self, needs: &mut Needs) {
        needs.rows.outbox.insert(self.entry);
        needs.add_refusal(self.transaction, self.key);
    }

    fn is_follow_up(&self) -> bool {
        true
    }

    fn decide(&self, batch: &mut Batch) -> Result<(), Rejection> {
        batch.rows.outbox.get(&self.entry).ok_or(Rejection::NotFound)?;
        batch.refuse(self.transaction, self.key)?;
        batch.rows.outbox.delete(self.entry);
        Ok(())
    }
}
