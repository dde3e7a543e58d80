//! Events: everything that happens to a merchant.
//!
//! 1. An event is written in the same database transaction as its fact, so there is no fact without
//!    an event, and no event without a fact.
//! 2. Events of one transaction have ascending IDs in the order of their facts, because a write
//!    holds the lock of the transaction before it draws IDs.
//! 3. An event stores references, not data. Facts never change, and a [`TransactionVersion`] renders
//!    a transaction as it was. So an event costs a short row, whatever the size of its data.

use std::{fmt, str::FromStr};

use jiff::Timestamp;
use sql::named;

use super::{
    actor::Actor,
    dispute::{Decision, Dispute},
    id::Id,
    merchant::{BankChange, Hold},
    notification::FraudAlert,
    payout::Payout,
    transaction::{Movement, Transaction, TransactionVersion},
};

named! {
    /// The kind of an event. The set is closed: a receiver can rely on it.
    pub enum EventType {
        TransactionCreated = "transaction.created",
        TransactionFailed = "transaction.failed",
        TransactionCaptured = "transaction.captured",
        TransactionRefunded = "transaction.refunded",
        TransactionVoided = "transaction.voided",
        /// The customer's bank asks about a payment. No money has moved.
        DisputeInquiry = "dispute.inquiry",
        DisputeOpened = "dispute.opened",
        DisputeWon = "dispute.won",
        DisputeLost = "dispute.lost",
        /// Evidence was submitted.
        DisputeEvidence = "dispute.evidence",
        DisputeAccepted = "dispute.accepted",
        FraudReported = "fraud.reported",
        PayoutBooked = "payout.booked",
        /// The bank sent the money of a payout back.
        PayoutReturned = "payout.returned",
        /// The acquirer refused a capture, refund or void that was booked before, or the answer to a
        /// dispute.
        AcquirerRefused = "acquirer.refused",
        /// The operator holds payments or payouts of the merchant.
        MerchantHeld = "merchant.held",
        MerchantReleased = "merchant.released",
        /// The operator has changed the account for payouts.
        BankChanged = "bank.changed",
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be the type of an event, such as transaction.captured")]
pub struct UnknownEventType;

impl EventType {
    /// The type of the event of a step of a trail.
    pub(crate) fn of_movement(movement: Movement) -> Self {
        match movement {
            Movement::Capture => Self::TransactionCaptured,
            Movement::Refund => Self::TransactionRefunded,
            Movement::Void => Self::TransactionVoided,
            Movement::Won => Self::DisputeWon,
            Movement::Lost => Self::DisputeLost,
        }
    }

    pub(crate) fn of_decision(decision: Decision) -> Self {
        Self::of_movement(decision.movement())
    }
}

impl FromStr for EventType {
    type Err = UnknownEventType;

    fn from_str(name: &str) -> Result<Self, UnknownEventType> {
        Self::from_name(name).ok_or(UnknownEventType)
    }
}

impl fmt::Display for EventType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// The fact that an event reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fact {
    /// A payment, or a capture, refund or void.
    Transaction(TransactionVersion),
    Dispute {
        transaction: Id,
        dispute: Id,
    },
    Fraud {
        transaction: Id,
        alert: Id,
    },
    Payout(Id),
    Hold(Id),
    Bank(Id),
}

impl Fact {
    /// Reads a stored fact. `version` is the length of the trail, and the disputed amount.
    pub fn new(
        event_type: EventType,
        transaction: Option<Id>,
        version: (Option<u32>, Option<i64>),
        object: Option<Id>,
    ) -> Option<Self> {
        Some(match event_type {
            EventType::AcquirerRefused if object.is_some() => {
                Self::Dispute { transaction: transaction?, dispute: object? }
            }
            EventType::TransactionCreated
            | EventType::TransactionFailed
            | EventType::TransactionCaptured
            | EventType::TransactionRefunded
            | EventType::TransactionVoided
            | EventType::AcquirerRefused => Self::Transaction(TransactionVersion {
                transaction: transaction?,
                steps: version.0?,
                disputed: version.1?,
            }),
            EventType::DisputeInquiry
            | EventType::DisputeOpened
            | EventType::DisputeWon
            | EventType::DisputeLost
            | EventType::DisputeEvidence
            | EventType::DisputeAccepted => {
                Self::Dispute { transaction: transaction?, dispute: object? }
            }
            EventType::FraudReported => Self::Fraud { transaction: transaction?, alert: object? },
            EventType::PayoutBooked | EventType::PayoutReturned => Self::Payout(object?),
            EventType::MerchantHeld | EventType::MerchantReleased => Self::Hold(object?),
            EventType::BankChanged => Self::Bank(object?),
        })
    }

    pub fn transaction(&self) -> Option<&Id> {
        match self {
            Self::Transaction(TransactionVersion { transaction, .. })
            | Self::Dispute { transaction, .. }
            | Self::Fraud { transaction, .. } => Some(transaction),
            Self::Payout(_) | Self::Hold(_) | Self::Bank(_) => None,
        }
    }

    pub fn version(&self) -> Option<&TransactionVersion> {
        match self {
            Self::Transaction(version) => Some(version),
            _ => None,
        }
    }

    /// The dispute, fraud alert, payout, hold or change of the bank.
    pub fn object(&self) -> Option<&Id> {
        match self {
            Self::Transaction(_) => None,
            Self::Dispute { dispute: object, .. }
            | Self::Fraud { alert: object, .. }
            | Self::Payout(object)
            | Self::Hold(object)
            | Self::Bank(object) => Some(object),
        }
    }
}

/// The trace of the request that caused an event, as bytes: the ID, and the flags of the header
/// `traceparent`.
pub type TraceBytes = [u8; 17];

/// An event without its data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewEvent {
    pub id: Id,
    pub merchant: Id,
    pub created: Timestamp,
    pub event_type: EventType,
    pub actor: Actor,
    /// `None` if no request caused it.
    pub trace: Option<TraceBytes>,
    pub fact: Fact,
}

/// An event with its data.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    pub id: Id,
    pub merchant: Id,
    /// Whether it is an event of a test merchant.
    pub test: bool,
    pub created: Timestamp,
    pub event_type: EventType,
    pub actor: Actor,
    /// The name of the app, or the e-mail address of the user.
    pub actor_name: Option<String>,
    /// As in [`NewEvent`].
    pub trace: Option<TraceBytes>,
    pub data: EventData,
}

/// The resource of an event, as it was at that moment.
#[derive(Debug, Clone, PartialEq)]
pub enum EventData {
    Transaction(Box<Transaction>),
    Dispute(Dispute),
    Fraud(FraudAlert),
    Payout(Payout),
    /// Also a release.
    Hold(Hold),
    Bank(BankChange),
}

impl Event {
    /// The transaction that the event is about.
    pub fn transaction(&self) -> Option<Id> {
        match &self.data {
            EventData::Transaction(transaction) => Some(transaction.id),
            EventData::Dispute(dispute) => Some(dispute.transaction),
            EventData::Fraud(alert) => Some(alert.transaction),
            EventData::Payout(..) | EventData::Hold(..) | EventData::Bank(..) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_has_a_name_that_is_read_back() {
        for kind in EventType::ALL {
            assert_eq!(kind.to_string().parse(), Ok(kind));
        }
        for other in ["", "Transaction.created", "transaction.created ", "transaction", "*"] {
            assert_eq!(other.parse::<EventType>(), Err(UnknownEventType), "{other}");
        }
    }
}
