//! Transactions: what was reserved on a card, and what became of it.

use jiff::Timestamp;

use super::{
    card::Card,
    id::Id,
    json::Custom,
    merchant::{Descriptor, Terms},
    money::{Currency, Overflow},
    processing::ProcessingError,
};

/// A transaction, complete.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Transaction {
    /// Its id.
    pub(crate) id: Id,
    /// The merchant.
    pub(crate) merchant: Id,
    /// Whether the merchant is one for tests.
    pub(crate) test: bool,
    /// When it was made.
    pub(crate) created: Timestamp,
    /// The currency of its amounts.
    pub(crate) currency: Currency,
    /// What was reserved, and what became of it.
    pub(crate) amounts: Amounts,
    /// The text on the customer's bank statement.
    pub(crate) descriptor: Descriptor,
    /// The card. None where the acquirer never answered: nothing of it was kept before.
    pub(crate) card: Option<Card>,
    /// The merchant's own data.
    pub(crate) custom: Option<Custom>,
    /// Whether the customer was asked by 3-D Secure.
    pub(crate) tds: Tds,
    /// Whether it was made by the merchant's server, from an earlier one.
    pub(crate) recurring: bool,
    /// Why it did not succeed, if it did not.
    pub(crate) error: Option<ProcessingError>,
    /// What became of it, oldest first.
    pub(crate) trail: Vec<Step>,
}

impl Transaction {
    /// Sets the amounts to the sums of the steps, and to the amount that was disputed at the time:
    /// the transaction as it was after the last of these steps.
    #[must_use]
    pub(crate) fn rewound(mut self, disputed: i64) -> Self {
        let sum = |movement| {
            let steps = self.trail.iter().filter(|step| step.movement == movement);
            steps.fold(0_i64, |sum, step| sum.saturating_add(step.amount))
        };
        self.amounts.captured = sum(Movement::Capture);
        self.amounts.refunded = sum(Movement::Refund);
        self.amounts.voided = sum(Movement::Void);
        self.amounts.disputed = disputed;
        self
    }
}

/// What of a transaction never changes, as far as moving its money needs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reservation {
    /// Its id.
    pub(crate) id: Id,
    /// The merchant.
    pub(crate) merchant: Id,
    /// The currency of its amounts.
    pub(crate) currency: Currency,
    /// The merchant's terms.
    pub(crate) terms: Terms,
}

/// A transaction's amounts, in minor units. None is negative, and what was captured and voided is
/// never more than was reserved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Amounts {
    /// Reserved.
    pub(crate) amount: i64,
    /// Captured, refunded since or not.
    pub(crate) captured: i64,
    /// Refunded.
    pub(crate) refunded: i64,
    /// Voided.
    pub(crate) voided: i64,
    /// In disputes that are open or lost.
    pub(crate) disputed: i64,
    /// Whether anything was reserved.
    pub(crate) successful: bool,
}

impl Amounts {
    /// What can still be captured or voided.
    pub(crate) fn pending(&self) -> i64 {
        if !self.successful {
            return 0;
        }
        self.amount.saturating_sub(self.captured).saturating_sub(self.voided)
    }

    /// What can still be refunded.
    pub(crate) fn refundable(&self) -> i64 {
        self.captured.saturating_sub(self.refunded).saturating_sub(self.disputed).max(0)
    }
}

/// How far 3-D Secure went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tds {
    /// It was not applied.
    None,
    /// It was tried.
    Attempt,
    /// The customer proved who they are.
    Full,
}

impl Tds {
    /// Its name, as it is stored and told.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Attempt => "attempt",
            Self::Full => "full",
        }
    }

    /// The one with this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        [Self::None, Self::Attempt, Self::Full].into_iter().find(|tds| tds.name() == name)
    }
}

/// A step of the trail.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Step {
    /// When.
    pub(crate) created: Timestamp,
    /// What was done.
    pub(crate) movement: Movement,
    /// Minor units of the transaction's currency.
    pub(crate) amount: i64,
    /// What it did to the merchant's balance, in minor units of the funding currency.
    pub(crate) balance: i64,
    /// The fees in it, in the same units.
    pub(crate) fee: Fee,
    /// The text on the customer's bank statement, but for voids.
    pub(crate) descriptor: Option<Descriptor>,
    /// The line that booked it, where money moved.
    pub(crate) line: Option<Id>,
    /// The dispute that was decided.
    pub(crate) dispute: Option<Id>,
}

/// What can become of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Movement {
    /// Money is taken.
    Capture,
    /// Money that was taken is given back.
    Refund,
    /// The reservation is given up.
    Void,
    /// A dispute is won.
    Won,
    /// A dispute is lost.
    Lost,
}

impl Movement {
    /// The one with this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        let all = [Self::Capture, Self::Refund, Self::Void, Self::Won, Self::Lost];
        all.into_iter().find(|movement| movement.name() == name)
    }

    /// Its name, as it is stored and told.
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

/// Fees in minor units of the funding currency; negative where they are given back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Fee {
    /// What every capture costs.
    pub(crate) flat: i64,
    /// What depends on the amount.
    pub(crate) rate: i64,
}

impl Fee {
    /// Both together.
    pub(crate) fn total(self) -> Result<i64, Overflow> {
        self.flat.checked_add(self.rate).ok_or(Overflow)
    }
}
