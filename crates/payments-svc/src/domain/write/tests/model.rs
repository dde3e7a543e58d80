//! The database as tables in memory: loads rows for a batch, and applies its changes. The tests of
//! batches use it, and `store/sqlite` compares its database with it.

use std::collections::{BTreeMap, BTreeSet};

use common::sql::{Row, Rows};
use jiff::Timestamp;

use crate::domain::{
    AcquirerId, AcquirerKey, Amounts, Capture, Decision, DisputeState, DisputedParts, FraudAlert,
    Id, Invitation, LineKind, LinkDigest, Merchant, PayoutRequest, RefusedStep, Transaction,
    TransactionState, User,
    write::{
        ApiKeyRow, AppRow, AttemptRow, AuthorizationRow, Balance, BatchRows, CaptureRow,
        CapturesToLoad, CardRow, Changes, CustomRow, DisputeRow, EventRow, ExpiryRow,
        InvitationRow, KeyRow, KeyState, LineRow, LinkSecretRow, LoadedRows, LoadedTransaction,
        MerchantApp, MerchantUser, Needs, NotificationRow, OutboxRow, PayoutRow, PayoutState,
        PendingContext, PendingRow, PostingRow, ProgressRow, RefusedVoid, RetryRow, SliceRow,
        StepRow, TransactionAmounts, TransactionRow, UsedLink, WebhookRow,
    },
};

/// All tables, by primary key.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Tables {
    pub(crate) apps: BTreeMap<Id, AppRow>,
    pub(crate) api_keys: BTreeMap<Id, ApiKeyRow>,
    pub(crate) users: BTreeMap<Id, User>,
    pub(crate) merchants: BTreeMap<Id, Merchant>,
    pub(crate) balances: BTreeMap<(Id, i64), Balance>,
    pub(crate) merchant_apps: BTreeMap<(Id, Id), MerchantApp>,
    pub(crate) merchant_users: BTreeMap<(Id, Id), MerchantUser>,
    pub(crate) invitations: BTreeMap<Id, InvitationRow>,
    pub(crate) pending_payments: BTreeMap<Id, PendingRow>,
    pub(crate) link_secrets: BTreeMap<Id, LinkSecretRow>,
    pub(crate) used_links: BTreeMap<(Id, LinkDigest), UsedLink>,
    pub(crate) transactions: BTreeMap<Id, TransactionRow>,
    pub(crate) trail: BTreeMap<(Id, u32), StepRow>,
    pub(crate) transaction_amounts: BTreeMap<Id, TransactionAmounts>,
    pub(crate) customs: BTreeMap<Id, CustomRow>,
    pub(crate) authorizations: BTreeMap<Id, AuthorizationRow>,
    pub(crate) captures: BTreeMap<(Id, u32), CaptureRow>,
    pub(crate) refused_voids: BTreeMap<(Id, u32), RefusedVoid>,
    pub(crate) lines: BTreeMap<Id, LineRow>,
    pub(crate) postings: BTreeMap<(Id, u32), PostingRow>,
    pub(crate) outbox: BTreeMap<Id, OutboxRow>,
    pub(crate) cards: BTreeMap<Id, CardRow>,
    pub(crate) notifications: BTreeMap<AcquirerId, NotificationRow>,
    pub(crate) disputes: BTreeMap<Id, DisputeRow>,
    pub(crate) slices: BTreeMap<(Id, u32), SliceRow>,
    pub(crate) fraud_alerts: BTreeMap<Id, FraudAlert>,
    pub(crate) events: BTreeMap<Id, EventRow>,
    pub(crate) payouts: BTreeMap<Id, PayoutRow>,
    pub(crate) keys: BTreeMap<(Id, String), KeyRow>,
    pub(crate) webhooks: BTreeMap<Id, WebhookRow>,
    pub(crate) webhook_progress: BTreeMap<Id, ProgressRow>,
    /// By endpoint and event.
    pub(crate) webhook_retries: BTreeMap<(Id, Id), RetryRow>,
    /// By endpoint and number.
    pub(crate) webhook_attempts: BTreeMap<(Id, u32), AttemptRow>,
    pub(crate) expiry: BTreeMap<bool, ExpiryRow>,
}

impl Tables {
    /// Loads the rows of `needs` and no others. Each balance has `shards` rows. A booking gets the
    /// row with the index `free`.
    pub(crate) fn load(
        &self,
        needs: &Needs,
        (now, ids): (Timestamp, Vec<Id>),
        (shards, free): (i64, i64),
    ) -> LoadedRows {
        let mut known = LoadedRows::new(now, ids, shards);
        load(&mut known.rows.keys, &self.keys, &needs.keys);
        for (&id, &captures) in &needs.transactions {
            if self.transactions.contains_key(&id) {
                let loaded = self.loaded(id, captures);
                let balance = (loaded.merchant, free);
                load(&mut known.rows.balances, &self.balances, &[balance]);
                known.transactions.insert(id, loaded);
            }
        }
        for (transaction, key) in &needs.refusals {
            if let Some(step) = self.refusable(*transaction, *key) {
                known.refusable_steps.insert((*transaction, *key), step);
            }
            let disputed = self.taken_by_disputes(*transaction);
            if let Some(loaded) = known.transactions.get_mut(transaction) {
                loaded.disputed = disputed;
            }
        }
        load(&mut known.rows.outbox, &self.outbox, &needs.outbox_entries);
        load(&mut known.rows.pending_payments, &self.pending_payments, &needs.pending_payments);
        for id in &needs.pending_payments {
            if let Some(row) = self.pending_payments.get(id) {
                let test = self.merchants[&row.payment.merchant].details.test;
                let waiting = self.keys.values().find(|row| row.state == KeyState::InFlight(*id));
                waiting.into_iter().for_each(|row| known.rows.keys.load(row.clone()));
                let key = waiting.map(KeyRow::key);
                known.pending_payments.insert(*id, PendingContext { test, key });
            }
        }
        load(&mut known.rows.used_links, &self.used_links, &needs.links);
        load(&mut known.rows.merchants, &self.merchants, &needs.merchants);
        load(&mut known.rows.apps, &self.apps, needs.apps.iter().chain(&needs.locked_apps));
        for app in &needs.locked_apps {
            let own = self.api_keys.values().filter(|row| row.app == *app);
            own.for_each(|row| known.rows.api_keys.load(row.clone()));
            let own = self.webhooks.values().filter(|row| row.app == *app);
            let own: Vec<Id> = own.map(|row| row.id).collect();
            load(&mut known.rows.webhooks, &self.webhooks, &own);
            load(&mut known.rows.webhook_progress, &self.webhook_progress, &own);
        }
        known.users.extend(needs.users.iter().filter(|id| self.users.contains_key(id)));
        for (merchant, email) in &needs.emails {
            let is_theirs = |user: &&User| user.email.as_str().eq_ignore_ascii_case(email);
            if let Some(user) = self.users.values().find(is_theirs) {
                known.users_by_email.insert(email.clone(), user.id);
                let membership = (*merchant, user.id);
                load(&mut known.rows.merchant_users, &self.merchant_users, &[membership]);
            }
        }
        load(&mut known.rows.merchant_users, &self.merchant_users, &needs.merchant_users);
        load(&mut known.rows.merchant_apps, &self.merchant_apps, &needs.merchant_apps);
        let is_needed = |row: &&NotificationRow| needs.notifications.contains(row.id.as_str());
        let needed = self.notifications.values().filter(is_needed);
        needed.for_each(|row| known.rows.notifications.load(row.clone()));
        for about in &needs.disputes {
            if let Some((row, contest)) = self.contest(about) {
                known.rows.disputes.load(row.clone());
                known.disputes.insert(about.clone(), contest);
            }
            let waits = |row: &&NotificationRow| {
                let dispute = row.waiting.as_ref().map(|(dispute, _)| dispute.as_str());
                (row.transaction, dispute) == (about.0, Some(&*about.1))
            };
            let waiting = self.notifications.values().filter(waits);
            let first = waiting.min_by_key(|row| (row.created, row.id.as_str()));
            if let Some((_, decision)) = first.and_then(|row| row.waiting.as_ref()) {
                known.waiting.insert(about.clone(), *decision);
            }
        }
        for id in &needs.invitations {
            if let Some(row) = self.invitations.get(id) {
                known.rows.invitations.load(row.clone());
                known.invitations.insert(*id, self.invitation(row));
            }
        }
        if let Some(request) = needs.payout {
            let id = request.merchant;
            known.payout = self.payout(request, now);
            let rows = self.balances.values().filter(|row| row.merchant == id);
            rows.for_each(|row| known.rows.balances.load(*row));
        }
        known
    }

    /// The needs that load every row.
    pub(crate) fn all(&self) -> Needs {
        let pairs = |members: Vec<Id>| -> BTreeSet<(Id, Id)> {
            let of = |merchant: &Id| {
                members.iter().map(|member| (*merchant, *member)).collect::<Vec<_>>()
            };
            self.merchants.keys().flat_map(of).collect()
        };
        let opened = self.disputes.values().map(|row| (row.transaction, &row.reference));
        let waits = self.notifications.values();
        let waits = waits.filter_map(|row| Some((row.transaction, &row.waiting.as_ref()?.0)));
        let named = |(id, dispute): (Id, &AcquirerId)| (id, dispute.as_str().to_owned());
        let email = |user: &User| user.email.as_str().to_ascii_lowercase();
        let emails: Vec<_> = self.users.values().map(email).collect();
        let merchants = self.merchants.keys();
        let emails = merchants.flat_map(|id| emails.iter().map(|email| (*id, email.clone())));
        let refusals = self.trail.values();
        let refusals = refusals.filter_map(|row| Some((row.transaction, row.acquirer_key?)));
        Needs {
            refusals: refusals.collect(),
            outbox_entries: self.outbox.keys().copied().collect(),
            keys: self.keys.keys().cloned().collect(),
            transactions: self.transactions.keys().map(|id| (*id, CapturesToLoad::All)).collect(),
            pending_payments: self.pending_payments.keys().copied().collect(),
            links: self.used_links.keys().copied().collect(),
            merchants: self.merchants.keys().copied().collect(),
            apps: self.apps.keys().copied().collect(),
            locked_apps: self.apps.keys().copied().collect(),
            users: self.users.keys().copied().collect(),
            emails: emails.collect(),
            merchant_users: pairs(self.users.keys().copied().collect()),
            merchant_apps: pairs(self.apps.keys().copied().collect()),
            notifications: self.notifications.keys().map(|id| id.as_str().to_owned()).collect(),
            disputes: opened.chain(waits).map(named).collect(),
            invitations: self.invitations.keys().copied().collect(),
            payout: None,
        }
    }

    /// The transaction without its trail, and the number of its steps.
    pub(crate) fn transaction(&self, id: Id) -> (Transaction, u32) {
        let row = self.transactions[&id].clone();
        let TransactionAmounts { captured, refunded, voided, disputed, steps, .. } =
            self.transaction_amounts[&id];
        let (amount, successful) = (row.amount, row.error.is_none());
        let transaction = Transaction {
            id,
            merchant: row.merchant,
            test: row.test,
            created: row.created,
            currency: row.currency,
            amounts: Amounts { amount, captured, refunded, voided, disputed, successful },
            descriptor: row.descriptor,
            card: row.card,
            custom: self.customs.get(&id).map(|row| row.custom.clone()),
            tds: row.tds,
            recurring: row.recurring,
            error: row.error,
            trail: Vec::new(),
        };
        (transaction, steps)
    }

    fn loaded(&self, id: Id, captures: CapturesToLoad) -> LoadedTransaction {
        let (transaction, steps) = self.transaction(id);
        let merchant = &self.merchants[&transaction.merchant];
        let mut available = 0;
        let is_needed = |captured: &Capture| match captures {
            CapturesToLoad::None => false,
            CapturesToLoad::Refundable(amount) => {
                let before = available;
                available += captured.rest();
                before < available && before < amount
            }
            CapturesToLoad::All => true,
        };
        let own = self.captures.range((id, 0)..=(id, u32::MAX));
        LoadedTransaction {
            merchant: transaction.merchant,
            descriptor: transaction.descriptor,
            state: TransactionState {
                currency: transaction.currency,
                amounts: transaction.amounts,
                steps,
                captures: own.map(|(_, row)| row.capture()).filter(is_needed).collect(),
                funding: merchant.details.currency,
                pricing: merchant.pricing,
            },
            disputed: BTreeMap::new(),
        }
    }

    /// The step with a key, unless it was refused before.
    fn refusable(&self, transaction: Id, key: AcquirerKey) -> Option<RefusedStep> {
        let trail = || self.trail.range((transaction, 0)..=(transaction, u32::MAX));
        let (&(_, number), row) = trail().find(|(_, row)| row.acquirer_key == Some(key))?;
        let step = &row.step;
        let (movement, amount, balance, fee) = (step.movement, step.amount, step.balance, step.fee);
        let refusable = RefusedStep { number, movement, amount, balance, fee };
        let is_refused = self.refused_voids.contains_key(&(transaction, number))
            || trail().any(|(_, row)| row.reverses == Some(number));
        (!is_refused).then_some(refusable)
    }

    fn taken_by_disputes(&self, transaction: Id) -> DisputedParts {
        let is_open = |row: &&DisputeRow| {
            row.transaction == transaction && row.decision != Some(Decision::Won)
        };
        let mut taken = DisputedParts::new();
        for row in self.disputes.values().filter(is_open) {
            let slices = self.slices.range((row.id, 0)..=(row.id, u32::MAX));
            for slice in slices.map(|(_, row)| &row.slice).filter(|slice| !slice.again) {
                taken.entry(slice.step.unwrap()).or_default().change(slice, i64::saturating_add);
            }
        }
        taken
    }

    fn contest(
        &self,
        (transaction, reference): &(Id, String),
    ) -> Option<(&DisputeRow, DisputeState)> {
        let is_it = |row: &&DisputeRow| {
            (row.transaction, row.reference.as_str()) == (*transaction, reference)
        };
        let row = self.disputes.values().find(is_it)?;
        let slices = self.slices.range((row.id, 0)..=(row.id, u32::MAX));
        let slices = slices.map(|(_, row)| row.slice).collect();
        Some((row, DisputeState { id: row.id, decision: row.decision, slices }))
    }

    fn invitation(&self, row: &InvitationRow) -> Invitation {
        let details = &self.merchants[&row.merchant].details;
        Invitation {
            id: row.id,
            to: self.users[&row.user].email.clone(),
            merchant: details.title().to_owned(),
            country: details.country.clone(),
            app: self.apps.get(&row.app).and_then(|app| app.name.clone()),
            attempts: row.attempts,
        }
    }

    fn payout(&self, request: PayoutRequest, now: Timestamp) -> Option<PayoutState> {
        let PayoutRequest { run, merchant, delay } = request;
        let is_it = |paid: &PayoutRow| paid.day == run.day && paid.transfer.merchant == merchant;
        let is_done = self.payouts.values().any(is_it);
        let is_held = |line: &&LineRow| {
            line.merchant == merchant
                && line.kind == LineKind::Capture
                && line.created > now - delay
        };
        let held = self.lines.values().filter(is_held).map(|line| line.balance).sum();
        let merchant = self.merchants.get(&merchant)?.clone();
        Some(PayoutState { run, merchant, held, is_done })
    }

    /// Applies the changes: deletes, then updates, then inserts. Panics if a row is inserted twice,
    /// or if an updated row does not exist.
    pub(crate) fn apply(&mut self, changes: Changes) {
        self.apply_rows(&changes.rows);
        self.users.extend(changes.users.into_values().map(|user| (user.id, user)));
    }

    fn apply_rows(&mut self, rows: &BatchRows) {
        for webhook in rows.retries_of_webhooks.deleted_keys() {
            self.webhook_retries.retain(|(of, _), _| of != webhook);
        }
        for webhook in rows.attempts_of_webhooks.deleted_keys() {
            self.webhook_attempts.retain(|(of, _), _| of != webhook);
        }
        for restarted in rows.retries_of_webhooks.updated_rows() {
            let own = self.webhook_retries.values_mut();
            let own = own.filter(|row| row.webhook == restarted.webhook);
            own.for_each(|row| row.failures = restarted.failures);
        }
        for membership in rows.invitations_of_users.deleted_keys() {
            self.invitations.retain(|_, row| (row.merchant, row.user) != *membership);
        }
        apply(&mut self.apps, &rows.apps);
        apply(&mut self.api_keys, &rows.api_keys);
        apply(&mut self.merchants, &rows.merchants);
        apply(&mut self.balances, &rows.balances);
        apply(&mut self.invitations, &rows.invitations);
        apply(&mut self.merchant_users, &rows.merchant_users);
        apply(&mut self.merchant_apps, &rows.merchant_apps);
        apply(&mut self.webhooks, &rows.webhooks);
        apply(&mut self.webhook_progress, &rows.webhook_progress);
        apply(&mut self.webhook_retries, &rows.webhook_retries);
        apply(&mut self.webhook_attempts, &rows.webhook_attempts);
        apply(&mut self.link_secrets, &rows.link_secrets);
        apply(&mut self.pending_payments, &rows.pending_payments);
        apply(&mut self.transactions, &rows.transactions);
        for row in rows.transactions.new_rows() {
            let (captured, refunded, voided, disputed, steps) = (0, 0, 0, 0, 0);
            let id = row.id;
            let amounts = TransactionAmounts { id, captured, refunded, voided, disputed, steps };
            self.transaction_amounts.insert(row.id, amounts);
        }
        apply(&mut self.transaction_amounts, &rows.transaction_amounts);
        apply(&mut self.customs, &rows.customs);
        apply(&mut self.authorizations, &rows.authorizations);
        apply(&mut self.trail, &rows.trail);
        apply(&mut self.captures, &rows.captures);
        apply(&mut self.outbox, &rows.outbox);
        apply(&mut self.disputes, &rows.disputes);
        apply(&mut self.notifications, &rows.notifications);
        apply(&mut self.keys, &rows.keys);
        self.expiry.extend(rows.expiry.iter().map(|row| (row.only, row.clone())));
        apply(&mut self.lines, &rows.lines);
        apply(&mut self.postings, &rows.postings);
        apply(&mut self.payouts, &rows.payouts);
        apply(&mut self.cards, &rows.cards);
        apply(&mut self.slices, &rows.slices);
        apply(&mut self.refused_voids, &rows.refused_voids);
        apply(&mut self.fraud_alerts, &rows.fraud_alerts);
        apply(&mut self.events, &rows.events);
        apply(&mut self.used_links, &rows.used_links);
    }
}

/// Loads the rows with these keys.
fn load<'a, R: Row + Clone + 'a>(
    rows: &mut Rows<R>,
    table: &BTreeMap<R::Key, R>,
    keys: impl IntoIterator<Item = &'a R::Key>,
) where
    R::Key: 'a,
{
    keys.into_iter().filter_map(|key| table.get(key)).for_each(|row| rows.load(row.clone()));
}

/// Deletes, updates and inserts rows. Panics if a row is inserted twice, or if an updated row does
/// not exist.
fn apply<R: Row + Clone>(table: &mut BTreeMap<R::Key, R>, rows: &Rows<R>) {
    rows.deleted_keys().for_each(|key| drop(table.remove(key)));
    for row in rows.updated_rows() {
        assert!(table.insert(row.key(), row.clone()).is_some(), "{:?} does not exist", row.key());
    }
    for row in rows.new_rows() {
        assert!(table.insert(row.key(), row.clone()).is_none(), "{:?} comes twice", row.key());
    }
}
