//! The loaded rows of a batch.

use std::collections::{HashMap, HashSet};

use jiff::Timestamp;

use super::{Answer, BatchRows, KeyedRequest, Outcome, Rejection};
use crate::domain::{
    AcquirerKey, Card, Decision, Descriptor, DisputeState, DisputedParts, Id, Invitation,
    LinkDigest, Merchant, Payment, PayoutRun, RefusedStep, TransactionState, TransactionVersion,
};

/// The rows that a batch depends on ([`super::Needs`]), as they are inside its database
/// transaction. A missing key means that the row does not exist.
#[derive(Debug)]
pub(crate) struct LoadedRows {
    /// The time of the batch: by the clock of PostgreSQL, or of this process on SQLite.
    pub(crate) now: Timestamp,
    /// New IDs, in ascending order.
    pub(crate) ids: std::vec::IntoIter<Id>,
    /// The number of rows of each merchant's balance: 1 on SQLite, 16 on PostgreSQL.
    pub(crate) shards: i64,
    pub(crate) rows: BatchRows,
    pub(crate) keys: HashMap<(Id, String), StoredIdempotencyKey>,
    /// Transactions, each with the captures that its writes need.
    pub(crate) transactions: HashMap<Id, LoadedTransaction>,
    /// Steps that were not refused before, by transaction and key at the acquirer.
    pub(crate) refusable_steps: HashMap<(Id, AcquirerKey), RefusedStep>,
    pub(crate) outbox_entries: HashSet<Id>,
    pub(crate) pending_payments: HashMap<Id, PendingPayment>,
    pub(crate) users: HashSet<Id>,
    /// By address in lower case.
    pub(crate) users_by_email: HashMap<String, Id>,
    /// Recorded notifications, by the acquirer's ID.
    pub(crate) notifications: HashSet<String>,
    /// By transaction and the acquirer's ID of the dispute.
    pub(crate) disputes: HashMap<(Id, String), DisputeState>,
    /// Decisions that arrived before their dispute, by the same key.
    pub(crate) waiting: HashMap<(Id, String), Decision>,
    /// Beside their rows.
    pub(crate) invitations: HashMap<Id, Invitation>,
    pub(crate) payout: Option<PayoutState>,
}

impl LoadedRows {
    pub(crate) fn new(now: Timestamp, ids: Vec<Id>, shards: i64) -> Self {
        Self {
            now,
            ids: ids.into_iter(),
            shards,
            rows: BatchRows::default(),
            keys: HashMap::new(),
            transactions: HashMap::new(),
            refusable_steps: HashMap::new(),
            outbox_entries: HashSet::new(),
            pending_payments: HashMap::new(),
            users: HashSet::new(),
            users_by_email: HashMap::new(),
            notifications: HashSet::new(),
            disputes: HashMap::new(),
            waiting: HashMap::new(),
            invitations: HashMap::new(),
            payout: None,
        }
    }
}

/// An idempotency key of an earlier request.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct StoredIdempotencyKey {
    /// The digest of the request.
    pub(crate) request: [u8; 32],
    pub(crate) state: KeyState,
}

/// The progress of a request with an idempotency key.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum KeyState {
    /// Its payment, with this ID, waits for the acquirer or the customer.
    InFlight(Id),
    Answered(Outcome),
}

impl KeyState {
    pub(crate) fn pending_payment(&self) -> Option<&Id> {
        match self {
            Self::InFlight(pending_payment) => Some(pending_payment),
            Self::Answered(_) => None,
        }
    }

    /// The outcome, unless it is a movement, which the tables keep in columns of their own.
    pub(crate) fn outcome(&self) -> Option<&Outcome> {
        match self {
            Self::InFlight(_) | Self::Answered(Outcome::Moved(_)) => None,
            Self::Answered(outcome) => Some(outcome),
        }
    }

    /// The outcome, if it is a movement.
    pub(crate) fn moved(&self) -> Option<&TransactionVersion> {
        match self {
            Self::Answered(Outcome::Moved(moved)) => Some(moved),
            Self::InFlight(_) | Self::Answered(_) => None,
        }
    }
}

impl StoredIdempotencyKey {
    /// The answer to a repeated request.
    pub(crate) fn answer(&self, keyed: &KeyedRequest) -> Result<Answer, Rejection> {
        if self.request != keyed.request {
            return Err(Rejection::KeyReused);
        }
        match &self.state {
            KeyState::InFlight(_) => Err(Rejection::InFlight),
            KeyState::Answered(outcome) => Ok(Answer::Replayed(outcome.clone())),
        }
    }
}

/// The part of a transaction that movements need.
#[derive(Debug, Clone)]
pub(crate) struct LoadedTransaction {
    pub(crate) merchant: Id,
    /// Used for movements without a descriptor.
    pub(crate) descriptor: Descriptor,
    pub(crate) state: TransactionState,
    /// Loaded only for refusals.
    pub(crate) disputed: DisputedParts,
}

/// A pending payment.
#[derive(Debug, Clone)]
pub(crate) struct PendingPayment {
    pub(crate) payment: Payment,
    pub(crate) acquirer_key: AcquirerKey,
    /// The acquirer's ID of the authorization, if it needs one.
    pub(crate) authorization: Option<String>,
    /// Whether the merchant is a test merchant.
    pub(crate) test: bool,
    /// The card data, while the customer must answer 3-D Secure.
    pub(crate) challenged: Option<Card>,
    /// The app and the idempotency key of the request.
    pub(crate) key: Option<(Id, String)>,
    /// The payment link, if it pays only once.
    pub(crate) link: Option<LinkDigest>,
}

/// The state that a payout depends on.
#[derive(Debug, Clone)]
pub(crate) struct PayoutState {
    pub(crate) run: PayoutRun,
    /// Its field `balance` is not loaded. Use its rows.
    pub(crate) merchant: Merchant,
    /// The sum of the balance lines of captures that are too young, in minor units.
    pub(crate) held: i64,
    /// Whether the run is closed, or the merchant was paid on that day before.
    pub(crate) is_done: bool,
}
