//! Notifications from acquirers: disputes and fraud alerts.

use super::{Batch, done};
use crate::domain::{
    AcquirerEvent, Decision, DisputeState, EventType, Exchange, Fact, FraudAlert, Id,
    MovementError, Notification, NotificationResult, OpenedDispute, Overflow, Slice,
    TransactionChange,
    write::{DisputeRow, NotificationRow, Outcome, Rejection, SliceRow, StepOrigin},
};

impl Batch {
    /// Records a notification and its effect, unless it was recorded before.
    pub(super) fn handle_notification(
        &mut self,
        notification: &Notification,
        exchanges: (Exchange, Exchange),
    ) -> super::ActionResult {
        let Notification { id, transaction, event, .. } = notification;
        let loaded = self.known.transactions.get(transaction).ok_or(Rejection::NotFound)?;
        if self.rows.notifications.contains(id) {
            return done(Outcome::Done);
        }
        let dispute_key =
            event.dispute().map(|dispute| (*transaction, dispute.as_str().to_owned()));
        let dispute =
            dispute_key.as_ref().and_then(|dispute_key| self.known.disputes.get(dispute_key));
        let waiting = dispute_key
            .as_ref()
            .and_then(|dispute_key| self.known.waiting.get(dispute_key))
            .copied();
        let result = loaded.state.decide_notification(event, (dispute, waiting), exchanges);
        let result = result.map_err(MovementError::from)?;
        let (waiting_decision, merchant) = (result.waiting_decision(), loaded.merchant);
        match result {
            NotificationResult::None | NotificationResult::Wait(_) => {}
            NotificationResult::Alert => self.alert(merchant, notification),
            NotificationResult::Refuse(operation) => self.refuse(*transaction, operation)?,
            NotificationResult::Open(opening, end) => {
                self.open(merchant, notification, opening, end)?
            }
            NotificationResult::End { dispute, decision, change } => {
                self.record_change(*transaction, change, None, StepOrigin::Dispute(dispute))?;
                self.end(dispute_key, dispute, decision);
                let fact = Fact::Dispute { transaction: *transaction, dispute };
                self.add_event(merchant, EventType::of_decision(decision), fact);
            }
        }
        self.record_notification(notification, waiting_decision);
        done(Outcome::Done)
    }

    fn alert(&mut self, merchant: Id, notification: &Notification) {
        let AcquirerEvent::Fraud { reported, reason } = notification.event else { return };
        let (id, created) = (self.id(), self.known.now);
        let transaction = notification.transaction;
        self.rows.fraud_alerts.insert(FraudAlert {
            id,
            merchant,
            transaction,
            created,
            reported,
            reason,
        });
        let fact = Fact::Fraud { transaction, alert: id };
        self.add_event(merchant, EventType::FraudReported, fact);
    }

    /// Opens a dispute. If its decision was reported first, also ends it.
    fn open(
        &mut self,
        merchant: Id,
        notification: &Notification,
        opening: OpenedDispute,
        end: Option<(Decision, TransactionChange)>,
    ) -> Result<(), Rejection> {
        let AcquirerEvent::Opened { dispute: reference, amount, reason, due } = &notification.event
        else {
            return Ok(());
        };
        let transaction = notification.transaction;
        let returned = end.as_ref().map_or(0, |(_, change)| change.balance);
        let sum =
            opening.change.balance.checked_add(returned).ok_or(MovementError::from(Overflow))?;
        // Check the sum first, so that both changes are booked or none.
        self.balance(merchant, sum)?;
        let id = self.id();
        let line =
            self.record_change(transaction, opening.change, None, StepOrigin::Dispute(id))?.line;
        for (number, &slice) in (0..).zip(&opening.slices) {
            self.rows.slices.insert(SliceRow { dispute: id, number, slice });
        }
        let dispute_key = (transaction, reference.as_str().to_owned());
        self.rows.disputes.insert(DisputeRow {
            id,
            merchant,
            transaction,
            reference: reference.clone(),
            created: notification.created,
            amount: amount.minor(),
            reason: reason.clone(),
            due: *due,
            // The opening of a dispute always books a line.
            line: line.unwrap_or(Id::MIN),
            decision: None,
        });
        self.change_disputed(transaction, &opening.slices, i64::saturating_add);
        let state = DisputeState { id, decision: None, slices: opening.slices };
        self.known.disputes.insert(dispute_key.clone(), state);
        let fact = Fact::Dispute { transaction, dispute: id };
        self.add_event(merchant, EventType::DisputeOpened, fact);
        if let Some((decision, change)) = end {
            self.record_change(transaction, change, None, StepOrigin::Dispute(id))?;
            self.end(Some(dispute_key), id, decision);
            self.add_event(merchant, EventType::of_decision(decision), fact);
        }
        Ok(())
    }

    fn end(&mut self, dispute_key: Option<(Id, String)>, dispute: Id, decision: Decision) {
        let ended = dispute_key.and_then(|dispute_key| {
            let state = self.known.disputes.get_mut(&dispute_key)?;
            state.decision = Some(decision);
            Some((dispute_key.0, state.slices.clone()))
        });
        if let Some((transaction, slices)) = ended.filter(|_| decision == Decision::Won) {
            self.change_disputed(transaction, &slices, i64::saturating_sub);
        }
        if let Some(row) = self.rows.disputes.get(&dispute) {
            let row = DisputeRow { decision: Some(decision), ..row.clone() };
            self.rows.disputes.update(row);
        }
    }

    /// Adds or subtracts the slices of a dispute: what disputes have taken of each capture.
    fn change_disputed(&mut self, transaction: Id, slices: &[Slice], change: fn(i64, i64) -> i64) {
        let Some(loaded) = self.known.transactions.get_mut(&transaction) else { return };
        for slice in slices.iter().filter(|slice| !slice.again) {
            if let Some(step) = slice.step {
                loaded.disputed.entry(step).or_default().change(slice, change);
            }
        }
    }

    /// Records the notification, and the decision that waits for its dispute, if any. Only the
    /// first decision counts: a later one does not wait.
    fn record_notification(
        &mut self,
        notification: &Notification,
        waiting_decision: Option<Decision>,
    ) {
        let Notification { id, transaction, event, .. } = notification;
        let waiting = event.dispute().cloned().zip(waiting_decision);
        let waiting = waiting.filter(|(dispute, decision)| {
            let dispute_key = (*transaction, dispute.as_str().to_owned());
            let is_first = !self.known.waiting.contains_key(&dispute_key);
            self.known.waiting.entry(dispute_key).or_insert(*decision);
            is_first
        });
        let (id, transaction, created) = (id.clone(), *transaction, self.known.now);
        self.rows.notifications.insert(NotificationRow { id, transaction, created, waiting });
    }
}
