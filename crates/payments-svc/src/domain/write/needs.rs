//! What a batch of writes has to know of the store.

use std::collections::{BTreeMap, BTreeSet};

use super::{Action, Write};
use crate::domain::{Email, Id, PayoutRun, Reference, Request};

/// Which captures of a transaction are needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Captures {
    /// None.
    None,
    /// The oldest, until together this amount can be given back of them.
    Room(i64),
    /// All.
    All,
}

impl Captures {
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Room(one), Self::Room(other)) => Self::Room(one.saturating_add(other)),
            (one, other) => one.max(other),
        }
    }
}

/// The keys of the rows that writes depend on, and how many new ids they may take.
#[derive(Debug, Default)]
pub(crate) struct Needs {
    /// Idempotency keys, by app and key.
    pub(crate) keys: BTreeSet<(Id, String)>,
    /// Transactions, each with the row of its merchant's balance.
    pub(crate) transactions: BTreeMap<Id, Captures>,
    /// Payments in flight, each with its idempotency key.
    pub(crate) operations: BTreeSet<Id>,
    /// Merchants.
    pub(crate) merchants: BTreeSet<Id>,
    /// Apps.
    pub(crate) apps: BTreeSet<Id>,
    /// Users.
    pub(crate) users: BTreeSet<Id>,
    /// Addresses of users in lower case, each with the merchant that they may be members of.
    pub(crate) emails: BTreeSet<(Id, String)>,
    /// Memberships of users.
    pub(crate) merchant_users: BTreeSet<(Id, Id)>,
    /// Memberships of apps.
    pub(crate) merchant_apps: BTreeSet<(Id, Id)>,
    /// Notifications, by the acquirer's id.
    pub(crate) notifications: BTreeSet<String>,
    /// Disputes with their slices and waiting decisions, by transaction and the acquirer's id.
    pub(crate) disputes: BTreeSet<(Id, String)>,
    /// Invitations.
    pub(crate) invitations: BTreeSet<Id>,
    /// A payout.
    pub(crate) payout: Option<(PayoutRun, Id)>,
    /// The most new ids that the writes take.
    pub(crate) ids: usize,
}

impl Needs {
    /// What these writes need.
    pub(crate) fn of<'a>(batch: impl IntoIterator<Item = &'a Write>) -> Self {
        let mut needs = Self::default();
        batch.into_iter().for_each(|write| needs.add(write));
        needs
    }

    fn add(&mut self, write: &Write) {
        if let Some(keyed) = &write.keyed {
            self.keys.insert((keyed.app, keyed.key.clone()));
        }
        self.ids = self.ids.saturating_add(ids(&write.action));
        match &write.action {
            Action::CreateApp { .. }
            | Action::CreateMerchant { .. }
            | Action::Begin { .. }
            | Action::SaveCard { .. }
            | Action::Confirm { .. }
            | Action::RemoveInvitation { .. }
            | Action::Forget { .. }
            | Action::Expire { .. } => {}
            Action::UpdateMerchant { merchant, .. } => drop(self.merchants.insert(*merchant)),
            Action::AddUser { merchant, email } => {
                self.merchants.insert(*merchant);
                self.emails.insert((*merchant, folded(email)));
            }
            Action::RevokeUser { merchant, user } => {
                self.merchants.insert(*merchant);
                self.users.insert(*user);
                self.merchant_users.insert((*merchant, *user));
            }
            Action::AddApp { merchant, app } | Action::RevokeApp { merchant, app } => {
                self.merchants.insert(*merchant);
                self.apps.insert(*app);
                self.merchant_apps.insert((*merchant, *app));
            }
            Action::Conclude { operation, .. } | Action::Challenge { operation, .. } => {
                self.operations.insert(*operation);
            }
            Action::Move { transaction, request, .. } => {
                let captures = match request {
                    Request::Refund { amount } => Captures::Room(amount.minor()),
                    Request::Capture { .. } | Request::Void { .. } => Captures::None,
                };
                self.hold(*transaction, captures);
            }
            Action::Notice { notification, .. } => {
                self.hold(notification.transaction, Captures::All);
                self.notifications.insert(notification.id.as_str().to_owned());
                if let Some(dispute) = notification.event.dispute().map(Reference::as_str) {
                    self.disputes.insert((notification.transaction, dispute.to_owned()));
                }
            }
            Action::TakeInvitation { invitation, .. } => {
                self.invitations.insert(*invitation);
            }
            Action::PayOut { run, merchant } => self.payout = Some((*run, *merchant)),
        }
    }

    fn hold(&mut self, transaction: Id, captures: Captures) {
        let known = self.transactions.entry(transaction).or_insert(Captures::None);
        *known = known.and(captures);
    }
}

/// The most new ids that an action takes.
fn ids(action: &Action) -> usize {
    match action {
        Action::CreateApp { .. }
        | Action::CreateMerchant { .. }
        | Action::Begin { .. }
        | Action::SaveCard { .. } => 1,
        Action::AddUser { .. }
        | Action::Conclude { .. }
        | Action::Move { .. }
        | Action::PayOut { .. } => 2,
        // A dispute, its line, and the line of its end.
        Action::Notice { .. } => 3,
        _ => 0,
    }
}

/// An address as users are told apart by it: letters of ASCII are the same in either case.
pub(super) fn folded(email: &Email) -> String {
    email.as_str().to_ascii_lowercase()
}
