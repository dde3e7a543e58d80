use jiff::Timestamp;

use crate::{
    Id, Postponed, SendingReport,
    write::{Action, Batch, Needs, OutboxRow, Rejection},
};

/// Record which outbox entries were sent: deletes those that were carried out, and postpones the
/// others.
#[derive(Debug)]
pub struct RecordSending(pub SendingReport);

impl Action for RecordSending {
    type Outcome = ();

    fn needs(&self, needs: &mut Needs) {
        needs.rows.outbox.extend(self.0.postponed.iter().map(|postponed| postponed.entry));
    }

    fn cost(&self) -> (usize, usize) {
        let SendingReport { done, postponed } = &self.0;
        let entries = done.len().saturating_add(postponed.len());
        (entries, entries.saturating_mul(Id::BYTES.max(size_of::<Postponed>())))
    }

    fn is_follow_up(&self) -> bool {
        true
    }

    fn decide(&self, batch: &mut Batch) -> Result<(), Rejection> {
        let SendingReport { done: carried_out, postponed } = &self.0;
        carried_out.iter().for_each(|entry| batch.rows.outbox.delete(*entry));
        for &Postponed { entry, attempts, delay } in postponed {
            let Some(row) = batch.rows.outbox.get(&entry) else { continue };
            let due = Some(batch.loaded.now.checked_add(delay).unwrap_or(Timestamp::MAX));
            let row = OutboxRow { attempts, due, ..row.clone() };
            batch.rows.outbox.update(row);
        }
        Ok(())
    }
}
