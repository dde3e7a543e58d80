//! The rows that a batch of writes needs, as they are at one moment.

use std::collections::{HashMap, HashSet};

use jiff::Timestamp;

use super::{Answer, Balance, Keyed, MerchantTexts, Moved, Outcome, Refusal};
use crate::domain::{
    Card, Contest, Decision, Descriptor, Holding, Id, Invitation, Merchant, Payment, PayoutRun,
};

/// What is stored of what a batch of writes is about. Keys that are not there are not stored.
#[derive(Debug)]
pub(crate) struct Known {
    /// The time of the database.
    pub(crate) now: Timestamp,
    /// New ids, rising.
    pub(crate) ids: std::vec::IntoIter<Id>,
    /// In how many rows a merchant's balance is kept.
    pub(crate) shards: i64,
    /// Idempotency keys, by app and key.
    pub(crate) keys: HashMap<(Id, String), KnownKey>,
    /// Transactions, with those of their captures that are needed.
    pub(crate) transactions: HashMap<Id, Held>,
    /// Rows of merchants' balances, by merchant: one is enough for a booking.
    pub(crate) balances: HashMap<Id, Vec<Balance>>,
    /// Payments in flight.
    pub(crate) operations: HashMap<Id, Begun>,
    /// Merchants, with the texts that can change.
    pub(crate) merchants: HashMap<Id, MerchantTexts>,
    /// Merchants for tests.
    pub(crate) test_merchants: HashSet<Id>,
    /// Apps.
    pub(crate) apps: HashSet<Id>,
    /// Users.
    pub(crate) users: HashSet<Id>,
    /// Users, by address in lower case.
    pub(crate) users_by_email: HashMap<String, Id>,
    /// Members of merchants, by merchant and user.
    pub(crate) merchant_users: HashSet<(Id, Id)>,
    /// Members of merchants, by merchant and app.
    pub(crate) merchant_apps: HashSet<(Id, Id)>,
    /// Notifications that were booked, by the acquirer's id.
    pub(crate) notifications: HashSet<String>,
    /// Disputes, by transaction and the acquirer's id.
    pub(crate) disputes: HashMap<(Id, String), Contest>,
    /// Decisions that came before their dispute, by the same.
    pub(crate) waiting: HashMap<(Id, String), Decision>,
    /// Invitations.
    pub(crate) invitations: HashMap<Id, InvitationState>,
    /// The payout that is to be made.
    pub(crate) payout: Option<PayoutState>,
}

impl Known {
    /// Nothing is known yet.
    pub(crate) fn new(now: Timestamp, ids: Vec<Id>, shards: i64) -> Self {
        Self {
            now,
            ids: ids.into_iter(),
            shards,
            keys: HashMap::new(),
            transactions: HashMap::new(),
            balances: HashMap::new(),
            operations: HashMap::new(),
            merchants: HashMap::new(),
            test_merchants: HashSet::new(),
            apps: HashSet::new(),
            users: HashSet::new(),
            users_by_email: HashMap::new(),
            merchant_users: HashSet::new(),
            merchant_apps: HashSet::new(),
            notifications: HashSet::new(),
            disputes: HashMap::new(),
            waiting: HashMap::new(),
            invitations: HashMap::new(),
            payout: None,
        }
    }
}

/// An idempotency key that came before.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct KnownKey {
    /// The digest of its request.
    pub(crate) request: [u8; 32],
    /// What came of the request.
    pub(crate) state: KeyState,
}

/// What came of a request with an idempotency key.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum KeyState {
    /// Its payment, this operation, is with the acquirer or its customer.
    InFlight(Id),
    /// It was answered.
    Answered(Outcome),
}

impl KeyState {
    /// The payment in flight.
    pub(crate) fn operation(&self) -> Option<&Id> {
        match self {
            Self::InFlight(operation) => Some(operation),
            Self::Answered(_) => None,
        }
    }

    /// The outcome, if it is not a movement.
    pub(crate) fn outcome(&self) -> Option<&Outcome> {
        match self {
            Self::InFlight(_) | Self::Answered(Outcome::Moved(_)) => None,
            Self::Answered(outcome) => Some(outcome),
        }
    }

    /// The movement, if it is one.
    pub(crate) fn moved(&self) -> Option<&Moved> {
        match self {
            Self::Answered(Outcome::Moved(moved)) => Some(moved),
            Self::InFlight(_) | Self::Answered(_) => None,
        }
    }
}

impl KnownKey {
    /// The answer to a request with this key.
    pub(crate) fn answer(&self, keyed: &Keyed) -> Result<Answer, Refusal> {
        if self.request != keyed.request {
            return Err(Refusal::KeyReused);
        }
        match &self.state {
            KeyState::InFlight(_) => Err(Refusal::InFlight),
            KeyState::Answered(outcome) => Ok(Answer::Replayed(outcome.clone())),
        }
    }
}

/// A transaction, as far as its movements are decided over.
#[derive(Debug, Clone)]
pub(crate) struct Held {
    /// Its merchant.
    pub(crate) merchant: Id,
    /// Whether the merchant is one for tests.
    pub(crate) test: bool,
    /// The text on the customer's bank statement, unless a movement has its own.
    pub(crate) descriptor: Descriptor,
    /// Its amounts and captures.
    pub(crate) holding: Holding,
}

/// A payment in flight.
#[derive(Debug, Clone)]
pub(crate) struct Begun {
    /// The payment.
    pub(crate) payment: Payment,
    /// Whether its merchant is one for tests.
    pub(crate) test: bool,
    /// What is kept of the card while its customer is challenged.
    pub(crate) challenged: Option<Card>,
    /// The idempotency key that it came with, by app and key.
    pub(crate) key: Option<(Id, String)>,
}

/// An invitation that was not sent yet.
#[derive(Debug, Clone)]
pub(crate) struct InvitationState {
    /// The merchant and the user.
    pub(crate) membership: (Id, Id),
    /// The invitation, with the attempts made so far.
    pub(crate) invitation: Invitation,
    /// When the next attempt is due.
    pub(crate) due: Timestamp,
}

/// What a payout is decided over.
#[derive(Debug, Clone)]
pub(crate) struct PayoutState {
    /// The run.
    pub(crate) run: PayoutRun,
    /// The merchant; its balance is not read.
    pub(crate) merchant: Merchant,
    /// Whether the run is closed, or the merchant was paid in it.
    pub(crate) is_over: bool,
}
