//! A payment in three steps, because it changes two systems and no database transaction spans both:
//!
//! 1. **Begin.** [`Action::BeginPayment`] commits a pending payment and its idempotency key.
//! 2. **Authorize.** The service asks the acquirer to authorize the amount.
//! 3. **Conclude.** [`Action::ConcludePayment`] replaces the pending payment with a transaction,
//!    and stores the outcome for the idempotency key. If the acquirer demands 3-D Secure,
//!    [`Action::ChallengePayment`] comes first, and the customer's answer repeats steps 2 and 3.
//!
//! The goal: after a crash or a timeout at any point, no authorization stays open at the acquirer
//! without a record here. Know these reasons before you change the order:
//!
//! 1. The pending payment is committed before the acquirer is asked. If a later step fails,
//!    [`Payments::fail_unanswered`] finds it, records the payment as failed, and writes its
//!    reversal.
//! 2. The ID of the pending payment (`operation`) is the idempotency key at the acquirer: a repeat
//!    authorizes no second amount.
//! 3. Card numbers must not reach the disk. So a pending payment contains no card data, and during
//!    3-D Secure only the data that may be stored. No job can therefore send the authorization
//!    again. It can only record the payment as failed.
//! 4. No database transaction is open during step 2: a slow acquirer holds no lock and no database
//!    connection.
//! 5. The first conclusion counts. A later one finds no pending payment and is refused. An approval
//!    that arrives after the payment was recorded as failed therefore changes nothing here, and the
//!    reversal releases the amount.
//! 6. The job waits for twice the acquirer's timeout. By then, the request has stopped waiting.
//! 7. The steps run in a separate task, which continues if the caller disconnects. The service
//!    waits for these tasks when it stops ([`Payments::finished`]).
//! 8. A new payment, and the check of a card to save, hold a permit of `in_flight`, because each
//!    keeps a connection while it waits for a slow acquirer. Without a free permit the request
//!    fails before it has written anything. The answer to a challenge takes no permit.
//!
//! See `docs/decisions/payments-in-three-steps.md`.

use std::sync::Arc;

use super::{
    declines::{Attempt, Origin},
    error::{Error, NoOutcome},
    payments::Payments,
    view::Paid,
};
use crate::{
    acquirer::{AuthorizationRequest, AuthorizationResponse, CardSource, NoAnswer},
    domain::{
        AcquirerKey, AcquirerOutcome, Card, CardDetails, Challenge, ChallengeAnswer, Id,
        LinkDigest, Merchant, Payment, ProcessingError, Receipt,
        write::{Action, Answer, KeyedRequest, Outcome, Rejection},
    },
    store::{StoreError, now},
};

/// A payment to make, and the card to make it with.
#[derive(Debug)]
pub(crate) struct Charge {
    pub(crate) payment: Payment,
    /// The card data that may be stored, once the acquirer has answered.
    pub(crate) card: Card,
    /// The card as the acquirer needs it.
    pub(crate) source: CardSource,
    /// Whether it is a test merchant.
    pub(crate) test: bool,
    pub(crate) origin: Origin,
    /// The payment link, if it pays only once.
    pub(crate) link: Option<LinkDigest>,
}

impl Charge {
    /// A payment with a card that a customer typed in.
    pub(crate) fn typed(
        merchant: &Merchant,
        payment: Payment,
        card: CardDetails,
        origin: Origin,
    ) -> Self {
        let (kept, test) = (card.to_card(), merchant.details.test);
        Self { payment, card: kept, source: CardSource::Card(card), test, origin, link: None }
    }
}

impl Payments {
    /// Makes a payment without an idempotency key and without 3-D Secure: its origin must not be
    /// [`Origin::Page`], because a challenge is not an outcome.
    pub(crate) async fn pay(self: &Arc<Self>, charge: Charge) -> Result<Paid, Error> {
        Paid::of(&self.charge(charge, None).await?)
    }

    /// Makes a payment; with an idempotency key, at most once. Continues if the caller disconnects.
    /// If the acquirer demands 3-D Secure, the outcome is [`Outcome::Done`], and the payment waits
    /// for [`Self::respond`].
    pub(crate) async fn charge(
        self: &Arc<Self>,
        charge: Charge,
        keyed: Option<KeyedRequest>,
    ) -> Result<Answer, Error> {
        let permit = self.in_flight.take(1).ok_or(Error::Overloaded)?;
        let Charge { payment, card, source, test, origin, link } = charge;
        let attempt = Attempt { merchant: payment.merchant, test, origin };
        let admitted = match &source {
            CardSource::Card(details) => self.declines.admit(attempt, &details.number)?,
            CardSource::Reference(_) => None,
        };
        let payments = Arc::clone(self);
        let paying = self.under_way.spawn(async move {
            let _permit = permit;
            let (currency, amount) = (payment.currency, payment.amount);
            let action = Action::BeginPayment { payment: Box::new(payment), link };
            let request_key = keyed.as_ref().map(KeyedRequest::acquirer_key);
            let operation = match payments.write(action, keyed).await? {
                Answer::Executed { outcome: Outcome::PaymentBegun(operation), .. } => operation,
                replayed => return Ok(replayed),
            };
            let can_challenge = matches!(origin, Origin::Page(_));
            let key = request_key.unwrap_or(AcquirerKey::Id(operation));
            let authorization =
                AuthorizationRequest { key, currency, amount, source, can_challenge };
            let reply = payments.acquirers.authorize(test, &authorization, now()).await;
            let reply = reply.map_err(NoOutcome::from)?;
            // The card number is not needed for the rest.
            drop(authorization);
            if let AuthorizationResponse::Outcome(AcquirerOutcome::Declined(error)) = reply {
                payments.declines.record(attempt, admitted, error);
            }
            Ok(recorded(payments.record(operation, reply, card).await)?)
        });
        paying.await.unwrap_or(Err(StoreError::Panicked.into()))
    }

    async fn record(
        &self,
        operation: Id,
        reply: AuthorizationResponse,
        card: Card,
    ) -> Result<Result<Answer, Rejection>, StoreError> {
        match reply {
            AuthorizationResponse::Outcome(acquirer_outcome) => {
                self.conclude(operation, Some(acquirer_outcome), Some(card)).await
            }
            AuthorizationResponse::Challenge { reference } => {
                let card = Box::new(card);
                self.store
                    .write(Action::ChallengePayment { pending_payment: operation, card, reference })
                    .await
            }
        }
    }

    /// Asks the acquirer to check a card that a customer wants to save. Continues if the caller
    /// disconnects.
    pub(super) async fn verify(
        self: &Arc<Self>,
        attempt: Attempt,
        card: CardDetails,
    ) -> Result<AcquirerOutcome, Error> {
        let permit = self.in_flight.take(1).ok_or(Error::Overloaded)?;
        let admitted = self.declines.admit(attempt, &card.number)?;
        let payments = Arc::clone(self);
        let verifying = self.under_way.spawn(async move {
            let _permit = permit;
            let acquirer_outcome = payments.acquirers.verify(attempt.test, &card, now()).await;
            let acquirer_outcome = acquirer_outcome.map_err(Error::NoAnswer)?;
            if let AcquirerOutcome::Declined(error) = acquirer_outcome {
                payments.declines.record(attempt, admitted, error);
            }
            Ok(acquirer_outcome)
        });
        verifying.await.unwrap_or(Err(StoreError::Panicked.into()))
    }

    /// Returns the open challenge of a payment, if there is one.
    pub(crate) async fn challenge(&self, operation: Id) -> Result<Option<Challenge>, Error> {
        Ok(self.store.challenge(operation).await?)
    }

    /// Whether a link that pays only once has paid, or is paying.
    pub(crate) async fn is_link_used(&self, merchant: Id, link: LinkDigest) -> Result<bool, Error> {
        Ok(self.store.is_link_used(merchant, link).await?)
    }

    /// The receipt of a payment, for the browser that paid.
    pub(crate) async fn receipt(&self, transaction: Id) -> Result<Option<Receipt>, Error> {
        Ok(self.store.receipt(transaction).await?)
    }

    /// Continues a payment with the customer's answer to its challenge. Does nothing if no
    /// challenge is open. Continues if the caller disconnects.
    ///
    /// Decision: a failed challenge counts as a decline for the address and the merchant, not for
    /// the card, because the card number is not known at this point. The limit of the card is not
    /// needed here, because only the cardholder can answer a challenge.
    pub(crate) async fn respond(
        self: &Arc<Self>,
        attempt: Attempt,
        operation: Id,
        answer: ChallengeAnswer,
    ) -> Result<(), Error> {
        let payments = Arc::clone(self);
        let responding = self.under_way.spawn(async move {
            let Some(challenge) = payments.store.challenge(operation).await? else { return Ok(()) };
            let acquirer_outcome = payments.acquirers.complete(operation, &challenge, answer).await;
            let acquirer_outcome = acquirer_outcome.map_err(NoOutcome::from)?;
            // A concurrent answer may have been faster. Its outcome is the same, because the
            // acquirer decides once for each pending payment.
            let concluded = payments.conclude(operation, Some(acquirer_outcome), None).await;
            let concluded = concluded.map_err(NoOutcome::NotStored)?;
            if let Ok(concluded) = concluded
                && let Outcome::PaymentConcluded { error: Some(error), .. } = concluded.outcome()
            {
                payments.declines.record(attempt, None, *error);
            }
            Ok(())
        });
        responding.await.unwrap_or(Err(StoreError::Panicked.into()))
    }

    async fn conclude(
        &self,
        operation: Id,
        acquirer_outcome: Option<AcquirerOutcome>,
        card: Option<Card>,
    ) -> Result<Result<Answer, Rejection>, StoreError> {
        let card = card.map(Box::new);
        self.store
            .write(Action::ConcludePayment { pending_payment: operation, acquirer_outcome, card })
            .await
    }

    /// Records payments as failed for which the acquirer or the customer gave no answer in time.
    /// Writes the outbox entries that reverse them at the acquirer.
    pub(crate) async fn fail_unanswered(&self) -> Result<(), StoreError> {
        // By then, the request that waits for the acquirer has timed out.
        let age = self.acquirers.timeout() * 2;
        for operation in self.store.stale_pending_payments(age).await? {
            let Ok(failed) = self.conclude(operation, None, None).await? else { continue };
            // A customer who does not answer a challenge (another error) is normal: no warning.
            if let Outcome::PaymentConcluded { error: Some(ProcessingError::TRY_AGAIN), .. } =
                failed.outcome()
            {
                tracing::warn!(
                    operation.id = %operation,
                    "payment recorded as failed: no answer from the acquirer"
                );
            }
        }
        Ok(())
    }
}

/// Converts the result of [`Payments::record`].
fn recorded(written: Result<Result<Answer, Rejection>, StoreError>) -> Result<Answer, NoOutcome> {
    match written {
        Ok(Ok(answer)) => Ok(answer),
        // A job has already recorded the payment as failed. It will be reversed.
        Ok(Err(_)) => Err(NoAnswer.into()),
        // The payment stays pending until a job records it as failed.
        Err(error) => Err(NoOutcome::NotStored(error)),
    }
}
