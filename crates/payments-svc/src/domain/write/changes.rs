//! The rows that a batch of writes changes, each once, in its final state.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::{BatchRows, KeyState, Outcome};
use crate::domain::{
    AcquirerId, AcquirerKey, AcquirerName, Amounts, ApiKeyDigest, ApiKeyUse, App, Capture,
    Challenge, Decision, Descriptor, Dispute, Email, Id, LinkDigest, Merchant, Name, OutboxKind,
    Payment, SandboxClock, Transaction, User,
};

/// The row changes of a batch. An engine writes them table by table: deletes, then updates, then
/// inserts.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Changes {
    pub(crate) rows: BatchRows,
    /// New rows.
    pub(crate) apps: Vec<App>,
    /// New rows, by ID.
    pub(crate) api_keys: BTreeMap<Id, NewApiKey>,
    /// Updates, by ID of the key.
    pub(crate) api_key_uses: BTreeMap<Id, ApiKeyUse>,
    /// Deletes, by ID.
    pub(crate) deleted_api_keys: BTreeSet<Id>,
    /// New rows, by e-mail address in lower case.
    pub(crate) users: BTreeMap<String, User>,
    /// New rows.
    pub(crate) merchants: Vec<Merchant>,
    /// Updates.
    pub(crate) merchant_texts: BTreeMap<Id, MerchantTexts>,
    /// New rows.
    pub(crate) new_balances: Vec<Balance>,
    /// Updates, by merchant and shard.
    pub(crate) balances: BTreeMap<(Id, i64), Balance>,
    /// New and deleted rows, by merchant and app.
    pub(crate) merchant_apps: BTreeMap<(Id, Id), Membership>,
    /// New and deleted rows, by merchant and user.
    pub(crate) merchant_users: BTreeMap<(Id, Id), Membership>,
    /// New rows.
    pub(crate) invitations: BTreeMap<Id, NewInvitation>,
    /// Updates of invitations. The invitation may be deleted in the same batch.
    pub(crate) attempts: BTreeMap<Id, InvitationAttempt>,
    /// Deletes, by ID.
    pub(crate) deleted_invitations: BTreeSet<Id>,
    /// Deletes of all invitations of a merchant and user.
    pub(crate) deleted_invitations_of: BTreeSet<(Id, Id)>,
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
    /// Updates of apps.
    pub(crate) clocks: BTreeMap<Id, (Id, SandboxClock)>,
}

impl Changes {
    pub(crate) fn is_empty(&self) -> bool {
        !self.rows.are_changed()
            && Self { rows: BatchRows::default(), ..self.clone() } == Self::default()
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct NewApiKey {
    /// The first key has the ID of its app.
    pub(crate) id: Id,
    pub(crate) app: Id,
    pub(crate) digest: ApiKeyDigest,
    pub(crate) name: Option<Name>,
    pub(crate) created: Timestamp,
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

/// A row of a merchant's balance. The balance is the sum of the merchant's rows. PostgreSQL has
/// several, so that batches do not wait for each other: see `store/postgres/batch.rs`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Balance {
    pub(crate) merchant: Id,
    /// The number of the row, from 0.
    pub(crate) shard: i64,
    /// Minor units of the merchant's currency.
    pub(crate) minor: i64,
}

/// A membership of an app or user, before and after the batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Membership {
    pub(crate) merchant: Id,
    /// An app or a user.
    pub(crate) member: Id,
    /// Whether the merchant is a test merchant. The table `merchant_apps` has a copy of this flag,
    /// because an index on the copy has the order of the list of merchants. The table
    /// `merchant_users` has none: always false.
    pub(crate) test: bool,
    /// Whether the row existed before the batch.
    pub(crate) existed: bool,
    /// Whether the row exists after the batch.
    pub(crate) exists: bool,
}

impl Membership {
    pub(crate) fn is_new(&self) -> bool {
        self.exists && !self.existed
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.existed && !self.exists
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NewInvitation {
    pub(crate) id: Id,
    pub(crate) merchant: Id,
    /// The app that invites the user.
    pub(crate) app: Id,
    pub(crate) user: Id,
    pub(crate) created: Timestamp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct InvitationAttempt {
    pub(crate) invitation: Id,
    /// The number of attempts, including this one.
    pub(crate) attempts: u32,
    /// The time of the next attempt.
    pub(crate) due: Timestamp,
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
