use crate::{
    AcquirerKey, EventType, Fact, Id, OutboxKind,
    write::{Action, Batch, DisputeRow, Needs, Rejection},
};

/// Delete an outbox entry that the acquirer refuses, and reverse what was booked with it. A dispute
/// can be answered again. Rejected if the entry does not exist.
#[derive(Debug)]
pub struct RefuseEntry {
    pub entry: Id,
    pub transaction: Id,
    /// The key of the entry.
    pub key: AcquirerKey,
    /// The dispute that it answers.
    pub dispute: Option<Id>,
}

impl Action for RefuseEntry {
    type Outcome = ();

    fn needs(&self, needs: &mut Needs) {
        needs.rows.outbox.insert(self.entry);
        needs.add_refusal(self.transaction, self.key);
        needs.rows.disputes.extend(self.dispute);
        needs.rows.evidence.extend(self.dispute);
    }

    fn is_follow_up(&self) -> bool {
        true
    }

    fn decide(&self, batch: &mut Batch) -> Result<(), Rejection> {
        let kind = batch.rows.outbox.get(&self.entry).ok_or(Rejection::NotFound)?.kind;
        batch.refuse(self.transaction, self.key)?;
        batch.rows.outbox.delete(self.entry);
        let dispute = self.dispute.and_then(|dispute| batch.rows.disputes.get(&dispute)).cloned();
        if let Some(row) = dispute {
            let (merchant, transaction, dispute) = (row.merchant, row.transaction, row.id);
            let evidence = batch.rows.evidence.get(&dispute);
            let row = match kind {
                OutboxKind::Acceptance => DisputeRow { accepted: None, ..row },
                // Newer evidence has an answer of its own: an inquiry has become a dispute.
                _ if evidence.is_some_and(|evidence| evidence.id > self.entry) => row,
                _ => DisputeRow { submitted: None, ..row },
            };
            batch.rows.disputes.update(row);
            let fact = Fact::Dispute { transaction, dispute };
            batch.add_event(merchant, EventType::AcquirerRefused, fact);
        }
        Ok(())
    }
}
