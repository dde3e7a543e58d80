//! The double-entry ledger, and the lines of merchants' balances.
//!
//! Each booking is one [`BalanceLine`] and one [`LedgerEntry`]. The line is the merchant's view: it
//! explains one change of the balance. The entry is the bookkeeping: postings on the accounts.
//!
//! 1. The postings of an entry add up to zero in each currency. Fees are computed as the remainder,
//!    so that rounding cannot break this. `payments-svc check` verifies it.
//! 2. A posting of zero is not written.
//! 3. If two currencies are involved, [`Account::Exchange`] has one posting in each. So the
//!    postings add up to zero in each of the two currencies, and the ledger needs no exchange rate.
//! 4. Signs: a positive posting adds to the account. The merchant's postings add up to its balance.
//!    A negative balance of the acquirer's account is money that the acquirer owes to the service.
//! 5. A constructor returns `None` if an amount overflows. Nothing is booked then.

use std::collections::BTreeMap;

use jiff::Timestamp;
use sql::named;

use super::{
    id::Id,
    money::{Currency, Money},
};

named! {
    pub enum Account {
        /// The merchant's balance.
        Merchant = "merchant",
        /// The money at the acquirer. Negative: the acquirer owes it to the service.
        Acquirer = "acquirer",
        /// The service's earnings.
        Fees = "fees",
        /// Both sides of an exchange of currencies.
        Exchange = "exchange",
        /// Money of open disputes.
        Reserve = "reserve",
        /// Money paid out to merchants' bank accounts, without what came back.
        Bank = "bank",
    }
}

/// The change of one account by one booking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Posting {
    pub account: Account,
    /// Positive: added to the account.
    pub money: Money,
}

/// The postings of one booking.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LedgerEntry(Vec<Posting>);

impl LedgerEntry {
    /// The entry of a capture. Negative amounts make it the entry of a refund. The acquirer
    /// collects `collected` from the customer. This is worth `proceeds` in the funding currency.
    /// The merchant gets `balance` of it, and the rest is fees.
    pub(super) fn for_capture(collected: Money, proceeds: Money, balance: i64) -> Option<Self> {
        let fees = proceeds.minor.checked_sub(balance)?;
        let mut entry = Self::default();
        entry.post(Account::Acquirer, collected.currency, collected.minor.checked_neg()?);
        if collected.currency != proceeds.currency {
            entry.post(Account::Exchange, collected.currency, collected.minor);
            entry.post(Account::Exchange, proceeds.currency, proceeds.minor.checked_neg()?);
        }
        entry.post(Account::Merchant, proceeds.currency, balance);
        entry.post(Account::Fees, proceeds.currency, fees);
        Some(entry)
    }

    /// The entry of an opened dispute. A negative amount makes it the entry of a won dispute.
    /// `reserved` moves to the reserve, the merchant's balance changes by `balance`, and the rest
    /// is fees.
    pub(super) fn for_dispute(reserved: Money, balance: i64) -> Option<Self> {
        let fees = balance.checked_add(reserved.minor)?.checked_neg()?;
        let mut entry = Self::default();
        entry.post(Account::Merchant, reserved.currency, balance);
        entry.post(Account::Reserve, reserved.currency, reserved.minor);
        entry.post(Account::Fees, reserved.currency, fees);
        Some(entry)
    }

    /// A lost dispute: the reserve goes to the customer, through the acquirer.
    pub(super) fn for_lost_dispute(charged: Money, reserved: Money) -> Option<Self> {
        let mut entry = Self::default();
        entry.post(Account::Acquirer, charged.currency, charged.minor);
        if charged.currency != reserved.currency {
            entry.post(Account::Exchange, charged.currency, charged.minor.checked_neg()?);
            entry.post(Account::Exchange, reserved.currency, reserved.minor);
        }
        entry.post(Account::Reserve, reserved.currency, reserved.minor.checked_neg()?);
        Some(entry)
    }

    /// A payout: `balance` is the negative change of the balance, and `transferred` its opposite. A
    /// positive change makes it the entry of a payout that came back.
    pub(super) fn for_payout(balance: Money, transferred: Money) -> Self {
        let mut entry = Self::default();
        entry.post(Account::Merchant, balance.currency, balance.minor);
        entry.post(Account::Bank, transferred.currency, transferred.minor);
        entry
    }

    fn post(&mut self, account: Account, currency: Currency, minor: i64) {
        if minor != 0 {
            self.0.push(Posting { account, money: Money { currency, minor } });
        }
    }

    /// An entry as no constructor makes it.
    #[cfg(test)]
    pub fn of(postings: Vec<Posting>) -> Self {
        Self(postings)
    }

    pub fn postings(&self) -> &[Posting] {
        &self.0
    }

    pub(crate) fn is_balanced(&self) -> bool {
        are_balanced(self.0.iter().map(|posting| &posting.money))
    }
}

/// Whether the money of postings sums to 0 in each currency.
pub(crate) fn are_balanced<'a>(postings: impl Iterator<Item = &'a Money>) -> bool {
    let mut sums = BTreeMap::<Currency, i128>::new();
    for money in postings {
        let sum = sums.entry(money.currency).or_default();
        *sum = sum.saturating_add(money.minor.into());
    }
    sums.values().all(|&sum| sum == 0)
}

named! {
    pub enum LineKind {
        Capture = "capture",
        Refund = "refund",
        Dispute = "dispute",
        /// A won dispute.
        Won = "won",
        /// A lost dispute.
        Lost = "lost",
        Payout = "payout",
        /// A payout that came back.
        Returned = "returned",
    }
}

/// One change of a merchant's balance, as the API lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BalanceLine {
    pub id: Id,
    pub merchant: Id,
    /// Whether the merchant is a test merchant.
    pub test: bool,
    pub created: Timestamp,
    /// The change of the merchant's balance, in minor units of the funding currency.
    pub balance: i64,
    /// The fees, in the same units. They are already subtracted from `balance`.
    pub fee: i64,
    pub kind: LineKind,
    /// `None` for a payout, and for one that came back.
    pub transaction: Option<Id>,
    /// In the currency of the transaction; for a payout, of the merchant. Negative for refunds,
    /// opened disputes and payouts. Zero for a lost dispute, which was debited when it was opened.
    pub amount: Money,
}
