//! The database as tables in memory: loads rows for a batch, and applies its changes. The tests of
//! batches use it, and `store/sqlite` compares its database with it.
#![expect(clippy::unwrap_used, reason = "a failure fails a test")]
#![cfg_attr(not(test), expect(clippy::arithmetic_side_effects, reason = "the numbers are small"))]

use std::{collections::BTreeMap, mem::take};

use jiff::Timestamp;
use sql::{Row, Rows, RowsByKey};

use crate::{
    AcquirerId, AcquirerKey, Amounts, Capture, Decision, DisputeState, DisputedParts, Id, LineKind,
    Mail, Money, PayoutRequest, RefusedStep, Transaction, TransactionState, User,
    write::{
        Answer, CapturesToLoad, Changes, DayCursor, DisputeRow, ExpiryRow, KeyRow, KeyState,
        LineRow, LoadedRows, LoadedTransaction, MailRow, Needs, NotificationRow, PayoutRow,
        PayoutRunRow, PayoutState, PendingContext, RowKeys, Tables, TransactionAmounts,
        TransactionRow,
    },
};

impl Tables {
    /// A new database.
    pub fn new() -> Self {
        let cursor = ExpiryRow { only: true, through: Id::MIN, ended: Timestamp::UNIX_EPOCH };
        let counted = DayCursor { number: 0, through: Id::MIN };
        Self {
            expiry: BTreeMap::from([(true, cursor)]),
            day_cursors: BTreeMap::from([(0, counted)]),
            ..Self::default()
        }
    }

    /// Loads the rows of `needs` and no others. Each balance has `shards` rows. A booking gets the
    /// row with the index `free`.
    pub fn load(
        &self,
        needs: &Needs,
        (now, ids): (Timestamp, Vec<Id>),
        (shards, free): (i64, i64),
    ) -> LoadedRows {
        let mut known = LoadedRows::new(now, ids, shards);
        self.load_rows(&needs.rows, &mut known.rows);
        for (&id, &captures) in &needs.transactions {
            if self.transactions.contains_key(&id) {
                let loaded = self.loaded(id, captures, now);
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
        load(&mut known.rows.pending_payments, &self.pending_payments, &needs.pending_payments);
        for id in &needs.pending_payments {
            if let Some(row) = self.pending_payments.get(id) {
                let test = self.merchants[&row.payment.merchant].details.test;
                let waiting = self.keys.values().find(|row| row.state == KeyState::InFlight(*id));
                let key = waiting.map(KeyRow::key);
                load(&mut known.rows.keys, &self.keys, &key);
                known.pending_payments.insert(*id, PendingContext { test, key });
            }
        }
        load(&mut known.rows.merchants, &self.merchants, &needs.merchants);
        let booked: Vec<_> = needs.balances.iter().map(|&merchant| (merchant, free)).collect();
        load(&mut known.rows.balances, &self.balances, &booked);
        load(&mut known.rows.apps, &self.apps, &needs.locked_apps);
        for app in &needs.locked_apps {
            let own = self.api_keys.values().filter(|row| row.app == *app);
            load(&mut known.rows.api_keys, &self.api_keys, own.map(|row| &row.id));
            let own = self.webhooks.values().filter(|row| row.app == *app);
            let own: Vec<Id> = own.map(|row| row.id).collect();
            load(&mut known.rows.webhooks, &self.webhooks, &own);
            load(&mut known.rows.webhook_progress, &self.webhook_progress, &own);
        }
        known.users.extend(needs.users.iter().filter(|id| self.users.contains_key(id)));
        for user in &needs.users {
            let own = self.sign_in_links.values().filter(|row| row.user == *user);
            own.for_each(|row| known.rows.sign_in_links.load(row.clone()));
            let own = self.sessions.values().filter(|row| row.user == *user);
            own.for_each(|row| known.rows.sessions.load(row.clone()));
            load(&mut known.rows.authenticators, &self.authenticators, [user]);
            let own = self.recovery_codes.values().filter(|row| row.user == *user);
            own.for_each(|row| known.rows.recovery_codes.load(row.clone()));
        }
        for merchant in &needs.members {
            let own = self.merchant_users.values().filter(|row| row.merchant == *merchant);
            let members = own.filter(|row| row.accepted.is_some()).count();
            known.members.insert(*merchant, members.try_into().unwrap());
        }
        for merchant in &needs.evidence {
            let open = self.evidence.values().filter(|row| {
                let dispute = &self.disputes[&row.dispute];
                dispute.merchant == *merchant && dispute.decision.is_none()
            });
            known.evidence.insert(*merchant, open.map(|row| row.size).sum());
        }
        for (merchant, email) in &needs.emails {
            let is_theirs = |user: &&User| user.email.as_str().eq_ignore_ascii_case(email);
            if let Some(user) = self.users.values().find(is_theirs) {
                known.users_by_email.insert(email.clone(), user.id);
                let membership = (*merchant, user.id);
                load(&mut known.rows.merchant_users, &self.merchant_users, &[membership]);
            }
        }
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
            let mut waiting: Vec<_> = waiting.collect();
            waiting.sort_by_key(|row| (row.created, row.id.as_str()));
            for (_, decision) in waiting.iter().filter_map(|row| row.waiting.as_ref()) {
                known.wait(about.clone(), *decision);
            }
        }
        for id in &needs.mails {
            if let Some(row) = self.mails.get(id)
                && let Some(mail) = self.mail(row)
            {
                known.rows.mails.load(row.clone());
                known.mails.insert(*id, mail);
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
    pub fn all(&self) -> Needs {
        let opened = self.disputes.values().map(|row| (row.transaction, &row.reference));
        let waits = self.notifications.values();
        let waits = waits.filter_map(|row| Some((row.transaction, &row.waiting.as_ref()?.0)));
        let named = |(id, dispute): (Id, &AcquirerId)| (id, dispute.as_str().to_owned());
        // All members are loaded below.
        let emails = self.users.values();
        let emails = emails.map(|user| (Id::MIN, user.email.as_str().to_ascii_lowercase()));
        let refusals = self.trail.values();
        let refusals = refusals.filter_map(|row| Some((row.transaction, row.acquirer_key?)));
        Needs {
            refusals: refusals.collect(),
            rows: RowKeys {
                apps: self.apps.keys().copied().collect(),
                evidence: self.evidence.keys().copied().collect(),
                evidence_files: self.evidence_files.keys().copied().collect(),
                receipts: self.receipts.keys().copied().collect(),
                outbox: self.outbox.keys().copied().collect(),
                payouts: self.payouts.keys().copied().collect(),
                notifications: self.notifications.keys().cloned().collect(),
                merchant_users: self.merchant_users.keys().copied().collect(),
                mail_choices: self.mail_choices.keys().copied().collect(),
                notices: self.notices.keys().copied().collect(),
                merchant_apps: self.merchant_apps.keys().copied().collect(),
                used_links: self.used_links.keys().copied().collect(),
                keys: self.keys.keys().cloned().collect(),
                expiry: self.expiry.keys().copied().collect(),
                facts_positions: self.facts_positions.keys().copied().collect(),
                payout_runs: self.payout_runs.keys().copied().collect(),
                day_cursors: self.day_cursors.keys().copied().collect(),
                day_totals: self.day_totals.keys().copied().collect(),
                ..RowKeys::default()
            },
            transactions: self.transactions.keys().map(|id| (*id, CapturesToLoad::All)).collect(),
            pending_payments: self.pending_payments.keys().copied().collect(),
            merchants: self.merchants.keys().copied().collect(),
            balances: self.merchants.keys().copied().collect(),
            locked_apps: self.apps.keys().copied().collect(),
            users: self.users.keys().copied().collect(),
            members: self.merchants.keys().copied().collect(),
            emails: emails.collect(),
            evidence: self.merchants.keys().copied().collect(),
            disputes: opened.chain(waits).map(named).collect(),
            mails: self.mails.keys().copied().collect(),
            payout: None,
        }
    }

    /// The transaction without its trail, and the number of its steps.
    pub fn transaction(&self, id: Id) -> (Transaction, u32) {
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

    fn loaded(&self, id: Id, captures: CapturesToLoad, now: Timestamp) -> LoadedTransaction {
        let TransactionRow { test, acquirer, capabilities, .. } = self.transactions[&id];
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
            test,
            acquirer,
            descriptor: transaction.descriptor,
            state: TransactionState {
                currency: transaction.currency,
                amounts: transaction.amounts,
                steps,
                captures: own.map(|(_, row)| row.capture()).filter(is_needed).collect(),
                funding: merchant.details.currency,
                pricing: merchant.pricing,
                capabilities,
                has_ended: capabilities.have_ended(now),
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
        Some((row, row.state(slices)))
    }

    /// `None` if the address of the payer was deleted.
    fn mail(&self, row: &MailRow) -> Option<Mail> {
        let details = row.merchant.map(|merchant| &self.merchants[&merchant].details);
        let app = row.actor.id.and_then(|id| self.apps.get(&id)?.name.clone());
        let dispute = row.object.and_then(|object| self.disputes.get(&object));
        let disputed = dispute.map(|row| Money {
            currency: self.transactions[&row.transaction].currency,
            minor: row.amount,
        });
        let payout = row.object.and_then(|object| self.payouts.get(&object));
        let receipt = row.object.and_then(|object| self.receipts.get(&object));
        let paid = receipt.map(|receipt| {
            let TransactionRow { currency, amount, .. } = self.transactions[&receipt.transaction];
            Money { currency, minor: amount }
        });
        let user = row.user.map(|user| self.users[&user].email.clone());
        Some(Mail {
            id: row.id,
            page: row.merchant,
            object: row.object,
            money: disputed.or(payout.map(|row| row.transfer.amount)).or(paid),
            answer_by: dispute.map(|row| row.due),
            kind: row.kind,
            to: user.or(receipt.map(|receipt| receipt.to.email.clone()))?,
            merchant: details.map(|details| details.title().to_owned()),
            country: details.map(|details| details.country.clone()),
            actor: app.map(|name| name.as_str().to_owned()),
            language: receipt.map(|receipt| receipt.to.language.clone()).or(row.language.clone()),
            attempts: row.attempts,
            is_late: false,
        })
    }

    fn payout(&self, request: PayoutRequest, now: Timestamp) -> Option<PayoutState> {
        let PayoutRequest { run, merchant, delay } = request;
        let is_it = |paid: &PayoutRow| paid.day == run.day && paid.transfer.merchant == merchant;
        let runs = &self.payout_runs;
        let is_closed = runs.get(&PayoutRunRow::key_of(run)).is_some_and(|run| run.closed);
        let is_done = is_closed || self.payouts.values().any(is_it);
        let held_since = (!delay.is_zero()).then(|| now - delay);
        let is_held = |line: &&LineRow| {
            line.merchant == merchant
                && line.kind == LineKind::Capture
                && line.amount.minor > 0
                && held_since.is_some_and(|since| line.created > since)
        };
        let held = self.lines.values().filter(is_held).map(|line| line.balance).sum();
        let merchant = self.merchants.get(&merchant)?.clone();
        Some(PayoutState { run, merchant, held, held_since, is_done })
    }

    /// Applies the changes. Panics if a row is inserted twice, or if an updated row does not exist.
    pub fn apply(&mut self, mut changes: Changes) {
        let rows = &mut changes.rows;
        let retries = take(&mut rows.retries_of_webhooks);
        for deleted in retries.deleted_keys() {
            self.webhook_retries.retain(|(webhook, _), _| webhook != deleted);
        }
        for restarted in retries.updated_rows() {
            let own = self.webhook_retries.values_mut();
            let own = own.filter(|row| row.webhook == restarted.webhook);
            own.for_each(|row| row.failures = restarted.failures);
        }
        for deleted in take(&mut rows.attempts_of_webhooks).deleted_keys() {
            self.webhook_attempts.retain(|(webhook, _), _| webhook != deleted);
        }
        for membership in take(&mut rows.mails_of_users).deleted_keys() {
            self.mails.retain(|_, row| (row.user, row.kind) != *membership);
        }
        for membership in take(&mut rows.mails_of_members).deleted_keys() {
            self.mails.retain(|_, row| (row.merchant, row.user) != *membership);
        }
        for &TransactionRow { id, .. } in rows.transactions.new_rows() {
            let (captured, refunded, voided, disputed, steps) = (0, 0, 0, 0, 0);
            let amounts = TransactionAmounts { id, captured, refunded, voided, disputed, steps };
            self.transaction_amounts.insert(id, amounts);
        }
        self.apply_rows(rows);
        self.users.extend(changes.users.into_values().map(|user| (user.id, user)));
    }
}

/// Loads the rows with these keys.
fn load<'a, R: Row + Clone + 'a>(
    rows: &mut Rows<R>,
    table: &RowsByKey<R>,
    keys: impl IntoIterator<Item = &'a R::Key>,
) where
    R::Key: 'a,
{
    keys.into_iter().filter_map(|key| table.get(key)).for_each(|row| rows.load(row.clone()));
}

/// For tests: two answers are equal if they store and print the same.
impl PartialEq for Answer {
    fn eq(&self, other: &Self) -> bool {
        let state = |answer: &Self| match answer {
            Self::Executed(outcome) => outcome.key_state(),
            Self::Replayed(outcome) => KeyState::Answered(outcome.clone()),
        };
        state(self) == state(other) && format!("{self:?}") == format!("{other:?}")
    }
}
