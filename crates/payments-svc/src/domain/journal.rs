//! The double-entry journal: every movement of money is postings that add up to nothing in each
//! currency. A merchant sees its own side of them as lines.

use jiff::Timestamp;

use super::{
    id::Id,
    money::{Currency, Money},
};

/// An account of the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Account {
    /// What the merchant has.
    Merchant,
    /// What the acquirer has, and owes us where it is negative.
    Acquirer,
    /// What we have earned.
    Fees,
    /// What was exchanged, in both currencies.
    Exchange,
    /// What is kept for disputes.
    Reserve,
    /// What has gone to bank accounts.
    Bank,
}

impl Account {
    /// The account with this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        let all =
            [Self::Merchant, Self::Acquirer, Self::Fees, Self::Exchange, Self::Reserve, Self::Bank];
        all.into_iter().find(|account| account.name() == name)
    }

    /// Its name, as it is stored.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Merchant => "merchant",
            Self::Acquirer => "acquirer",
            Self::Fees => "fees",
            Self::Exchange => "exchange",
            Self::Reserve => "reserve",
            Self::Bank => "bank",
        }
    }
}

/// What one movement does to one account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Posting {
    /// The account.
    pub(crate) account: Account,
    /// What is added to it, or taken where it is negative.
    pub(crate) money: Money,
}

/// The postings of one movement.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Entry(Vec<Posting>);

impl Entry {
    /// What an acquirer collects in one currency, or gives back where it is negative, becomes
    /// `proceeds` in another, of which the merchant gets `balance` and the rest is fees.
    pub(super) fn collected(collected: Money, proceeds: Money, balance: i64) -> Option<Self> {
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

    /// What disputes hold is put aside, or comes back where it is negative; the merchant's balance
    /// changes by `balance`, and the rest is fees.
    pub(super) fn reserved(reserved: Money, balance: i64) -> Option<Self> {
        let fees = balance.checked_add(reserved.minor)?.checked_neg()?;
        let mut entry = Self::default();
        entry.post(Account::Merchant, reserved.currency, balance);
        entry.post(Account::Reserve, reserved.currency, reserved.minor);
        entry.post(Account::Fees, reserved.currency, fees);
        Some(entry)
    }

    /// What was put aside goes back to the customer.
    pub(super) fn charged_back(charged: Money, reserved: Money) -> Option<Self> {
        let mut entry = Self::default();
        entry.post(Account::Acquirer, charged.currency, charged.minor);
        if charged.currency != reserved.currency {
            entry.post(Account::Exchange, charged.currency, charged.minor.checked_neg()?);
            entry.post(Account::Exchange, reserved.currency, reserved.minor);
        }
        entry.post(Account::Reserve, reserved.currency, reserved.minor.checked_neg()?);
        Some(entry)
    }

    /// What is taken from a merchant is given to its bank.
    pub(super) fn paid_out(taken: Money, given: Money) -> Self {
        let mut entry = Self::default();
        entry.post(Account::Merchant, taken.currency, taken.minor);
        entry.post(Account::Bank, given.currency, given.minor);
        entry
    }

    fn post(&mut self, account: Account, currency: Currency, minor: i64) {
        if minor != 0 {
            self.0.push(Posting { account, money: Money { currency, minor } });
        }
    }

    /// Its postings.
    pub(crate) fn postings(&self) -> &[Posting] {
        &self.0
    }

    /// Whether it adds up to nothing in each currency.
    #[cfg(test)]
    pub(crate) fn is_balanced(&self) -> bool {
        let mut sums = std::collections::BTreeMap::<Currency, i128>::new();
        for Posting { money, .. } in &self.0 {
            let sum = sums.entry(money.currency).or_default();
            *sum = sum.saturating_add(i128::from(money.minor));
        }
        sums.values().all(|&sum| sum == 0)
    }
}

/// What a line is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineKind {
    /// A capture.
    Capture,
    /// A refund.
    Refund,
    /// A dispute that was opened.
    Dispute,
    /// A dispute that was won.
    Won,
    /// A dispute that was lost.
    Lost,
    /// A payout.
    Payout,
}

impl LineKind {
    /// Its name, as it is stored and told.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Capture => "capture",
            Self::Refund => "refund",
            Self::Dispute => "dispute",
            Self::Won => "won",
            Self::Lost => "lost",
            Self::Payout => "payout",
        }
    }

    /// The kind with this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        use LineKind::{Capture, Dispute, Lost, Payout, Refund, Won};
        let all = [Capture, Refund, Dispute, Won, Lost, Payout];
        all.into_iter().find(|kind| kind.name() == name)
    }
}

/// An entry on a merchant's balance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Line {
    /// Its id.
    pub(crate) id: Id,
    /// The merchant.
    pub(crate) merchant: Id,
    /// Whether the merchant is one for tests.
    pub(crate) test: bool,
    /// When it was booked.
    pub(crate) created: Timestamp,
    /// What it does to the merchant's balance, in minor units of the funding currency.
    pub(crate) balance: i64,
    /// The fees in it, in the same units.
    pub(crate) fee: i64,
    /// What it is about.
    pub(crate) kind: LineKind,
    /// The transaction; a payout has none.
    pub(crate) transaction: Option<Id>,
    /// What moved, in the currency of the transaction, or of the merchant if there is none; negative
    /// for what was given back or paid out.
    pub(crate) amount: Money,
}
