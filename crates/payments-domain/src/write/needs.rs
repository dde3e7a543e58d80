//! The rows that a batch of writes depends on. An engine loads these rows and no others.
//!
//! A row that is missing here looks to the decision like a row that does not exist.

use std::collections::{BTreeMap, BTreeSet};

use super::{Access, RowKeys, Write};
use crate::{AcquirerKey, Id, PayoutRequest};

/// The captures of a transaction to load. A transaction can have up to 2,000.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CapturesToLoad {
    None,
    /// The oldest captures that together have this refundable amount, in minor units.
    Refundable(i64),
    All,
}

impl CapturesToLoad {
    /// Enough captures for both writes.
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Refundable(one), Self::Refundable(other)) => {
                Self::Refundable(one.saturating_add(other))
            }
            (one, other) => one.max(other),
        }
    }
}

/// The keys of the rows to load.
#[derive(Debug, Default)]
pub struct Needs {
    /// Rows that are not locked, by their keys. Idempotency keys are among them.
    pub rows: RowKeys,
    /// Each with a row of its merchant's balance.
    pub transactions: BTreeMap<Id, CapturesToLoad>,
    /// Captures, refunds and voids that may be refused, by transaction and key at the acquirer. Each
    /// with what disputes have taken of the captures of its transaction.
    pub refusals: BTreeSet<(Id, AcquirerKey)>,
    /// Pending payments, each with its idempotency key.
    pub pending_payments: BTreeSet<Id>,
    pub merchants: BTreeSet<Id>,
    /// Merchants whose balance is booked on without a transaction, each with a row of it. They are
    /// among `merchants`, too.
    pub balances: BTreeSet<Id>,
    /// Apps, each with its sandbox clock, and all its API keys and webhooks.
    pub locked_apps: BTreeSet<Id>,
    /// Users, each with their sign-in links, sessions, authenticator and recovery codes.
    pub users: BTreeSet<Id>,
    /// Merchants whose members to count. They are among `merchants`, too.
    pub members: BTreeSet<Id>,
    /// Users by e-mail address in lower case, each with the merchant whose membership to load.
    pub emails: BTreeSet<(Id, String)>,
    /// Disputes with their slices and waiting decisions, by transaction and the acquirer's ID.
    pub disputes: BTreeSet<(Id, String)>,
    /// Merchants whose files of open disputes to sum. They are among `merchants`, too.
    pub evidence: BTreeSet<Id>,
    pub mails: BTreeSet<Id>,
    /// The run and the merchant, with all rows of its balance and the sum of the captures to hold.
    pub payout: Option<PayoutRequest>,
}

impl Needs {
    pub fn of<'a>(batch: impl IntoIterator<Item = &'a Write>) -> Self {
        let mut needs = Self::default();
        batch.into_iter().for_each(|write| needs.add(write));
        needs
    }

    fn add(&mut self, write: &Write) {
        if let Some(keyed) = &write.keyed {
            self.rows.keys.insert((keyed.app, keyed.key.clone()));
        }
        if let Some(Access { app, merchant, .. }) = write.by.access {
            self.locked_apps.insert(app);
            self.merchants.extend(merchant);
            self.rows.merchant_apps.extend(merchant.map(|merchant| (merchant, app)));
        }
        write.action.needs(self);
    }

    pub(crate) fn add_refusal(&mut self, transaction: Id, key: AcquirerKey) {
        self.add_transaction(transaction, CapturesToLoad::All);
        self.refusals.insert((transaction, key));
    }

    /// The lock of the transaction covers the dispute and its evidence.
    pub(crate) fn add_answer(&mut self, transaction: Id, dispute: Id) {
        self.add_transaction(transaction, CapturesToLoad::None);
        self.rows.disputes.insert(dispute);
        self.rows.evidence.insert(dispute);
    }

    pub(crate) fn add_transaction(&mut self, transaction: Id, captures: CapturesToLoad) {
        let known = self.transactions.entry(transaction).or_insert(CapturesToLoad::None);
        *known = known.and(captures);
    }
}
