//! A payment in three steps, because it changes two systems and no database transaction spans both:
//!
//! 1. **Begin.** [`BeginPayment`] commits a pending payment and its idempotency key.
//! 2. **Authorize.** The service asks the acquirer to authorize the amount.
//! 3. **Conclude.** [`ConcludePayment`] replaces the pending payment with a transaction,
//!    and stores the outcome for the idempotency key. If the acquirer demands 3-D Secure,
//!    [`ChallengePayment`] comes first, and the customer's answer repeats steps 2 and 3.
//!
//! The goal: after a crash or a timeout at any point, no authorization stays open at the acquirer
//! without a record here. Know these reasons before you change the order:
//!
//! 1. The pending payment is committed before the acquirer is asked. If a later step fails,
//!    [`Payments::settle_unanswered`] finds it, and asks the acquirer what became of it.
//! 2. The acquirer gets an idempotency key, [`AcquirerKey`]: a repeat authorizes no second amount.
//! 3. Card numbers must not reach the disk. So a pending payment contains no card data, and during
//!    3-D Secure only the data that may be stored. No job can therefore send the authorization
//!    again. It can only ask. The question closes the key: if the acquirer has not authorized the
//!    payment by then, it never will.
//! 4. An approval that the job finds counts, if the request had an idempotency key: its caller gets
//!    the outcome by repeating it. Without a key, no caller can get it. The payment has then failed,
//!    and a reversal releases the amount.
//! 5. No database transaction is open during step 2: a slow acquirer holds no lock and no database
//!    connection.
//! 6. The first conclusion counts. A later one finds no pending payment and is refused.
//! 7. The job waits for twice the acquirer's timeout. By then, the request has stopped waiting.
//! 8. The steps run in a separate task, which continues if the caller disconnects. The service
//!    waits for these tasks when it stops ([`Payments::finished`]).
//! 9. A new payment, and the check of a card to save, hold a permit of `in_flight`, because each
//!    keeps a connection while it waits for a slow acquirer. Without a free permit the request
//!    fails before it has written anything. The answer to a challenge takes no permit.
//!
//! See `docs/decisions/payments-in-three-steps.md`.

use std::{collections::HashMap, mem::take, sync::Arc, time::Duration};

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use payments_domain::{
    AcquirerKey, AcquirerName, AcquirerOutcome, Actor, Authorization, Card, CardDetails, CardToken,
    Challenge, ChallengeAnswer, Conclusion, Id, LinkDigest, Merchant, MovementError, Payment,
    ProcessingError, Receipt, ReceiptAddress, UnansweredPayment,
    actions::{
        BeginPayment, ChallengePayment, ConcludePayment, PaymentBegun, PaymentConcluded,
        PreparePayment,
    },
    write::{Answer, KeyedRequest, Rejection},
};
use tokio::{
    sync::Mutex,
    time::{Instant, timeout},
};

use super::{
    declines::{Attempt, Origin},
    error::{Error, NoOutcome},
    once::Written,
    payments::Payments,
};
use crate::{
    acquirer::{
        Acquirers, AuthorizationRequest, AuthorizationResponse, AuthorizationState, CardSource,
        NoAnswer, Preparation,
    },
    store::{StoreError, now},
};

/// Maximum number of questions to one acquirer at the same time.
const QUESTIONS_AT_ONCE: usize = 32;

#[derive(Debug, thiserror::Error)]
#[error("payment {0}")]
struct Unanswered(Id, #[source] NoAnswer);

/// A payment to make, and the card to make it with.
#[derive(Debug)]
pub(crate) struct Charge {
    pub(crate) actor: Actor,
    pub(crate) payment: Payment,
    /// The card data that may be stored, once the acquirer has answered.
    pub(crate) card: Card,
    /// The card as the acquirer needs it.
    pub(crate) source: CardSource,
    /// Whether the customer agrees that the card is kept for later payments.
    pub(crate) keeps_card: bool,
    /// Whether it is a test merchant.
    pub(crate) test: bool,
    pub(crate) origin: Origin,
    /// The payment link, if it pays only once.
    pub(crate) link: Option<LinkDigest>,
    /// The page where the customer comes back after 3-D Secure. `None`: a card that demands 3-D
    /// Secure is declined.
    pub(crate) return_url: Option<String>,
    /// Where the receipt goes, if the payment succeeds.
    pub(crate) receipt: Option<ReceiptAddress>,
}

impl Charge {
    /// A payment with a card that a customer typed in.
    pub(crate) fn typed(
        merchant: &Merchant,
        payment: Payment,
        card: CardDetails,
        origin: Origin,
    ) -> Self {
        let (kept, source) = (card.to_card(), CardSource::Card(card));
        Self::by_customer(merchant, payment, (kept, source), origin)
    }

    /// A payment with a card that a customer typed into a field of the acquirer's script.
    pub(crate) fn tokenized(
        merchant: &Merchant,
        payment: Payment,
        (card, token): (Card, CardToken),
        origin: Origin,
    ) -> Self {
        Self::by_customer(merchant, payment, (card, CardSource::Token(token)), origin)
    }

    fn by_customer(
        merchant: &Merchant,
        payment: Payment,
        (card, source): (Card, CardSource),
        origin: Origin,
    ) -> Self {
        let test = merchant.details.test;
        let (actor, keeps_card) = (Actor::SYSTEM, false);
        let (link, return_url, receipt) = (None, None, None);
        Self { actor, payment, card, source, keeps_card, test, origin, link, return_url, receipt }
    }
}

impl Payments {
    /// The acquirer of new payments of a merchant. `None`: they are declined.
    pub(crate) fn acquirer_of(&self, merchant: &Merchant) -> Option<AcquirerName> {
        self.acquirers
            .of_merchant(merchant.details.test)
            .filter(|_| self.may_take_payments(merchant))
    }

    /// Whether the operator lets the merchant take payments.
    pub(super) fn may_take_payments(&self, merchant: &Merchant) -> bool {
        self.bar(merchant).is_none()
    }

    /// Why the operator does not let the merchant take payments.
    fn bar(&self, Merchant { details, standing, .. }: &Merchant) -> Option<&'static str> {
        let is_approved = standing.approved || details.test || !self.defaults.needs_approval;
        match (is_approved, standing.holds_payments) {
            (_, true) => Some("the merchant is on hold"),
            (false, false) => Some("the merchant is not approved"),
            (true, false) => None,
        }
    }

    /// Why no acquirer is asked for payments of a merchant.
    fn cause(&self, merchant: &Merchant) -> &'static str {
        self.bar(merchant).unwrap_or("no acquirer is configured")
    }

    /// Reads the data of a card behind a token. `None` if the acquirer does not know the token.
    pub(crate) async fn card(&self, token: &CardToken) -> Result<Option<Card>, Error> {
        self.acquirers.card(token).await.map_err(Error::NoAnswer)
    }

    /// Makes a payment without a page to come back to, so a challenge is a decline.
    pub(crate) async fn pay(
        self: &Arc<Self>,
        charge: Charge,
        keyed: Option<KeyedRequest>,
    ) -> Result<Written<PaymentConcluded>, Error> {
        Ok(self.charge(charge, keyed).await?.ok_or(StoreError::Panicked)?)
    }

    /// Makes a payment; with an idempotency key, at most once. Continues if the caller disconnects.
    /// `None` if the acquirer demands 3-D Secure: the payment waits for [`Self::respond`].
    pub(crate) async fn charge(
        self: &Arc<Self>,
        charge: Charge,
        keyed: Option<KeyedRequest>,
    ) -> Result<Option<Written<PaymentConcluded>>, Error> {
        let permit = self.in_flight.take(1).ok_or(Error::Overloaded)?;
        check_amount(&charge.payment)?;
        let Charge { actor, payment, card, source, keeps_card, test, origin, .. } = charge;
        let Charge { link, return_url, receipt, .. } = charge;
        let attempt = Attempt { merchant: payment.merchant, test, origin };
        let number = match &source {
            CardSource::Card(details) => Some(&details.number),
            CardSource::Token(_) | CardSource::Reference(_) => None,
        };
        let admitted = self.declines.admit(attempt, number)?;
        let payments = Arc::clone(self);
        let paying = self.spawn(async move {
            let _permit = permit;
            let (merchant, acquirer) = (payment.merchant, payment.acquirer);
            let (currency, amount) = (payment.currency, Some(payment.amount));
            let descriptor = payment.descriptor.clone();
            let action = BeginPayment { payment: Box::new(payment), link, receipt };
            let request_key = keyed.as_ref().map(KeyedRequest::acquirer_key);
            let pending_payment = match payments.store.write_keyed(actor, action, keyed).await?? {
                Answer::Executed(PaymentBegun(pending_payment)) => pending_payment,
                Answer::Replayed(outcome) => return Written::before(&outcome).map(Some),
            };
            let key = request_key.unwrap_or(AcquirerKey::Id(pending_payment));
            let authorization = Authorization { acquirer, key, id: None };
            let mut request = AuthorizationRequest {
                authorization,
                merchant,
                currency,
                amount,
                descriptor,
                source,
                keeps_card,
                return_url,
            };
            let authorizing = payments.authorize(pending_payment, &mut request);
            let reply = timeout(payments.acquirers.timeout, authorizing).await;
            let reply = reply.unwrap_or_else(|_| Err(NoAnswer::Timeout.into()))?;
            // The card number is not needed for the rest.
            drop(request);
            if let AuthorizationResponse::Outcome(AcquirerOutcome::Declined(error)) = reply {
                let cause = payments.cause_without(acquirer, merchant).await;
                payments.declines.record(attempt, admitted, error, cause);
            }
            let concluded = recorded(payments.record(pending_payment, reply, Some(card)).await)?;
            Ok(concluded.map(Written::now))
        });
        paying.await.unwrap_or(Err(StoreError::Panicked.into()))
    }

    /// Why a payment without an acquirer is declined. `None` if the acquirer was asked.
    async fn cause_without(
        &self,
        acquirer: Option<AcquirerName>,
        merchant: Id,
    ) -> Option<&'static str> {
        if acquirer.is_some() {
            return None;
        }
        Some(self.cause(&self.store.row(&merchant).await.ok()??))
    }

    /// Asks the acquirer to authorize a payment. An acquirer that gives authorizations IDs gives one
    /// first, and it is recorded, so that the job can ask for it.
    async fn authorize(
        &self,
        pending_payment: Id,
        request: &mut AuthorizationRequest,
    ) -> Result<AuthorizationResponse, NoOutcome> {
        match self.acquirers.prepare(request).await? {
            Preparation::NotNeeded => {}
            Preparation::Declined(error) => {
                return Ok(AuthorizationResponse::Outcome(AcquirerOutcome::Declined(error)));
            }
            Preparation::Authorization(id) => {
                let authorization = id.clone();
                let prepare = PreparePayment { pending_payment, authorization };
                recorded(self.store.write(Actor::SYSTEM, prepare).await)?;
                request.authorization.id = Some(id);
            }
        }
        Ok(self.acquirers.authorize(request, now()).await?)
    }

    /// Records the acquirer's answer. Without `card`, a challenge is recorded already. `None` if
    /// the payment waits for the customer.
    async fn record(
        &self,
        pending_payment: Id,
        reply: AuthorizationResponse,
        card: Option<Card>,
    ) -> Result<Result<Option<PaymentConcluded>, Rejection>, StoreError> {
        match (reply, card) {
            (AuthorizationResponse::Outcome(acquirer_outcome), card) => {
                let conclusion = Conclusion::Answered(acquirer_outcome);
                let concluded = self.conclude(pending_payment, conclusion, card).await?;
                Ok(concluded.map(Some))
            }
            (AuthorizationResponse::Challenge { reference }, Some(card)) => {
                let card = Box::new(card);
                let action = ChallengePayment { pending_payment, card, reference };
                Ok(self.store.write(Actor::SYSTEM, action).await?.map(|()| None))
            }
            (AuthorizationResponse::Challenge { .. }, None) => Ok(Ok(None)),
        }
    }

    /// Asks the acquirer to check a card that a customer wants to save. Continues if the caller
    /// disconnects.
    pub(super) async fn verify(
        self: &Arc<Self>,
        merchant: &Merchant,
        origin: Origin,
        card: CardDetails,
    ) -> Result<AcquirerOutcome, Error> {
        let permit = self.in_flight.take(1).ok_or(Error::Overloaded)?;
        let attempt = Attempt { merchant: merchant.id, test: merchant.details.test, origin };
        let admitted = self.declines.admit(attempt, Some(&card.number))?;
        // The check is not stored, so its key is not used again.
        let (acquirer, key) = (self.acquirer_of(merchant), AcquirerKey::Request(rand::random()));
        let request = AuthorizationRequest {
            authorization: Authorization { acquirer, key, id: None },
            merchant: merchant.id,
            currency: merchant.details.currency,
            amount: None,
            descriptor: merchant.details.descriptor.clone(),
            source: CardSource::Card(card),
            keeps_card: true,
            return_url: None,
        };
        let cause = acquirer.is_none().then(|| self.cause(merchant));
        let payments = Arc::clone(self);
        let verifying = self.spawn(async move {
            let _permit = permit;
            let reply = payments.acquirers.authorize(&request, now()).await;
            let acquirer_outcome = match reply.map_err(Error::NoAnswer)? {
                AuthorizationResponse::Outcome(outcome) => outcome,
                // No customer can answer it here.
                AuthorizationResponse::Challenge { .. } => {
                    AcquirerOutcome::Declined(ProcessingError::NEEDS_3D_SECURE)
                }
            };
            if let AcquirerOutcome::Declined(error) = acquirer_outcome {
                payments.declines.record(attempt, admitted, error, cause);
            }
            Ok(acquirer_outcome)
        });
        verifying.await.unwrap_or(Err(StoreError::Panicked.into()))
    }

    /// Returns the open challenge of a payment, if there is one.
    pub(crate) async fn challenge(&self, pending_payment: Id) -> Result<Option<Challenge>, Error> {
        Ok(self.store.challenge(pending_payment).await?)
    }

    /// The receipt of a payment, for the browser that paid.
    pub(crate) async fn receipt(&self, transaction: Id) -> Result<Option<Receipt>, Error> {
        Ok(self.store.receipt(transaction).await?)
    }

    /// Continues a payment with the customer's answer to its challenge. Does nothing if no
    /// challenge is open. If the acquirer still waits for the customer, the challenge stays open.
    /// Continues if the caller disconnects.
    ///
    /// Decision: a failed challenge counts as a decline for the address and the merchant, not for
    /// the card, because the card number is not known at this point. The limit of the card is not
    /// needed here, because only the cardholder can answer a challenge.
    pub(crate) async fn respond(
        self: &Arc<Self>,
        attempt: Attempt,
        pending_payment: Id,
        answer: ChallengeAnswer,
    ) -> Result<(), Error> {
        let payments = Arc::clone(self);
        let responding = self.spawn(async move {
            let Some(challenge) = payments.store.challenge(pending_payment).await? else {
                return Ok(());
            };
            let reply = payments.acquirers.complete(&challenge, answer, now()).await;
            let reply = reply.map_err(NoOutcome::from)?;
            // A concurrent answer may have been faster. Its outcome is the same, because the
            // acquirer decides once for each pending payment.
            let concluded = payments.record(pending_payment, reply, None).await;
            let concluded = concluded.map_err(NoOutcome::NotStored)?;
            if let Ok(Some(PaymentConcluded { error: Some(error), .. })) = concluded {
                payments.declines.record(attempt, None, error, None);
            }
            Ok(())
        });
        responding.await.unwrap_or(Err(StoreError::Panicked.into()))
    }

    async fn conclude(
        &self,
        pending_payment: Id,
        conclusion: Conclusion,
        card: Option<Card>,
    ) -> Result<Result<PaymentConcluded, Rejection>, StoreError> {
        let card = card.map(Box::new);
        let action = ConcludePayment { pending_payment, conclusion, card };
        self.store.write(Actor::SYSTEM, action).await
    }

    /// Asks an acquirer what became of the payments that it or the customer has not answered in
    /// time, and concludes them. If the acquirer does not answer, a payment stays pending.
    pub(crate) async fn settle_unanswered(
        &self,
        acquirer: AcquirerName,
        pauses: &Mutex<Pauses>,
    ) -> Result<(), StoreError> {
        let mut pauses = pauses.lock().await;
        let (before, began) = (take(&mut *pauses), Instant::now());
        // By then, the request that waits for the acquirer has timed out.
        let age = self.acquirers.timeout * 2;
        let mut after = Id::MIN;
        loop {
            let page = self.store.unanswered_payments(age, after).await?;
            let Some(last) = page.last() else { return Ok(()) };
            after = last.id;
            let own = page.into_iter().filter(|unanswered| acquirer_of(unanswered) == acquirer);
            let mut due = Vec::new();
            for unanswered in own {
                match before.get(&unanswered.id) {
                    Some(pause) if pause.until > began => {
                        pauses.insert(unanswered.id, *pause);
                    }
                    _ => due.push(unanswered),
                }
            }
            let mut asked = stream::iter(due)
                .map(async |due| Ok::<_, StoreError>((due.id, self.settle(due).await?)))
                .buffer_unordered(QUESTIONS_AT_ONCE);
            while let Some((id, is_answered)) = asked.try_next().await? {
                if !is_answered {
                    pauses.insert(id, Pause::after(before.get(&id)));
                }
            }
        }
    }

    /// Returns whether the acquirer has answered.
    pub(super) async fn settle(&self, unanswered: UnansweredPayment) -> Result<bool, StoreError> {
        let asking = &self.asking[acquirer_of(&unanswered) as usize];
        let UnansweredPayment { id, authorization } = unanswered;
        let answer = self.acquirers.ask(&authorization, now()).await;
        let answer = answer.map_err(|error| Unanswered(id, error));
        let conclusion = match asking.observe(answer) {
            Some(AuthorizationState::Outcome(acquirer_outcome)) => {
                Conclusion::Found(acquirer_outcome)
            }
            Some(AuthorizationState::Challenged) => Conclusion::Abandoned,
            Some(AuthorizationState::NotDone) => Conclusion::NotDone,
            None => return Ok(false),
        };
        // Rejected if the request was faster after all.
        let Ok(settled) = self.conclude(id, conclusion, None).await? else { return Ok(true) };
        // A customer who does not answer a challenge (another error) is normal: no warning.
        if settled.error == Some(ProcessingError::TRY_AGAIN) {
            tracing::warn!(
                payment.id = %id,
                "payment recorded as failed: no answer from the acquirer"
            );
        }
        Ok(true)
    }
}

/// The payments that an acquirer was asked for without an answer, which can be one that says too many
/// requests.
pub(crate) type Pauses = HashMap<Id, Pause>;

#[derive(Clone, Copy)]
pub(crate) struct Pause {
    length: Duration,
    until: Instant,
}

impl Pause {
    const FIRST: Duration = Duration::from_secs(1);

    const MAX: Duration = Duration::from_mins(1);

    fn after(last: Option<&Self>) -> Self {
        let length = last.map_or(Self::FIRST, |last| (last.length * 2).min(Self::MAX));
        Self { length, until: Instant::now() + length }
    }
}

/// A payment without an acquirer belongs to the sandbox.
fn acquirer_of(payment: &UnansweredPayment) -> AcquirerName {
    payment.authorization.acquirer.unwrap_or(AcquirerName::Sandbox)
}

/// Refuses an amount that the acquirer never moves, before it is asked.
fn check_amount(payment: &Payment) -> Result<(), Error> {
    let step = payment.acquirer.map_or(1, |name| Acquirers::amount_step(name, payment.currency));
    match payment.amount.minor().checked_rem(step) {
        Some(0) => Ok(()),
        _ => Err(Error::field("amount", MovementError::NotAMultiple(step))),
    }
}

/// Converts the result of a write for a pending payment.
fn recorded<T>(written: Result<Result<T, Rejection>, StoreError>) -> Result<T, NoOutcome> {
    match written {
        Ok(Ok(outcome)) => Ok(outcome),
        // The job was faster. The caller gets the outcome by a repeat.
        Ok(Err(_)) => Err(NoAnswer::Timeout.into()),
        // The payment stays pending until the job settles it.
        Err(error) => Err(NoOutcome::NotStored(error)),
    }
}
