//! The book as the control interface shows it.

use jiff::Timestamp;
use serde::Serialize;

use super::{Operation, Outcome, Slot, State};
use crate::{
    key::Key,
    money::Currency,
    request::{MovementKind, Order},
};

/// A key of the book. Amounts are in minor units.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Entry<'a> {
    key: &'a Key,
    kind: Kind,
    merchant_id: Option<&'a str>,
    authorization: Option<&'a Key>,
    transaction_id: Option<&'a str>,
    currency: Option<Currency>,
    amount: Option<u64>,
    /// Null if only the key is closed.
    outcome: Option<Outcome>,
    /// The sums of an approved authorization.
    sums: Option<Sums>,
    /// How many requests with this key arrived, without completions and questions.
    received: u64,
    executed: u64,
    executed_at: Option<Timestamp>,
}

#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Authorization,
    Capture,
    Refund,
    Void,
    Reversal,
    Answer,
    Closed,
}

#[derive(Debug, Serialize)]
struct Sums {
    captured: u64,
    voided: u64,
    refunded: u64,
    /// The part that can still be captured.
    held: u64,
}

impl<'a> Entry<'a> {
    pub(super) fn new(key: &'a Key, slot: &'a Slot) -> Self {
        let empty = Self {
            key,
            kind: Kind::Closed,
            merchant_id: None,
            authorization: None,
            transaction_id: None,
            currency: None,
            amount: None,
            outcome: None,
            sums: None,
            received: 0,
            executed: 0,
            executed_at: None,
        };
        match slot {
            Slot::Closed => empty,
            Slot::Seen(operation) => empty.of_order(&operation.order).of_state(operation),
        }
    }

    fn of_order(self, order: &'a Order) -> Self {
        match order {
            Order::Authorize(authorization) => Self {
                kind: Kind::Authorization,
                merchant_id: Some(&authorization.merchant_id),
                currency: Some(authorization.currency),
                amount: Some(authorization.amount),
                ..self
            },
            Order::Move(kind, movement) => Self {
                kind: match kind {
                    MovementKind::Capture => Kind::Capture,
                    MovementKind::Refund => Kind::Refund,
                    MovementKind::Void => Kind::Void,
                },
                authorization: Some(&movement.authorization),
                transaction_id: Some(&movement.transaction_id),
                currency: Some(movement.currency),
                amount: Some(movement.amount),
                ..self
            },
            Order::Answer(answer) => {
                Self { kind: Kind::Answer, transaction_id: Some(&answer.transaction_id), ..self }
            }
            Order::Reverse(reversal) => Self {
                kind: Kind::Reversal,
                authorization: Some(&reversal.authorization),
                transaction_id: Some(&reversal.transaction_id),
                ..self
            },
        }
    }

    fn of_state(self, operation: &Operation) -> Self {
        Self {
            outcome: Some(operation.outcome()),
            sums: match (&operation.state, &operation.order) {
                (State::Approved(approval), Order::Authorize(authorization)) => Some(Sums {
                    captured: approval.captured,
                    voided: approval.voided,
                    refunded: approval.refunded,
                    held: approval.held(authorization),
                }),
                _ => None,
            },
            received: operation.received,
            executed: operation.executed,
            executed_at: operation.executed_at,
            ..self
        }
    }
}
