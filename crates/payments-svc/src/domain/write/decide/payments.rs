//! Pending payments, their outcomes, and saved cards.

use std::time::Duration;

use jiff::Timestamp;

use super::{ActionResult, Batch, done};
use crate::domain::{
    AcquirerKey, Amounts, Authorization, Card, CardOnFile, Challenge, Conclusion, EventType, Fact,
    Id, LinkDigest, Notes, OutboxKind, Payment, PaymentResult, Postponed, SendingReport,
    Transaction, TransactionVersion,
    write::{
        CardRow, KeyChange, NewOutboxEntry, NewPendingPayment, NewTransaction, OutboxRetry,
        Outcome, Rejection, UsedLink, known::KeyState,
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
        let created = self.known.now;
        self.changes.pending_payments.push(NewPendingPayment {
            id,
            key: self.acquirer_key(id),
            created,
            payment: payment.clone(),
            link,
        });
        done(Outcome::PaymentBegun(id))
    }

    pub(super) fn prepare(&mut self, pending_payment: Id, authorization: &str) -> ActionResult {
        let begun =
            self.known.pending_payments.get_mut(&pending_payment).ok_or(Rejection::NotFound)?;
        begun.authorization = Some(authorization.to_owned());
        let update = (pending_payment, authorization.to_owned());
        self.changes.authorizations.insert(pending_payment, update);
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
        let begun =
            self.known.pending_payments.remove(&pending_payment).ok_or(Rejection::NotFound)?;
        let (payment, id) = (begun.payment, self.id());
        let (is_challenged, is_keyed) = (begun.challenged.is_some(), begun.key.is_some());
        let result = PaymentResult::of(conclusion, is_challenged, is_keyed);
        let error = result.error;
        let amount = payment.amount.minor();
        let transaction = Transaction {
            id,
            merchant: payment.merchant,
            test: begun.test,
            created: self.known.now,
            currency: payment.currency,
            amounts: Amounts { amount, successful: error.is_none(), ..Amounts::default() },
            descriptor: payment.descriptor,
            card: card.cloned().or(begun.challenged),
            custom: payment.custom,
            tds: result.tds,
            recurring: payment.recurring,
            error,
            trail: Vec::new(),
        };
        let reference = result.reference.map(str::to_owned);
        self.changes.transactions.push(NewTransaction {
            transaction,
            pending_payment,
            key: begun.acquirer_key,
            authorization: begun.authorization,
            acquirer: payment.acquirer,
            reference,
        });
        self.changes.deleted_pending_payments.insert(pending_payment);
        self.changes.authorizations.remove(&pending_payment);
        self.changes.challenges.remove(&pending_payment);
        if result.needs_reversal {
            let entry = self.id();
            let key = AcquirerKey::Id(entry);
            self.changes.outbox_entries.push(NewOutboxEntry {
                id: entry,
                key,
                transaction: id,
                kind: OutboxKind::Reverse,
                amount,
                step: None,
            });
        }
        let event_type = match error {
            None => EventType::TransactionCreated,
            Some(_) => EventType::TransactionFailed,
        };
        let version = TransactionVersion { transaction: id, steps: 0, disputed: 0 };
        self.add_event(payment.merchant, event_type, Fact::Transaction(version));
        if let Some(link) = begun.link.filter(|_| error.is_some()) {
            self.rows.used_links.delete((payment.merchant, link));
        }
        let outcome = Outcome::PaymentConcluded { transaction: id, error };
        if let Some((app, key)) = begun.key {
            let name = (app, key.clone());
            if let Some(known) = self.known.keys.get_mut(&name) {
                known.state = KeyState::Answered(outcome.clone());
            }
            let change = KeyChange { app, key, outcome: outcome.clone() };
            self.changes.concluded_keys.insert(name, change);
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
        let begun =
            self.known.pending_payments.get_mut(&pending_payment).ok_or(Rejection::NotFound)?;
        begun.challenged = Some(card.clone());
        let until = self.known.now.checked_add(CHALLENGE).unwrap_or(Timestamp::MAX);
        let authorization = Authorization {
            acquirer: begun.payment.acquirer,
            key: begun.acquirer_key,
            id: begun.authorization.clone(),
        };
        let (card, reference) = (card.clone(), reference.to_owned());
        let challenge = Challenge { authorization, card, reference, until };
        self.changes.challenges.insert(pending_payment, (pending_payment, challenge));
        done(Outcome::Done)
    }

    /// Deletes the entries that were carried out, and postpones the others.
    pub(super) fn record_sending(&mut self, report: &SendingReport) -> ActionResult {
        self.changes.deleted_outbox_entries.extend(&report.done);
        self.known.outbox_entries.retain(|entry| !report.done.contains(entry));
        for &Postponed { entry, attempts, delay } in &report.postponed {
            let due = self.known.now.checked_add(delay).unwrap_or(Timestamp::MAX);
            self.changes.outbox_retries.insert(entry, OutboxRetry { entry, attempts, due });
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
}
