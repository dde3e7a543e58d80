//! Pending payments, their outcomes, and saved cards.

use std::time::Duration;

use jiff::Timestamp;

use super::{ActionResult, Batch, done};
use crate::domain::{
    Card, CardOnFile, Conclusion, EventType, Fact, Id, LinkDigest, Notes, OutboxKind, Payment,
    PaymentResult, Postponed, SendingReport, TransactionVersion,
    write::{
        AuthorizationRow, CardRow, CustomRow, KeyRow, KeyState, OutboxRow, Outcome,
        PendingChallenge, PendingContext, PendingRow, Rejection, TransactionRow, UsedLink,
    },
};

/// The time limit for a customer to answer 3-D Secure.
const CHALLENGE: Duration = Duration::from_secs(15 * 60);

impl Batch {
    /// A link that pays only once is used from here on, so that two payments cannot overlap. If the
    /// payment fails, the link is free again.
    pub(super) fn begin(&mut self, payment: &Payment, link: Option<LinkDigest>) -> ActionResult {
        let merchant = payment.merchant;
        if link.is_some_and(|link| self.rows.used_links.contains(&(merchant, link))) {
            return Err(Rejection::LinkUsed);
        }
        let id = self.id();
        if let Some(link) = link {
            self.rows.used_links.insert(UsedLink { merchant, link, pending_payment: id });
        }
        self.rows.pending_payments.insert(PendingRow {
            id,
            created: self.known.now,
            payment: payment.clone(),
            acquirer_key: self.acquirer_key(id).digest(),
            link,
            authorization: None,
            challenge: None,
        });
        done(Outcome::PaymentBegun(id))
    }

    pub(super) fn prepare(&mut self, pending_payment: Id, authorization: &str) -> ActionResult {
        let mut row = self.pending_payment(pending_payment)?.clone();
        row.authorization = Some(authorization.to_owned());
        self.rows.pending_payments.update(row);
        done(Outcome::Done)
    }

    /// The first conclusion of a payment counts: a later one is rejected with
    /// [`Rejection::NotFound`].
    pub(super) fn conclude(
        &mut self,
        pending_payment: Id,
        conclusion: &Conclusion,
        card: Option<&Card>,
    ) -> ActionResult {
        let row = self.pending_payment(pending_payment)?.clone();
        let context = self.known.pending_payments.get(&pending_payment).cloned();
        let PendingContext { test, key } = context.ok_or(Rejection::NotFound)?;
        let PendingRow { payment, acquirer_key, link, authorization, challenge, .. } = row;
        let id = self.id();
        let result = PaymentResult::of(conclusion, challenge.is_some(), key.is_some());
        let error = result.error;
        let (merchant, currency, amount) =
            (payment.merchant, payment.currency, payment.amount.minor());
        self.rows.transactions.insert(TransactionRow {
            id,
            merchant,
            test,
            pending_payment,
            acquirer_key,
            authorization,
            acquirer: payment.acquirer,
            created: self.known.now,
            currency,
            amount,
            error,
            descriptor: payment.descriptor,
            card: card.cloned().or(challenge.map(|challenge| challenge.card)),
            tds: result.tds,
            recurring: payment.recurring,
            reference: result.reference.map(str::to_owned),
            has_custom: payment.custom.is_some(),
        });
        if let Some(custom) = payment.custom {
            self.rows.customs.insert(CustomRow { transaction: id, custom });
        }
        let authorized = AuthorizationRow { pending_payment, currency, amount };
        self.rows.authorizations.insert(authorized);
        self.rows.pending_payments.delete(pending_payment);
        if result.needs_reversal {
            let entry = self.id();
            self.rows.outbox.insert(OutboxRow {
                id: entry,
                acquirer_key: None,
                transaction: id,
                kind: OutboxKind::Reverse,
                amount,
                step: None,
                attempts: 0,
                due: None,
            });
        }
        let event_type = match error {
            None => EventType::TransactionCreated,
            Some(_) => EventType::TransactionFailed,
        };
        let version = TransactionVersion { transaction: id, steps: 0, disputed: 0 };
        self.add_event(merchant, event_type, Fact::Transaction(version));
        if let Some(link) = link.filter(|_| error.is_some()) {
            self.rows.used_links.delete((merchant, link));
        }
        let outcome = Outcome::PaymentConcluded { transaction: id, error };
        if let Some(row) = key.and_then(|key| self.rows.keys.get(&key)) {
            let state = KeyState::Answered(outcome.clone());
            self.rows.keys.update(KeyRow { state, ..row.clone() });
        }
        done(outcome)
    }

    /// Stores the card data and the acquirer's reference. The payment continues with them after the
    /// customer's answer.
    pub(super) fn challenge(
        &mut self,
        pending_payment: Id,
        card: &Card,
        reference: &str,
    ) -> ActionResult {
        let mut row = self.pending_payment(pending_payment)?.clone();
        let until = self.known.now.checked_add(CHALLENGE).unwrap_or(Timestamp::MAX);
        let (card, reference) = (card.clone(), reference.to_owned());
        row.challenge = Some(PendingChallenge { card, reference, until });
        self.rows.pending_payments.update(row);
        done(Outcome::Done)
    }

    /// Deletes the entries that were carried out, and postpones the others.
    pub(super) fn record_sending(&mut self, report: &SendingReport) -> ActionResult {
        report.done.iter().for_each(|entry| self.rows.outbox.delete(*entry));
        for &Postponed { entry, attempts, delay } in &report.postponed {
            let Some(row) = self.rows.outbox.get(&entry) else { continue };
            let due = Some(self.known.now.checked_add(delay).unwrap_or(Timestamp::MAX));
            let row = OutboxRow { attempts, due, ..row.clone() };
            self.rows.outbox.update(row);
        }
        done(Outcome::Done)
    }

    pub(super) fn save_card(
        &mut self,
        merchant: Id,
        original: &CardOnFile,
        notes: Option<&Notes>,
    ) -> ActionResult {
        let id = self.id();
        let (created, original) = (self.known.now, original.clone());
        self.rows.cards.insert(CardRow { id, merchant, created, original, notes: notes.cloned() });
        done(Outcome::Card(id))
    }

    fn pending_payment(&self, id: Id) -> Result<&PendingRow, Rejection> {
        self.rows.pending_payments.get(&id).ok_or(Rejection::NotFound)
    }
}
