use sql::group;

use crate::{
    Amounts, Card, Conclusion, CustomData, EventType, Fact, Id, MailKind, OutboxKind, PaymentResult,
    ProcessingError, TransactionVersion,
    write::{
        Action, AuthorizationRow, Batch, CustomRow, KeyRow, Needs, OutboxRow, Outcome,
        PendingContext, PendingRow, ReceiptRow, Rejection, StateRow, TransactionRow,
    },
};

/// Record the end of a pending payment. Only the first one counts: later ones are rejected with
/// [`Rejection::NotFound`].
#[derive(Debug)]
pub struct ConcludePayment {
    /// The ID from [`PaymentBegun`](super::PaymentBegun).
    pub pending_payment: Id,
    pub conclusion: Conclusion,
    /// The card data that may be stored. `None` if the caller does not have it.
    pub card: Option<Box<Card>>,
}

group! {
    /// The outcome of a payment was recorded.
    #[derive(Debug, Clone, Copy)]
    pub struct PaymentConcluded {
        transaction: Id = "transaction",
        /// `None` if the payment succeeded.
        error: Option<ProcessingError> = "error",
    }
}

impl Action for ConcludePayment {
    type Outcome = PaymentConcluded;

    fn needs(&self, needs: &mut Needs) {
        needs.pending_payments.insert(self.pending_payment);
    }

    fn is_follow_up(&self) -> bool {
        true
    }

    fn decide(&self, batch: &mut Batch) -> Result<PaymentConcluded, Rejection> {
        let (pending_payment, card) = (self.pending_payment, self.card.as_deref());
        let row = batch.pending_payment(pending_payment)?.clone();
        let context = batch.loaded.pending_payments.get(&pending_payment).cloned();
        let PendingContext { test, key } = context.ok_or(Rejection::NotFound)?;
        let PendingRow { payment, actor, acquirer_key, link, receipt, authorization, .. } = row;
        let challenge = row.challenge;
        let id = batch.id();
        let result = PaymentResult::of(&self.conclusion, challenge.is_some(), key.is_some());
        let error = result.error;
        let (merchant, currency, amount) =
            (payment.merchant, payment.currency, payment.amount.minor());
        batch.rows.transactions.insert(TransactionRow {
            id,
            merchant,
            test,
            pending_payment,
            acquirer_key,
            authorization,
            acquirer: payment.acquirer,
            created: batch.loaded.now,
            currency,
            amount,
            error,
            descriptor: payment.descriptor,
            card: card.cloned().or(challenge.map(|challenge| challenge.card)),
            tds: result.tds,
            capabilities: result.capabilities,
            recurring: payment.recurring,
            reference: result.reference.map(str::to_owned),
            has_custom: payment.custom.is_some(),
            custom_reference: payment.custom.as_ref().and_then(CustomData::reference),
        });
        let state = Amounts { amount, successful: error.is_none(), ..Amounts::default() }.status();
        batch.rows.transaction_states.insert(StateRow { merchant, state, transaction: id });
        if let Some(custom) = payment.custom {
            batch.rows.customs.insert(CustomRow { transaction: id, custom });
        }
        let authorized = AuthorizationRow { pending_payment, currency, amount };
        batch.rows.authorizations.insert(authorized);
        batch.rows.pending_payments.delete(pending_payment);
        if result.needs_reversal {
            let entry = batch.id();
            batch.rows.outbox.insert(OutboxRow {
                id: entry,
                acquirer: payment.acquirer,
                acquirer_key: None,
                transaction: id,
                kind: OutboxKind::Reverse,
                amount,
                step: None,
                dispute: None,
                trace: batch.trace,
                attempts: 0,
                due: None,
            });
        }
        let event_type = match error {
            None => EventType::TransactionCreated,
            Some(_) => EventType::TransactionFailed,
        };
        let version = TransactionVersion { transaction: id, steps: 0, disputed: 0 };
        // The request and the job that ask the acquirer write for whoever pays.
        batch.actor = actor;
        batch.add_event(merchant, event_type, Fact::Transaction(version));
        if let Some(to) = receipt.filter(|_| error.is_none()) {
            batch.rows.receipts.insert(ReceiptRow { transaction: id, merchant, to });
            batch.queue_mail(MailKind::Receipt, None, merchant, Some(id));
        }
        if let Some(link) = link.filter(|_| error.is_some()) {
            batch.rows.used_links.delete((merchant, link));
        }
        let outcome = PaymentConcluded { transaction: id, error };
        if let Some(row) = key.and_then(|key| batch.rows.keys.get(&key)) {
            let state = outcome.key_state();
            batch.rows.keys.update(KeyRow { state, ..row.clone() });
        }
        Ok(outcome)
    }
}
