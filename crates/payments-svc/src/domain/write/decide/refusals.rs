//! Refusals of captures, refunds and voids that were booked before.

use super::{ActionResult, Batch, done};
use crate::domain::{
    AcquirerKey, EventType, Fact, Id, Movement, MovementError, OutboxKind, TransactionState,
    TransactionVersion,
    write::{Outcome, RefusedVoid, Rejection, StepOrigin},
};

impl Batch {
    /// Books the refusal of an outbox entry, and deletes it.
    pub(super) fn refuse_entry(
        &mut self,
        entry: Id,
        transaction: Id,
        key: AcquirerKey,
    ) -> ActionResult {
        self.rows.outbox.get(&entry).ok_or(Rejection::NotFound)?;
        self.refuse(transaction, key)?;
        self.rows.outbox.delete(entry);
        done(Outcome::Done)
    }

    /// Books the refusal of a capture, refund or void. Does nothing if no step has the key, as for
    /// a reversal of an authorization, or if it was refused before.
    pub(super) fn refuse(&mut self, transaction: Id, key: AcquirerKey) -> Result<(), Rejection> {
        let name = (transaction, key);
        let Some(step) = self.known.refusable_steps.get(&name).copied() else { return Ok(()) };
        let loaded = self.known.transactions.get(&transaction).ok_or(Rejection::NotFound)?;
        let (merchant, disputed) = (loaded.merchant, loaded.state.amounts.disputed);
        let mut state = loaded.state.clone();
        let reversal = state.reverse(&step, &loaded.disputed).map_err(MovementError::from)?;
        state = reversal.iter().fold(state, TransactionState::apply);
        // Decided before anything is recorded, so that all is booked or nothing.
        let is_capture = step.movement == Movement::Capture;
        let void = is_capture.then(|| state.void(step.amount)).transpose()?;
        match reversal {
            Some(reversal) => {
                let origin = StepOrigin::Refusal(step.number);
                self.record_change(transaction, reversal, None, origin)?;
            }
            None => self.rows.refused_voids.insert(RefusedVoid { transaction, step: step.number }),
        }
        self.known.refusable_steps.remove(&name);
        let version = TransactionVersion { transaction, steps: state.steps, disputed };
        self.add_event(merchant, EventType::AcquirerRefused, Fact::Transaction(version));
        if let Some(void) = void {
            self.book_movement(transaction, OutboxKind::Void, void, None)?;
        }
        Ok(())
    }
}
