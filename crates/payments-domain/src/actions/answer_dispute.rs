use crate::{
    AnswerError, DisputeAnswer, EventType, Fact, Id, OutboxKind,
    write::{Action, Batch, DisputeRow, Needs, OutboxRow, Rejection},
};

/// Answer a dispute: submit its evidence, or accept it.
#[derive(Debug)]
pub struct AnswerDispute {
    pub transaction: Id,
    pub dispute: Id,
    pub answer: DisputeAnswer,
}

impl Action for AnswerDispute {
    type Outcome = ();

    fn needs(&self, needs: &mut Needs) {
        needs.add_answer(self.transaction, self.dispute);
    }

    fn decide(&self, batch: &mut Batch) -> Result<(), Rejection> {
        let Self { transaction, dispute, answer } = *self;
        let row = batch.rows.disputes.get(&dispute).ok_or(Rejection::NotFound)?.clone();
        let loaded = batch.loaded.transactions.get(&transaction).ok_or(Rejection::NotFound)?;
        let acquirer = loaded.acquirer;
        let now = batch.loaded.now;
        row.require_answerable(now)?;
        let (merchant, amount) = (row.merchant, row.amount);
        let (row, event_type, kind) = match answer {
            DisputeAnswer::Evidence if !batch.rows.evidence.contains(&dispute) => {
                return Err(AnswerError::Missing.into());
            }
            DisputeAnswer::Acceptance if row.line.is_none() => {
                return Err(AnswerError::Inquiry.into());
            }
            DisputeAnswer::Evidence => {
                let row = DisputeRow { submitted: Some(now), ..row };
                (row, EventType::DisputeEvidence, OutboxKind::Evidence)
            }
            DisputeAnswer::Acceptance => {
                let row = DisputeRow { accepted: Some(now), ..row };
                (row, EventType::DisputeAccepted, OutboxKind::Acceptance)
            }
        };
        batch.rows.disputes.update(row);
        let id = batch.id();
        batch.rows.outbox.insert(OutboxRow {
            id,
            acquirer,
            acquirer_key: batch.acquirer_key(id).digest(),
            transaction,
            kind,
            amount,
            step: None,
            dispute: Some(dispute),
            trace: batch.trace,
            attempts: 0,
            due: None,
        });
        batch.add_event(merchant, event_type, Fact::Dispute { transaction, dispute });
        Ok(())
    }
}
