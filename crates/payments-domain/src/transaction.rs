//! Transactions: payments after the acquirer's outcome, with the trail of their movements.

use jiff::Timestamp;
use sql::{group, named};

use super::{
    card::Card,
    custom_data::CustomData,
    id::Id,
    merchant::{Descriptor, Terms},
    money::{Currency, Overflow},
    processing::ProcessingError,
};

group! {
    /// A transaction with its whole trail.
    #[derive(Debug, Clone, PartialEq)]
    pub struct Transaction {
        id: Id = "id",
        merchant: Id = "merchant",
        /// Whether the merchant is a test merchant.
        test: bool = "test",
        created: Timestamp = "created",
        currency: Currency = "currency",
        amounts: Amounts = ..,
        descriptor: Descriptor = "descriptor",
        /// `None` if the service did not have the card data when it recorded the outcome.
        card: Option<Card> = ..,
        /// Custom data of the merchant.
        custom: Option<CustomData> = [None],
        tds: ThreeDSecure = "tds",
        /// Whether an app made the payment with a card from an earlier transaction.
        recurring: bool = "recurring",
        /// `None` if the payment succeeded.
        error: Option<ProcessingError> = "error",
        /// Oldest first.
        trail: Vec<Step> = [Vec::new()],
    }
}

impl Transaction {
    /// The transaction as it was: with the trail of that time, and the amounts of this trail. The
    /// trail does not contain the disputed amount.
    #[must_use]
    pub fn at(mut self, version: TransactionVersion) -> Self {
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
pub struct TransactionTerms {
    pub id: Id,
    pub merchant: Id,
    pub currency: Currency,
    pub terms: Terms,
}

group! {
    /// A transaction's amounts, in minor units of its currency. No amount is negative, and
    /// `captured + voided` never exceeds `amount`.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
    pub struct Amounts {
        /// The authorized amount; of a failed payment, the requested amount.
        amount: i64 = "amount",
        /// Refunds and disputes do not reduce it.
        captured: i64 = "captured",
        refunded: i64 = "refunded",
        voided: i64 = "voided",
        /// The amount of open and lost disputes.
        disputed: i64 = "disputed",
        /// Whether the payment was authorized.
        successful: bool = [true],
    }
}

impl Amounts {
    /// The amount that can still be captured or voided.
    pub fn pending(&self) -> i64 {
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

    /// The state in one word. The first one that is true counts.
    pub fn status(&self) -> TransactionStatus {
        let Self { amount, captured, refunded, disputed, successful, .. } = *self;
        match () {
            () if !successful => TransactionStatus::Failed,
            () if disputed > 0 => TransactionStatus::Disputed,
            () if refunded > 0 && refunded >= captured => TransactionStatus::Refunded,
            () if refunded > 0 => TransactionStatus::PartlyRefunded,
            () if captured > 0 && captured >= amount => TransactionStatus::Captured,
            () if captured > 0 => TransactionStatus::PartlyCaptured,
            () if self.pending() == 0 => TransactionStatus::Voided,
            () => TransactionStatus::Authorized,
        }
    }

    /// The amount that can still be refunded.
    pub fn refundable(&self) -> i64 {
        self.captured.saturating_sub(self.refunded).saturating_sub(self.disputed).max(0)
    }
}

named! {
    /// The state of a transaction in one word.
    pub enum TransactionStatus {
        Failed = "failed",
        /// A dispute is open or lost.
        Disputed = "disputed",
        Refunded = "refunded",
        PartlyRefunded = "partly_refunded",
        Captured = "captured",
        PartlyCaptured = "partly_captured",
        /// All of it.
        Voided = "voided",
        Authorized = "authorized",
    }
}

named! {
    /// The result of 3-D Secure.
    pub enum ThreeDSecure {
        /// 3-D Secure was not used.
        None = "none",
        /// 3-D Secure was tried.
        Attempt = "attempt",
        /// The customer confirmed the payment.
        Full = "full",
    }
}

group! {
    /// Enough to render a transaction as it was after a change.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct TransactionVersion {
        transaction: Id = "transaction",
        /// The length of the trail.
        steps: u32 = "steps",
        /// The disputed amount, in minor units of the transaction's currency.
        disputed: i64 = "disputed",
    }
}

group! {
    #[derive(Debug, Clone, PartialEq)]
    pub struct Step {
        created: Timestamp = "created",
        movement: Movement = "movement",
        /// Minor units of the transaction's currency.
        amount: i64 = "amount",
        /// The change of the merchant's balance, in minor units of the funding currency.
        balance: i64 = "balance",
        /// The fees, in the same units. They are already subtracted from `balance`.
        fee: Fee = ..,
        /// `None` for voids.
        descriptor: Option<Descriptor> = "descriptor",
        /// The balance line. `None` for voids, which book nothing.
        line: Option<Id> = "line",
        /// Only for decisions of disputes.
        dispute: Option<Id> = "dispute",
    }
}

/// The part of a transaction that its customer sees, beside the payment link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    pub created: Timestamp,
    /// `None` if the payment failed before the acquirer had the card.
    pub card: Option<Card>,
}

named! {
    /// The kind of a step of the trail.
    pub enum Movement {
        Capture = "capture",
        Refund = "refund",
        /// The authorization, or a part of it, is released.
        Void = "void",
        /// A dispute is won.
        Won = "won",
        /// A dispute is lost.
        Lost = "lost",
    }
}

group! {
    /// Fees in minor units of the funding currency. Negative: the service returns them.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
    pub struct Fee {
        /// The fee of each capture or dispute, whatever its amount.
        flat: i64 = "fee_flat",
        /// The fee that depends on the amount.
        rate: i64 = "fee_rate",
    }
}

impl Fee {
    pub(crate) fn total(self) -> Result<i64, Overflow> {
        self.flat.checked_add(self.rate).ok_or(Overflow)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_state_that_is_true_counts() {
        use TransactionStatus::{
            Authorized, Captured, Disputed, Failed, PartlyCaptured, PartlyRefunded, Refunded,
            Voided,
        };
        for (captured, refunded, voided, disputed, status) in [
            (0, 0, 0, 0, Authorized),
            (0, 0, 30, 0, Authorized),
            (0, 0, 100, 0, Voided),
            (40, 0, 0, 0, PartlyCaptured),
            (40, 0, 60, 0, PartlyCaptured),
            (100, 0, 0, 0, Captured),
            (100, 40, 0, 0, PartlyRefunded),
            (40, 40, 60, 0, Refunded),
            (100, 100, 0, 10, Disputed),
        ] {
            let amounts =
                Amounts { amount: 100, captured, refunded, voided, disputed, successful: true };
            assert_eq!(amounts.status(), status, "{amounts:?}");
        }
        let failed = Amounts { amount: 100, successful: false, ..Amounts::default() };
        assert_eq!(failed.status(), Failed);
    }
}
