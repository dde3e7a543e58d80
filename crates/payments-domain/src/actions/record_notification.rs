use crate::{
    AcquirerEvent, AcquirerId, Claim, Decision, EventType, Exchange, Fact, FraudAlert, Id,
    MovementError, Notification, NotificationResult, OpenedDispute, Overflow, Slice,
    TransactionChange,
    write::{
        Action, Batch, CapturesToLoad, DisputeRow, MOVEMENT_ROWS, Needs, NotificationRow,
        Rejection, SliceRow, StepOrigin, captures,
    },
};

/// Record an acquirer's notification. A repeated notification changes nothing.
#[derive(Debug)]
pub struct RecordNotification {
    pub notification: Box<Notification>,
    /// For disputed money that was never captured.
    pub exchange: Exchange,
    /// From the currency of the dispute fee to the merchant's.
    pub fee_exchange: Exchange,
    /// As in [`super::Move`].
    pub steps: u32,
}

impl Action for RecordNotification {
    type Outcome = ();

    fn needs(&self, needs: &mut Needs) {
        let Notification { id, transaction, event, .. } = &*self.notification;
        if let AcquirerEvent::Refused { operation, .. } = event {
            needs.add_refusal(*transaction, *operation);
        }
        needs.add_transaction(*transaction, CapturesToLoad::All);
        needs.rows.notifications.insert(id.clone());
        if let Some(dispute) = event.dispute().map(AcquirerId::as_str) {
            needs.disputes.insert((*transaction, dispute.to_owned()));
        }
    }

    fn cost(&self) -> (usize, usize) {
        (MOVEMENT_ROWS.saturating_add(captures(self.steps)).saturating_mul(2), 0)
    }

    fn decide(&self, batch: &mut Batch) -> Result<(), Rejection> {
        let notification = &*self.notification;
        let Notification { id, transaction, event, .. } = notification;
        let exchanges = (self.exchange, self.fee_exchange);
        let loaded = batch.loaded.transactions.get(transaction).ok_or(Rejection::NotFound)?;
        if batch.rows.notifications.contains(id) {
            return Ok(());
        }
        let dispute_key =
            event.dispute().map(|dispute| (*transaction, dispute.as_str().to_owned()));
        let dispute =
            dispute_key.as_ref().and_then(|dispute_key| batch.loaded.disputes.get(dispute_key));
        let waiting = dispute_key
            .as_ref()
            .and_then(|dispute_key| batch.loaded.waiting.get(dispute_key))
            .copied();
        let result = loaded.state.decide_notification(event, (dispute, waiting), exchanges)?;
        let (waiting_decision, merchant) = (result.waiting_decision(), loaded.merchant);
        let owner = DisputeOwner { merchant, test: loaded.test };
        match result {
            NotificationResult::None | NotificationResult::Wait(_) => {}
            NotificationResult::Alert => alert(batch, merchant, notification),
            NotificationResult::Refuse(operation) => batch.refuse(*transaction, operation)?,
            NotificationResult::Void(void) => drop(batch.void_ended(*transaction, void)?),
            NotificationResult::Inquire => inquire(batch, owner, notification),
            NotificationResult::Open(opening, end) => {
                open_dispute(batch, owner, notification, opening, end)?
            }
            NotificationResult::End { dispute, decision, change } => {
                batch.record_change(*transaction, change, None, StepOrigin::Dispute(dispute))?;
                end_dispute(batch, dispute_key, dispute, decision);
                let fact = Fact::Dispute { transaction: *transaction, dispute };
                batch.add_event(merchant, EventType::of_decision(decision), fact);
            }
        }
        record(batch, notification, waiting_decision);
        Ok(())
    }
}

fn alert(batch: &mut Batch, merchant: Id, notification: &Notification) {
    let AcquirerEvent::Fraud { reported, reason } = notification.event else { return };
    let (id, created) = (batch.id(), batch.loaded.now);
    let transaction = notification.transaction;
    batch.rows.fraud_alerts.insert(FraudAlert {
        id,
        merchant,
        transaction,
        created,
        reported,
        reason,
    });
    let fact = Fact::Fraud { transaction, alert: id };
    batch.add_event(merchant, EventType::FraudReported, fact);
}

/// The merchant of a dispute, and whether it is a test merchant.
#[derive(Clone, Copy)]
struct DisputeOwner {
    merchant: Id,
    test: bool,
}

fn inquire(batch: &mut Batch, owner: DisputeOwner, notification: &Notification) {
    let AcquirerEvent::Inquired(claim) = &notification.event else { return };
    let row = DisputeRow::inquiry(batch.id(), owner, notification, claim);
    let (transaction, dispute) = (notification.transaction, row.id);
    let dispute_key = (transaction, claim.dispute.as_str().to_owned());
    batch.loaded.disputes.insert(dispute_key, row.state(Vec::new()));
    batch.rows.disputes.insert(row);
    let fact = Fact::Dispute { transaction, dispute };
    batch.add_event(owner.merchant, EventType::DisputeInquiry, fact);
}

/// Opens a dispute, also one that was an inquiry. If its decision was reported first, also ends it.
fn open_dispute(
    batch: &mut Batch,
    owner: DisputeOwner,
    notification: &Notification,
    opening: OpenedDispute,
    end: Option<(Decision, TransactionChange)>,
) -> Result<(), Rejection> {
    let AcquirerEvent::Opened(claim) = &notification.event else { return Ok(()) };
    let (merchant, transaction) = (owner.merchant, notification.transaction);
    let returned = end.as_ref().map_or(0, |(_, change)| change.balance);
    let sum = opening.change.balance.checked_add(returned).ok_or(MovementError::from(Overflow))?;
    // Check the sum first, so that both changes are booked or none.
    batch.balance(merchant, sum)?;
    let dispute_key = (transaction, claim.dispute.as_str().to_owned());
    let inquiry = batch.loaded.disputes.get(&dispute_key).map(|inquiry| inquiry.id);
    let id = inquiry.unwrap_or_else(|| batch.id());
    let (origin, fee) = (StepOrigin::Dispute(id), opening.change.fee.flat);
    let line = batch.record_change(transaction, opening.change, None, origin)?.line;
    for (number, &slice) in (0..).zip(&opening.slices) {
        batch.rows.slices.insert(SliceRow { dispute: id, number, slice });
    }
    change_disputed(batch, transaction, &opening.slices, i64::saturating_add);
    let row = DisputeRow { line, fee, ..DisputeRow::inquiry(id, owner, notification, claim) };
    batch.loaded.disputes.insert(dispute_key.clone(), row.state(opening.slices));
    match batch.rows.disputes.get(&id).map(|inquiry| inquiry.created) {
        // It keeps the time of its beginning, and can be answered again.
        Some(created) => batch.rows.disputes.update(DisputeRow { created, ..row }),
        None => batch.rows.disputes.insert(row),
    }
    let fact = Fact::Dispute { transaction, dispute: id };
    batch.add_event(merchant, EventType::DisputeOpened, fact);
    if let Some((decision, change)) = end {
        batch.record_change(transaction, change, None, origin)?;
        end_dispute(batch, Some(dispute_key), id, decision);
        batch.add_event(merchant, EventType::of_decision(decision), fact);
    }
    Ok(())
}

fn end_dispute(
    batch: &mut Batch,
    dispute_key: Option<(Id, String)>,
    dispute: Id,
    decision: Decision,
) {
    let ended = dispute_key.and_then(|dispute_key| {
        let state = batch.loaded.disputes.get_mut(&dispute_key)?;
        state.decision = Some(decision.stored());
        Some((dispute_key.0, state.slices.clone()))
    });
    if let Some((transaction, slices)) = ended.filter(|_| decision != Decision::Lost) {
        change_disputed(batch, transaction, &slices, i64::saturating_sub);
    }
    if let Some(row) = batch.rows.disputes.get(&dispute) {
        let row = DisputeRow { decision: Some(decision.stored()), ..row.clone() };
        batch.rows.disputes.update(row);
    }
}

/// Adds or subtracts the slices of a dispute: what disputes have taken of each capture.
fn change_disputed(
    batch: &mut Batch,
    transaction: Id,
    slices: &[Slice],
    change: fn(i64, i64) -> i64,
) {
    let Some(loaded) = batch.loaded.transactions.get_mut(&transaction) else { return };
    for slice in slices.iter().filter(|slice| !slice.again) {
        if let Some(step) = slice.step {
            loaded.disputed.entry(step).or_default().change(slice, change);
        }
    }
}

/// Records the notification, and the decision that waits for its dispute, if any.
fn record(batch: &mut Batch, notification: &Notification, waiting_decision: Option<Decision>) {
    let Notification { id, transaction, event, .. } = notification;
    let waiting = event.dispute().cloned().zip(waiting_decision);
    let waiting = waiting.filter(|(dispute, decision)| {
        batch.loaded.wait((*transaction, dispute.as_str().to_owned()), *decision)
    });
    let (id, transaction, created) = (id.clone(), *transaction, batch.loaded.now);
    batch.rows.notifications.insert(NotificationRow { id, transaction, created, waiting });
}

impl DisputeRow {
    fn inquiry(id: Id, owner: DisputeOwner, notification: &Notification, claim: &Claim) -> Self {
        let Claim { dispute, amount, reason, due } = claim;
        Self {
            id,
            merchant: owner.merchant,
            test: owner.test,
            transaction: notification.transaction,
            reference: dispute.clone(),
            created: notification.created,
            amount: amount.minor(),
            reason: reason.clone(),
            due: *due,
            line: None,
            fee: 0,
            decision: None,
            submitted: None,
            accepted: None,
        }
    }
}
