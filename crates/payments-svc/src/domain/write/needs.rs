//! The rows that a batch of writes depends on. An engine loads these rows and no others.
//!
//! A row that is missing here looks to the decision like a row that does not exist.

use std::collections::{BTreeMap, BTreeSet};

use super::{Action, Write};
use crate::domain::{
    AcquirerEvent, AcquirerId, AcquirerKey, Email, Id, LinkDigest, MovementRequest, PayoutRequest,
};

/// The captures of a transaction to load. A transaction can have up to 2,000.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum CapturesToLoad {
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

/// The keys of the rows to load, and the number of IDs to draw.
#[derive(Debug, Default)]
pub(crate) struct Needs {
    /// Idempotency keys, by app and key.
    pub(crate) keys: BTreeSet<(Id, String)>,
    /// Each with a row of its merchant's balance.
    pub(crate) transactions: BTreeMap<Id, CapturesToLoad>,
    /// Captures, refunds and voids that may be refused, by transaction and key at the acquirer. Each
    /// with what disputes have taken of the captures of its transaction.
    pub(crate) refusals: BTreeSet<(Id, AcquirerKey)>,
    pub(crate) outbox_entries: BTreeSet<Id>,
    /// Pending payments, each with its idempotency key.
    pub(crate) pending_payments: BTreeSet<Id>,
    /// Links that pay only once, by merchant.
    pub(crate) links: BTreeSet<(Id, LinkDigest)>,
    pub(crate) merchants: BTreeSet<Id>,
    pub(crate) apps: BTreeSet<Id>,
    /// Apps, each with its sandbox clock, and all its API keys and webhooks.
    pub(crate) locked_apps: BTreeSet<Id>,
    pub(crate) users: BTreeSet<Id>,
    /// Users by e-mail address in lower case, each with the merchant whose membership to load.
    pub(crate) emails: BTreeSet<(Id, String)>,
    /// By merchant and user.
    pub(crate) merchant_users: BTreeSet<(Id, Id)>,
    /// By merchant and app.
    pub(crate) merchant_apps: BTreeSet<(Id, Id)>,
    /// By the acquirer's ID.
    pub(crate) notifications: BTreeSet<String>,
    /// Disputes with their slices and waiting decisions, by transaction and the acquirer's ID.
    pub(crate) disputes: BTreeSet<(Id, String)>,
    pub(crate) invitations: BTreeSet<Id>,
    /// The run and the merchant, with all rows of its balance and the sum of the captures to hold.
    pub(crate) payout: Option<PayoutRequest>,
    /// The maximum number of IDs that the writes use.
    pub(crate) ids: usize,
}

impl Needs {
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
            | Action::SaveCard { .. }
            | Action::RemoveInvitation { .. }
            | Action::DeleteKeys { .. }
            | Action::DeleteEvents { .. }
            | Action::SaveExpiryCursor { .. } => {}
            Action::CreateApiKey { app, .. } | Action::DeleteApiKey { app, .. } => {
                self.locked_apps.insert(*app);
            }
            Action::RecordApiKeyUses { uses } => {
                self.locked_apps.extend(uses.iter().map(|used| used.app));
            }
            Action::RecordSending(report) => {
                self.outbox_entries
                    .extend(report.postponed.iter().map(|postponed| postponed.entry));
            }
            Action::BeginPayment { payment, link } => {
                self.links.extend(link.map(|link| (payment.merchant, link)));
            }
            Action::UpdateMerchant { merchant, .. } | Action::SetLinkSecret { merchant, .. } => {
                self.merchants.insert(*merchant);
            }
            Action::AddUser { merchant, email, .. } => {
                self.merchants.insert(*merchant);
                self.emails.insert((*merchant, lower_case(email)));
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
            Action::PreparePayment { pending_payment, .. }
            | Action::ConcludePayment { pending_payment, .. }
            | Action::ChallengePayment { pending_payment, .. } => {
                self.pending_payments.insert(*pending_payment);
            }
            Action::Move { transaction, request, .. } => {
                let captures = match request {
                    MovementRequest::Refund { amount } => {
                        CapturesToLoad::Refundable(amount.minor())
                    }
                    MovementRequest::Capture { .. } | MovementRequest::Void { .. } => {
                        CapturesToLoad::None
                    }
                };
                self.add_transaction(*transaction, captures);
            }
            Action::RefuseEntry { entry, transaction, key } => {
                self.outbox_entries.insert(*entry);
                self.add_refusal(*transaction, *key);
            }
            Action::RecordNotification { notification, .. } => {
                if let AcquirerEvent::Refused { operation, .. } = notification.event {
                    self.add_refusal(notification.transaction, operation);
                }
                self.add_transaction(notification.transaction, CapturesToLoad::All);
                self.notifications.insert(notification.id.as_str().to_owned());
                if let Some(dispute) = notification.event.dispute().map(AcquirerId::as_str) {
                    self.disputes.insert((notification.transaction, dispute.to_owned()));
                }
            }
            Action::StartInvitationAttempt { invitation, .. } => {
                self.invitations.insert(*invitation);
            }
            Action::CreateWebhook { app, .. }
            | Action::UpdateWebhook { app, .. }
            | Action::RotateWebhook { app, .. }
            | Action::DeleteWebhook { app, .. }
            | Action::ReplayWebhook { app, .. }
            | Action::AdvanceClock { app, .. }
            | Action::FinishAdvance { app, .. } => drop(self.locked_apps.insert(*app)),
            Action::RecordDeliveries(report) => drop(self.locked_apps.insert(report.app)),
            Action::PayOut(request) => self.payout = Some(*request),
        }
    }

    fn add_refusal(&mut self, transaction: Id, key: AcquirerKey) {
        self.add_transaction(transaction, CapturesToLoad::All);
        self.refusals.insert((transaction, key));
    }

    fn add_transaction(&mut self, transaction: Id, captures: CapturesToLoad) {
        let known = self.transactions.entry(transaction).or_insert(CapturesToLoad::None);
        *known = known.and(captures);
    }
}

/// The maximum number of IDs that an action uses. Unused IDs are lost, which is harmless.
fn ids(action: &Action) -> usize {
    match action {
        Action::CreateApp { .. }
        | Action::CreateApiKey { .. }
        | Action::CreateMerchant { .. }
        | Action::BeginPayment { .. }
        | Action::SaveCard { .. }
        | Action::CreateWebhook { .. }
        | Action::AdvanceClock { .. } => 1,
        // A user and an invitation.
        Action::AddUser { .. } => 2,
        // A transaction, an event, and a reversal in the outbox.
        Action::ConcludePayment { .. }
        // A balance line, an event and an outbox entry.
        | Action::Move { .. }
        // A balance line, an event and a payout.
        | Action::PayOut(_) => 3,
        // A line and an event of the reversal; an event and an outbox entry of a void.
        Action::RefuseEntry { .. } => 4,
        // A dispute; a line and an event of its opening, and of its decision.
        Action::RecordNotification { .. } => 5,
        Action::DeleteApiKey { .. }
        | Action::RecordApiKeyUses { .. }
        | Action::UpdateMerchant { .. }
        | Action::SetLinkSecret { .. }
        | Action::RevokeUser { .. }
        | Action::AddApp { .. }
        | Action::RevokeApp { .. }
        | Action::PreparePayment { .. }
        | Action::ChallengePayment { .. }
        | Action::RecordSending(_)
        | Action::StartInvitationAttempt { .. }
        | Action::RemoveInvitation { .. }
        | Action::UpdateWebhook { .. }
        | Action::RotateWebhook { .. }
        | Action::DeleteWebhook { .. }
        | Action::ReplayWebhook { .. }
        | Action::RecordDeliveries(_)
        | Action::DeleteKeys { .. }
        | Action::DeleteEvents { .. }
        | Action::SaveExpiryCursor { .. }
        | Action::FinishAdvance { .. } => 0,
    }
}

/// The key by which users are found: the address, with ASCII letters in lower case.
pub(super) fn lower_case(email: &Email) -> String {
    email.as_str().to_ascii_lowercase()
}
