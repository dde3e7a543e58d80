//! The loaded rows of a batch.

use std::collections::{HashMap, HashSet};

use jiff::Timestamp;
use sql::{Column, ColumnError, Columns, Group, Param, Stored as _};

use super::{BatchRows, StoredOutcome};
use crate::{
    AcquirerKey, AcquirerName, Decision, Descriptor, DisputeState, DisputedParts, Id, Mail,
    Merchant, PayoutRun, RefusedStep, TransactionState,
};

/// The rows that a batch depends on ([`super::Needs`]), as they are inside its database
/// transaction. A missing key means that the row does not exist.
#[derive(Debug)]
pub struct LoadedRows {
    /// The time of the batch: by the clock of PostgreSQL, or of this process on SQLite.
    pub now: Timestamp,
    /// New IDs, in ascending order.
    pub ids: Vec<Id>,
    /// The number of rows of each merchant's balance: 1 on SQLite, 16 on PostgreSQL.
    pub(crate) shards: i64,
    pub rows: BatchRows,
    /// Transactions, each with the captures that its writes need.
    pub transactions: HashMap<Id, LoadedTransaction>,
    /// Steps that were not refused before, by transaction and key at the acquirer.
    pub refusable_steps: HashMap<(Id, AcquirerKey), RefusedStep>,
    /// Beside their rows.
    pub pending_payments: HashMap<Id, PendingContext>,
    pub users: HashSet<Id>,
    /// The number of users of a merchant who have accepted their invitations.
    pub members: HashMap<Id, u32>,
    /// By address in lower case.
    pub users_by_email: HashMap<String, Id>,
    /// By transaction and the acquirer's ID of the dispute.
    pub disputes: HashMap<(Id, String), DisputeState>,
    /// Decisions that arrived before their dispute, by the same key.
    pub waiting: HashMap<(Id, String), Decision>,
    /// The size of the files of a merchant's open disputes, in bytes.
    pub evidence: HashMap<Id, i64>,
    /// Beside their rows.
    pub mails: HashMap<Id, Mail>,
    pub payout: Option<PayoutState>,
}

impl LoadedRows {
    pub fn new(now: Timestamp, ids: Vec<Id>, shards: i64) -> Self {
        Self {
            now,
            ids,
            shards,
            rows: BatchRows::default(),
            transactions: HashMap::new(),
            refusable_steps: HashMap::new(),
            pending_payments: HashMap::new(),
            users: HashSet::new(),
            members: HashMap::new(),
            users_by_email: HashMap::new(),
            disputes: HashMap::new(),
            waiting: HashMap::new(),
            evidence: HashMap::new(),
            mails: HashMap::new(),
            payout: None,
        }
    }

    /// Keeps a decision until its dispute is opened. False if an earlier one counts.
    pub fn wait(&mut self, dispute: (Id, String), decision: Decision) -> bool {
        let earlier = self.waiting.get(&dispute).copied();
        let counts = earlier.is_none_or(|earlier| decision.overrides(earlier));
        if counts {
            self.waiting.insert(dispute, decision);
        }
        counts
    }
}

/// The progress of a request with an idempotency key.
#[derive(Debug, Clone, PartialEq)]
pub enum KeyState {
    /// Its payment, with this ID, waits for the acquirer or the customer.
    InFlight(Id),
    Answered(StoredOutcome),
}

impl Group for KeyState {
    const COLUMNS: &'static [Column] =
        &[("pending_payment", Id::KIND), ("outcome", StoredOutcome::KIND)];

    fn read(columns: &mut Columns<'_>) -> Result<Self, ColumnError> {
        let pending_payment: Option<Id> = columns.read()?;
        let Some(pending_payment) = pending_payment else {
            return columns.read().map(Self::Answered);
        };
        columns.skip(1);
        Ok(Self::InFlight(pending_payment))
    }

    fn params<'a>(&'a self, params: &mut Vec<Param<'a>>) {
        params.extend(match self {
            Self::InFlight(pending_payment) => [pending_payment.param(), Param::Null],
            Self::Answered(outcome) => [Param::Null, outcome.param()],
        });
    }
}

/// The part of a transaction that movements need.
#[derive(Debug, Clone)]
pub struct LoadedTransaction {
    pub merchant: Id,
    /// Whether the merchant is a test merchant.
    pub test: bool,
    /// `None`: no acquirer has processed the payment.
    pub acquirer: Option<AcquirerName>,
    /// Used for movements without a descriptor.
    pub descriptor: Descriptor,
    pub state: TransactionState,
    /// Loaded only for refusals.
    pub disputed: DisputedParts,
}

/// The parts of a pending payment that other tables store.
#[derive(Debug, Clone)]
pub struct PendingContext {
    /// Whether the merchant is a test merchant.
    pub test: bool,
    /// The app and the idempotency key of the request.
    pub key: Option<(Id, String)>,
}

/// The state that a payout depends on.
#[derive(Debug, Clone)]
pub struct PayoutState {
    pub run: PayoutRun,
    /// Its field `balance` is not loaded. Use its rows.
    pub merchant: Merchant,
    /// The sum of the balance lines of captures that are too young, in minor units.
    pub held: i64,
    /// Captures after this time are too young. `None` if a payout pays all.
    pub held_since: Option<Timestamp>,
    /// Whether the run is closed, or the merchant was paid on that day before.
    pub is_done: bool,
}
