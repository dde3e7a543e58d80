//! Transactions: payments after the acquirer's outcome, with the trail of their movements.

use jiff::Timestamp;

use super::{
    card::Card,
    custom_data::CustomData,
    id::Id,
    merchant::{Descriptor, Terms},
    money::{Currency, Overflow},
    processing::ProcessingError,
};

/// A transaction with its whole trail.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Transaction {
    pub(crate) id: Id,
    pub(crate) merchant: Id,
    /// Whether the merchant is a test merchant.
    pub(crate) test: bool,
    pub(crate) created: Timestamp,
    pub(crate) currency: Currency,
    pub(crate) amounts: Amounts,
    pub(crate) descriptor: Descriptor,
    /// `None` if the service did not have the card data when it recorded the outcome.
    pub(crate) card: Option<Card>,
    /// Custom data of the merchant.
    pub(crate) custom: Option<CustomData>,
    pub(crate) tds: ThreeDSecure,
    /// Whether an app made the payment with a card from an earlier transaction.
    pub(crate) recurring: bool,
    /// `None` if the payment succeeded.
    pub(crate) error: Option<ProcessingError>,
    /// Oldest first.
    pub(crate) trail: Vec<Step>,
}

impl Transaction {
    /// The transaction as it was: with the trail of that time, and the amounts of this trail. The
    /// trail does not contain the disputed amount.
    #[must_use]
    pub(crate) fn at(mut self, version: TransactionVersion) -> Self {
        self.trail.truncate(version.steps.try_into().unwrap_or(usize::MAX));
        let sum = |movement| {
            let steps = self.trail.iter().filter(|step| step.movement == movement);
            steps.fold(0_i64, |sum, step| sum.saturating_add(step.amount))
        };
        self.amounts.captured = sum(Movement::Capture);
        self.amounts.refunded = sum(Movement::Refund);
        self.amounts.voided = sum(Movement::Void);
        self.amounts.disputed = version.disputed;
        self
    }
}

/// The part of a transaction that movements need and that never changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TransactionTerms {
    pub(crate) id: Id,
    pub(crate) merchant: Id,
    pub(crate) currency: Currency,
    pub(crate) terms: Terms,
}

/// A transaction's amounts, in minor units of its currency. No amount is negative, and `captured +
/// voided` never exceeds `amount`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Amounts {
    /// The authorized amount; of a failed payment, the requested amount.
    pub(crate) amount: i64,
    /// Refunds and disputes do not reduce it.
    pub(crate) captured: i64,
    pub(crate) refunded: i64,
    pub(crate) voided: i64,
    /// The amount of open and lost disputes.
    pub(crate) disputed: i64,
    /// Whether the payment was authorized.
    pub(crate) successful: bool,
}

impl Amounts {
    /// The amount that can still be captured or voided.
    pub(crate) fn pending(&self) -> i64 {
        if !self.successful {
            return 0;
        }
        self.amount.saturating_sub(self.captured).saturating_sub(self.voided)
    }

    /// Whether no amount is negative, and captures and voids stay within the authorized amount. The
    /// database has the same constraints.
    pub(crate) fn are_possible(&self) -> bool {
        let Self { amount, captured, refunded, voided, disputed, successful: _ } = *self;
        let parts = [captured, refunded, voided, disputed];
        parts.iter().all(|&part| part >= 0) && captured.saturating_add(voided) <= amount
    }

    /// The amount that can still be refunded.
    pub(crate) fn refundable(&self) -> i64 {
        self.captured.saturating_sub(self.refunded).saturating_sub(self.disputed).max(0)
    }
}

/// The result of 3-D Secure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ThreeDSecure {
    /// 3-D Secure was not used.
    None,
    /// 3-D Secure was tried.
    Attempt,
    /// The customer confirmed the payment.
    Full,
}

impl ThreeDSecure {
    /// The name in the database and in the API.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Attempt => "attempt",
            Self::Full => "full",
        }
    }

    pub(crate) fn from_name(name: &str) -> Option<Self> {
        [Self::None, Self::Attempt, Self::Full].into_iter().find(|tds| tds.name() == name)
    }
}

/// Enough to render a transaction as it was after a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TransactionVersion {
    pub(crate) transaction: Id,
    /// The length of the trail.
    pub(crate) steps: u32,
    /// The disputed amount, in minor units of the transaction's currency.
    pub(crate) disputed: i64,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Step {
    pub(crate) created: Timestamp,
    pub(crate) movement: Movement,
    /// Minor units of the transaction's currency.
    pub(crate) amount: i64,
    /// The change of the merchant's balance, in minor units of the funding currency.
    pub(crate) balance: i64,
    /// The fees, in the same units. They are already subtracted from `balance`.
    pub(crate) fee: Fee,
    /// `None` for voids.
    pub(crate) descriptor: Option<Descriptor>,
    /// The balance line. `None` for voids, which book nothing.
    pub(crate) line: Option<Id>,
    /// Only for decisions of disputes.
    pub(crate) dispute: Option<Id>,
}

/// The part of a transaction that its customer sees, beside the payment link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Receipt {
    pub(crate) created: Timestamp,
    /// `None` if the payment failed before the acquirer had the card.
    pub(crate) card: Option<Card>,
}

/// The kind of a step of the trail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Movement {
    Capture,
    Refund,
    /// The authorization, or a part of it, is released.
    Void,
    /// A dispute is won.
    Won,
    /// A dispute is lost.
    Lost,
}

impl Movement {
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        let all = [Self::Capture, Self::Refund, Self::Void, Self::Won, Self::Lost];
        all.into_iter().find(|movement| movement.name() == name)
    }

    /// The name in the database and in the API.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Capture => "capture",
            Self::Refund => "refund",
            Self::Void => "void",
            Self::Won => "won",
            Self::Lost => "lost",
        }
    }
}

/// Fees in minor units of the funding currency. Negative: the service returns them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Fee {
    /// The fee of each capture or dispute, whatever its amount.
    pub(crate) flat: i64,
    /// The fee that depends on the amount.
    pub(crate) rate: i64,
}

impl Fee {
    pub(crate) fn total(self) -> Result<i64, Overflow> {
        self.flat.checked_add(self.rate).ok_or(Overflow)
    }
}
