//! The rows that a batch of writes changes, each once, in its final state.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::{BatchRows, KeyState, Outcome};
use crate::domain::{
    AcquirerId, AcquirerKey, AcquirerName, Amounts, Capture, Challenge, Decision, Descriptor,
    Dispute, Email, Id, LinkDigest, Merchant, MerchantDetails, Name, OutboxKind, Payment,
    Transaction, User,
};

/// The row changes of a batch. An engine writes them table by table: deletes, then updates, then
/// inserts.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Changes {
    pub(crate) rows: BatchRows,
    /// New rows, by e-mail address in lower case.
    pub(crate) users: BTreeMap<String, User>,
    /// New pending payments.
    pub(crate) pending_payments: Vec<NewPendingPayment>,
    /// Updates of pending payments: the acquirer's ID of the authorization.
    pub(crate) authorizations: BTreeMap<Id, (Id, String)>,
    /// Updates of pending payments.
    pub(crate) challenges: BTreeMap<Id, (Id, Challenge)>,
    /// Deletes of pending payments.
    pub(crate) deleted_pending_payments: BTreeSet<Id>,
    /// New rows.
    pub(crate) transactions: Vec<NewTransaction>,
    /// Updates of amounts and lengths of trails, by transaction.
    pub(crate) transaction_updates: BTreeMap<Id, TransactionUpdate>,
    /// New and updated rows, by transaction and step.
    pub(crate) captures: BTreeMap<(Id, u32), CaptureRow>,
    /// New outbox entries.
    pub(crate) outbox_entries: Vec<NewOutboxEntry>,
    /// Updates of outbox entries: the next attempt.
    pub(crate) outbox_retries: BTreeMap<Id, OutboxRetry>,
    /// Deletes of outbox entries.
    pub(crate) deleted_outbox_entries: BTreeSet<Id>,
    /// New rows.
    pub(crate) notifications: BTreeMap<String, NotificationRow>,
    /// New rows.
    pub(crate) disputes: BTreeMap<Id, NewDispute>,
    /// Updates of disputes that an earlier batch opened.
    pub(crate) decisions: BTreeMap<Id, (Id, Decision)>,
    /// New idempotency keys, by app and key.
    pub(crate) keys: BTreeMap<(Id, String), NewIdempotencyKey>,
    /// Updates of idempotency keys whose payment has an outcome.
    pub(crate) concluded_keys: BTreeMap<(Id, String), KeyChange>,
    /// Deletes of idempotency keys, by app and key.
    pub(crate) deleted_keys: BTreeSet<(Id, String)>,
    /// The new position of the expiry job.
    pub(crate) expired_through: Option<Id>,
}

impl Changes {
    pub(crate) fn is_empty(&self) -> bool {
        !self.rows.are_changed()
            && Self { rows: BatchRows::default(), ..self.clone() } == Self::default()
    }
}

/// The texts of a merchant that an update can change.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MerchantTexts {
    pub(crate) merchant: Id,
    pub(crate) name: Option<Name>,
    pub(crate) email: Email,
    pub(crate) descriptor: Descriptor,
}

impl MerchantTexts {
    pub(crate) fn of(merchant: &Merchant) -> Self {
        let MerchantDetails { name, email, descriptor, .. } = merchant.details.clone();
        Self { merchant: merchant.id, name, email, descriptor }
    }

    /// The merchant as its creation returned it, to answer a repeated request: with these texts and
    /// balance 0. Nothing else of a merchant can change.
    #[must_use]
    pub(crate) fn as_created(&self, mut merchant: Merchant) -> Merchant {
        merchant.details.name = self.name.clone();
        merchant.details.email = self.email.clone();
        merchant.details.descriptor = self.descriptor.clone();
        Merchant { balance: 0, ..merchant }
    }
}

/// A new pending payment.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct NewPendingPayment {
    pub(crate) id: Id,
    pub(crate) key: AcquirerKey,
    pub(crate) created: Timestamp,
    pub(crate) payment: Payment,
    /// The payment link, if it pays only once.
    pub(crate) link: Option<LinkDigest>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct NewTransaction {
    pub(crate) transaction: Transaction,
    pub(crate) pending_payment: Id,
    /// The acquirer knows the payment by it.
    pub(crate) key: AcquirerKey,
    /// The acquirer's ID of the authorization, if it needs one.
    pub(crate) authorization: Option<String>,
    pub(crate) acquirer: Option<AcquirerName>,
    /// The acquirer's reference of the card. `None` if the payment failed.
    pub(crate) reference: Option<String>,
}

/// The amounts of a transaction after its movements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TransactionUpdate {
    pub(crate) transaction: Id,
    pub(crate) amounts: Amounts,
    /// The length of the trail.
    pub(crate) steps: u32,
}

/// The reason for a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StepOrigin {
    /// A capture, refund or void, with its key at the acquirer.
    Request(AcquirerKey),
    /// A dispute was decided.
    Dispute(Id),
    /// The acquirer refused the step with this index, which this step reverses.
    Refusal(u32),
}

impl StepOrigin {
    pub(crate) fn acquirer_key(&self) -> Option<&AcquirerKey> {
        match self {
            Self::Request(key) => Some(key),
            Self::Dispute(_) | Self::Refusal(_) => None,
        }
    }

    pub(crate) fn dispute(&self) -> Option<&Id> {
        match self {
            Self::Dispute(dispute) => Some(dispute),
            Self::Request(_) | Self::Refusal(_) => None,
        }
    }

    pub(crate) fn reversed_step(&self) -> Option<&u32> {
        match self {
            Self::Refusal(number) => Some(number),
            Self::Request(_) | Self::Dispute(_) => None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CaptureRow {
    pub(crate) transaction: Id,
    pub(crate) captured: Capture,
    /// Whether this batch inserts the row.
    pub(crate) is_new: bool,
}

/// A new outbox entry for an acquirer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NewOutboxEntry {
    pub(crate) id: Id,
    pub(crate) key: AcquirerKey,
    pub(crate) transaction: Id,
    pub(crate) kind: OutboxKind,
    /// Minor units of the transaction's currency.
    pub(crate) amount: i64,
    /// The step of the trail. `None` for a reversal.
    pub(crate) step: Option<u32>,
}

/// The next attempt to send an outbox entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OutboxRetry {
    pub(crate) entry: Id,
    /// The number of failed attempts.
    pub(crate) attempts: u32,
    pub(crate) due: Timestamp,
}

/// A notification that was recorded.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct NotificationRow {
    /// The acquirer's ID of the notification.
    pub(crate) id: AcquirerId,
    pub(crate) transaction: Id,
    /// The time of the recording, not of the event.
    pub(crate) created: Timestamp,
    /// The decision, and the dispute that is not opened yet.
    pub(crate) waiting_decision: Option<(AcquirerId, Decision)>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct NewDispute {
    pub(crate) dispute: Dispute,
    /// The acquirer's ID of the dispute.
    pub(crate) reference: AcquirerId,
    /// The line that booked the opening.
    pub(crate) line: Id,
    pub(crate) decision: Option<Decision>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct NewIdempotencyKey {
    pub(crate) app: Id,
    pub(crate) key: String,
    /// The digest of the request.
    pub(crate) request: [u8; 32],
    pub(crate) created: Timestamp,
    pub(crate) state: KeyState,
}

/// The outcome for an idempotency key whose payment was pending.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct KeyChange {
    pub(crate) app: Id,
    pub(crate) key: String,
    pub(crate) outcome: Outcome,
}
