//! How a payment is made: it is noted, an acquirer is asked, and the outcome is noted. Whatever
//! breaks in between, no money stays reserved that nobody knows of.

use std::sync::Arc;

use super::{
    declines::{Attempt, Origin},
    error::{Error, NoOutcome},
    payments::Payments,
    view::Paid,
};
use crate::{
    acquirer::{Authorization, NoAnswer, Reply, Source},
    domain::{
        Card, CardDetails, Challenge, Consent, Id, Merchant, Payment, ProcessingError, Verdict,
        write::{Action, Answer, Keyed, Outcome, Refusal},
    },
    store::{StoreError, now},
};

/// A payment that is to be made, and what it is made with.
#[derive(Debug)]
pub(crate) struct Charge {
    /// What is kept of it.
    pub(crate) payment: Payment,
    /// What may be kept of the card, once the acquirer has answered.
    pub(crate) card: Card,
    /// Whose money.
    pub(crate) source: Source,
    /// Whether the merchant is one for tests.
    pub(crate) test: bool,
    /// Where it comes from.
    pub(crate) origin: Origin,
}

impl Charge {
    /// With a card that a customer typed in.
    pub(crate) fn typed(
        merchant: &Merchant,
        payment: Payment,
        card: CardDetails,
        origin: Origin,
    ) -> Self {
        let (kept, test) = (card.kept(), merchant.details.test);
        Self { payment, card: kept, source: Source::Card(card), test, origin }
    }
}

impl Payments {
    /// Makes a payment that no customer can be asked about.
    pub(crate) async fn pay(self: &Arc<Self>, charge: Charge) -> Result<Paid, Error> {
        Paid::of(&self.charge(charge, None).await?)
    }

    /// Makes a payment; with an idempotency key, once. It goes on when its caller goes away. Where
    /// the customer has to be asked, it waits for [`Self::respond`].
    pub(crate) async fn charge(
        self: &Arc<Self>,
        charge: Charge,
        keyed: Option<Keyed>,
    ) -> Result<Answer, Error> {
        let permit = self.in_flight.take(1).ok_or(Error::Overloaded)?;
        let Charge { payment, card, source, test, origin } = charge;
        let attempt = Attempt { merchant: payment.merchant, test, origin };
        let admitted = match &source {
            Source::Card(details) => self.declines.admit(attempt, &details.number)?,
            Source::Reference(_) => None,
        };
        let payments = Arc::clone(self);
        let paying = self.under_way.spawn(async move {
            let _permit = permit;
            let (currency, amount) = (payment.currency, payment.amount);
            let action = Action::Begin { payment: Box::new(payment) };
            let operation = match payments.write(action, keyed).await? {
                Answer::Fresh { outcome: Outcome::Begun(operation), .. } => operation,
                replayed => return Ok(replayed),
            };
            let can_challenge = matches!(origin, Origin::Page(_));
            let asked = Authorization { operation, currency, amount, source, can_challenge };
            let reply = payments.acquirers.authorize(test, &asked, now()).await;
            let reply = reply.map_err(NoOutcome::from)?;
            drop(asked);
            if let Reply::Verdict(Verdict::Declined(error)) = reply {
                payments.declines.add(attempt, admitted, error);
            }
            Ok(noted(payments.note(operation, reply, card).await)?)
        });
        paying.await.unwrap_or(Err(StoreError::Panicked.into()))
    }

    async fn note(
        &self,
        operation: Id,
        reply: Reply,
        card: Card,
    ) -> Result<Result<Answer, Refusal>, StoreError> {
        match reply {
            Reply::Verdict(verdict) => self.conclude(operation, Some(verdict), Some(card)).await,
            Reply::Challenge { reference } => {
                let card = Box::new(card);
                self.store.write(Action::Challenge { operation, card, reference }).await
            }
        }
    }

    /// Looks at a card that a customer wants to save. It goes on when its caller goes away.
    pub(super) async fn verify(
        self: &Arc<Self>,
        attempt: Attempt,
        card: CardDetails,
    ) -> Result<Verdict, Error> {
        let permit = self.in_flight.take(1).ok_or(Error::Overloaded)?;
        let admitted = self.declines.admit(attempt, &card.number)?;
        let payments = Arc::clone(self);
        let verifying = self.under_way.spawn(async move {
            let _permit = permit;
            let verdict = payments.acquirers.verify(attempt.test, &card, now()).await;
            let verdict = verdict.map_err(Error::NoAnswer)?;
            if let Verdict::Declined(error) = verdict {
                payments.declines.add(attempt, admitted, error);
            }
            Ok(verdict)
        });
        verifying.await.unwrap_or(Err(StoreError::Panicked.into()))
    }

    /// What the customer of a payment is asked, if they are being asked.
    pub(crate) async fn challenge(&self, operation: Id) -> Result<Option<Challenge>, Error> {
        Ok(self.store.challenge(operation).await?)
    }

    /// Goes on with a payment whose customer was asked. It goes on when its caller goes away. Where
    /// nobody is being asked any more, nothing is done.
    ///
    /// Decision: a challenge that fails counts as a decline of its customer, not of its card, whose
    /// number is no longer known. Only its holder can pass or fail it.
    pub(crate) async fn respond(
        self: &Arc<Self>,
        attempt: Attempt,
        operation: Id,
        consent: Consent,
    ) -> Result<(), Error> {
        let payments = Arc::clone(self);
        let responding = self.under_way.spawn(async move {
            let Some(challenge) = payments.store.challenge(operation).await? else { return Ok(()) };
            let verdict = payments.acquirers.complete(operation, &challenge, consent).await;
            let verdict = verdict.map_err(NoOutcome::from)?;
            // Whoever was faster has said the same: the acquirer answers once.
            let concluded = payments.conclude(operation, Some(verdict), None).await;
            let concluded = concluded.map_err(NoOutcome::NotNoted)?;
            if let Ok(answer) = concluded
                && let Outcome::Paid { error: Some(error), .. } = answer.outcome()
            {
                payments.declines.add(attempt, None, *error);
            }
            Ok(())
        });
        responding.await.unwrap_or(Err(StoreError::Panicked.into()))
    }

    async fn conclude(
        &self,
        operation: Id,
        verdict: Option<Verdict>,
        card: Option<Card>,
    ) -> Result<Result<Answer, Refusal>, StoreError> {
        let card = card.map(Box::new);
        self.store.write(Action::Conclude { operation, verdict, card }).await
    }

    /// Gives up payments that nobody answered: they have failed, and their acquirer will be told.
    pub(crate) async fn give_up(&self) -> Result<(), StoreError> {
        // Whoever asks gives up before.
        let patience = self.acquirers.timeout() * 2;
        for operation in self.store.unanswered(patience).await? {
            let Ok(given_up) = self.conclude(operation, None, None).await? else { continue };
            // That a customer goes away is nothing to warn of.
            if let Outcome::Paid { error: Some(ProcessingError::TRY_AGAIN), .. } =
                given_up.outcome()
            {
                tracing::warn!(operation.id = %operation, "payment without an answer given up");
            }
        }
        Ok(())
    }
}

/// What came of noting what the acquirer said.
fn noted(written: Result<Result<Answer, Refusal>, StoreError>) -> Result<Answer, NoOutcome> {
    match written {
        Ok(Ok(answer)) => Ok(answer),
        // Somebody gave the payment up meanwhile, and lets go of what is reserved.
        Ok(Err(_)) => Err(NoAnswer.into()),
        // It stays as it is until it is given up.
        Err(error) => Err(NoOutcome::NotNoted(error)),
    }
}
