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
pub struct Transaction {
    /// Its id.
    pub id: Id,
    /// The merchant.
    pub merchant: Id,
    /// Whether the merchant is one for tests.
    pub test: bool,
    /// When it was made.
    pub created: Timestamp,
    /// The currency of its amounts.
    pub currency: Currency,
    /// What was reserved, and what became of it.
    pub amounts: Amounts,
    /// The text on the customer's bank statement.
    pub descriptor: Descriptor,
    /// The card. None where the acquirer never answered: nothing of it was kept before.
    pub card: Option<Card>,
    /// The merchant's own data.
    pub custom: Option<Custom>,
    /// Whether the customer was asked by 3-D Secure.
    pub tds: Tds,
    /// Whether it was made by the merchant's server, from an earlier one.
    pub recurring: bool,
    /// Why it did not succeed, if it did not.
    pub error: Option<ProcessingError>,
    /// What became of it, oldest first.
    pub trail: Vec<Step>,
}

impl Transaction {
    /// The transaction as it was when its trail ended where it ends here: with the amounts that its
    /// steps add up to, and what was disputed then.
    #[must_use]
    pub fn as_of_its_trail(mut self, disputed: i64) -> Self {
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
pub struct Reservation {
    /// Its id.
    pub id: Id,
    /// The merchant.
    pub merchant: Id,
    /// The currency of its amounts.
    pub currency: Currency,
    /// The merchant's terms.
    pub terms: Terms,
}

/// A transaction's amounts, in minor units. None is negative, and what was captured and voided is
/// never more than was reserved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Amounts {
    /// Reserved.
    pub amount: i64,
    /// Captured, refunded since or not.
    pub captured: i64,
    /// Refunded.
    pub refunded: i64,
    /// Voided.
    pub voided: i64,
    /// In disputes that are open or lost.
    pub disputed: i64,
    /// Whether anything was reserved.
    pub successful: bool,
}

impl Amounts {
    /// What can still be captured or voided.
    pub fn pending(&self) -> i64 {
        if !self.successful {
            return 0;
        }
        self.amount.saturating_sub(self.captured).saturating_sub(self.voided)
    }

    /// What can still be refunded.
    pub fn refundable(&self) -> i64 {
        self.captured.saturating_sub(self.refunded).saturating_sub(self.disputed).max(0)
    }
}

/// How far 3-D Secure went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tds {
    /// It was not applied.
    None,
    /// It was tried.
    Attempt,
    /// The customer proved who they are.
    Full,
}

impl Tds {
    /// Its name, as it is stored and told.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Attempt => "attempt",
            Self::Full => "full",
        }
    }

    /// The one with this name.
    pub fn named(name: &str) -> Option<Self> {
        [Self::None, Self::Attempt, Self::Full].into_iter().find(|tds| tds.name() == name)
    }
}

/// A step of the trail.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// When.
    pub created: Timestamp,
    /// What was done.
    pub movement: Movement,
    /// Minor units of the transaction's currency.
    pub amount: i64,
    /// What it did to the merchant's balance, in minor units of the funding currency.
    pub balance: i64,
    /// The fees in it, in the same units.
    pub fee: Fee,
    /// The text on the customer's bank statement, but for voids.
    pub descriptor: Option<Descriptor>,
    /// The line that booked it, where money moved.
    pub line: Option<Id>,
    /// The dispute that was decided.
    pub dispute: Option<Id>,
}

/// What can become of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Movement {
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
    pub fn named(name: &str) -> Option<Self> {
        let all = [Self::Capture, Self::Refund, Self::Void, Self::Won, Self::Lost];
        all.into_iter().find(|movement| movement.name() == name)
    }

    /// Its name, as it is stored and told.
    pub fn name(self) -> &'static str {
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
pub struct Fee {
    /// What every capture costs.
    pub flat: i64,
    /// What depends on the amount.
    pub rate: i64,
}

impl Fee {
    /// Both together.
    pub fn total(self) -> Result<i64, Overflow> {
        self.flat.checked_add(self.rate).ok_or(Overflow)
    }
}
