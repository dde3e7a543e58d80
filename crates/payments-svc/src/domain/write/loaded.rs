//! The loaded rows of a batch.

use std::collections::{HashMap, HashSet};

use common::sql::{Column, ColumnError, Columns, Group, Param, Stored as _};
use jiff::Timestamp;

use super::{BatchRows, StoredOutcome};
use crate::domain::{
    AcquirerKey, Decision, Descriptor, DisputeState, DisputedParts, Id, Invitation, Merchant,
    PayoutRun, RefusedStep, TransactionState,
};

/// The rows that a batch depends on ([`super::Needs`]), as they are inside its database
/// transaction. A missing key means that the row does not exist.
#[derive(Debug)]
pub(crate) struct LoadedRows {
    /// The time of the batch: by the clock of PostgreSQL, or of this process on SQLite.
    pub(crate) now: Timestamp,
    /// New IDs, in ascending order.
    pub(crate) ids: Vec<Id>,
    /// The number of rows of each merchant's balance: 1 on SQLite, 16 on PostgreSQL.
    pub(crate) shards: i64,
    pub(crate) rows: BatchRows,
    /// Transactions, each with the captures that its writes need.
    pub(crate) transactions: HashMap<Id, LoadedTransaction>,
    /// Steps that were not refused before, by transaction and key at the acquirer.
    pub(crate) refusable_steps: HashMap<(Id, AcquirerKey), RefusedStep>,
    /// Beside their rows.
    pub(crate) pending_payments: HashMap<Id, PendingContext>,
    pub(crate) users: HashSet<Id>,
    /// By address in lower case.
    pub(crate) users_by_email: HashMap<String, Id>,
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
            ids,
            shards,
            rows: BatchRows::default(),
            transactions: HashMap::new(),
            refusable_steps: HashMap::new(),
            pending_payments: HashMap::new(),
            users: HashSet::new(),
            users_by_email: HashMap::new(),
            disputes: HashMap::new(),
            waiting: HashMap::new(),
            invitations: HashMap::new(),
            payout: None,
        }
    }
}

/// The progress of a request with an idempotency key.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum KeyState {
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
pub(crate) struct LoadedTransaction {
    pub(crate) merchant: Id,
    /// Used for movements without a descriptor.
    pub(crate) descriptor: Descriptor,
    pub(crate) state: TransactionState,
    /// Loaded only for refusals.
    pub(crate) disputed: DisputedParts,
}

/// The parts of a pending payment that other tables store.
#[derive(Debug, Clone)]
pub(crate) struct PendingContext {
    /// Whether the merchant is a test merchant.
    pub(crate) test: bool,
    /// The app and the idempotency key of the request.
    pub(crate) key: Option<(Id, String)>,
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
