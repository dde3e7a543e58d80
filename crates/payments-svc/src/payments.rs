//! How a payment is made: it is noted, an acquirer is asked, and the outcome is noted. Whatever
//! breaks in between, no money stays reserved that nobody knows of.

use std::{sync::Arc, time::Duration};

use common::limits::{Budget, Refused};
use jiff::Timestamp;
use tokio_util::task::TaskTracker;

use crate::{
    acquirer::{Acquirers, Authorization, NoAnswer, Reply, Source},
    domain::{
        Card, CardDetails, Challenge, Consent, Id, Payment, ProcessingError, Verdict,
        write::{Action, Answer, Keyed, Outcome, Refusal, Write},
    },
    store::{Store, StoreError, now},
};

mod attempt;

pub use attempt::{Attempt, Declines, Origin};

/// How long a customer may take to answer a challenge.
const CHALLENGE: Duration = Duration::from_secs(15 * 60);

/// Why a payment has no outcome.
#[derive(Debug, thiserror::Error)]
pub enum PayError {
    /// Too many attempts were declined. Nothing was begun.
    #[error(transparent)]
    RateLimited(#[from] Refused),
    /// It was not begun.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The acquirer did not answer. What it may have reserved will be let go.
    #[error(transparent)]
    NoAnswer(#[from] NoAnswer),
    /// Its answer could not be noted. What it may have reserved will be let go.
    #[error("the answer of the acquirer could not be noted")]
    NotNoted(#[source] StoreError),
}

/// Why a card was not verified.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// Too many attempts were declined.
    #[error(transparent)]
    RateLimited(#[from] Refused),
    /// The acquirer did not answer.
    #[error(transparent)]
    NoAnswer(#[from] NoAnswer),
    /// Too many payments wait for acquirers.
    #[error("too much is waiting")]
    Overloaded,
    /// There is a defect in the service.
    #[error("the verification panicked")]
    Panicked,
}

/// A payment that is to be made, and what it is made with.
#[derive(Debug)]
pub struct Charge {
    /// What is kept of it.
    pub payment: Payment,
    /// What may be kept of the card, once the acquirer has answered.
    pub card: Card,
    /// Whose money.
    pub source: Source,
    /// Whether the merchant is one for tests.
    pub test: bool,
    /// Where it comes from.
    pub origin: Origin,
}

/// Makes payments.
#[derive(Clone)]
pub struct Payments {
    store: Store,
    acquirers: Arc<Acquirers>,
    declines: Declines,
    in_flight: Arc<Budget>,
    under_way: TaskTracker,
}

impl Payments {
    /// Payments over these acquirers.
    /// At most so many as `in_flight` allows wait for an acquirer at once: each keeps a connection.
    pub fn new(
        store: Store,
        acquirers: Arc<Acquirers>,
        declines: Declines,
        in_flight: Arc<Budget>,
    ) -> Self {
        Self { store, acquirers, declines, in_flight, under_way: TaskTracker::new() }
    }

    /// Makes a payment; with an idempotency key, once. It goes on when its caller goes away. Where
    /// the customer has to be asked, it waits for [`Self::respond`].
    pub async fn pay(&self, charge: Charge, keyed: Option<Keyed>) -> Result<Answer, PayError> {
        let permit = self.in_flight.take(1).ok_or(StoreError::Overloaded)?;
        let payments = self.clone();
        let Charge { payment, card, source, test, origin } = charge;
        let attempt = Attempt { merchant: payment.merchant, test, origin };
        let admitted = match &source {
            Source::Card(details) => self.declines.admit(attempt, &details.number)?,
            Source::Reference(_) => None,
        };
        let paying = self.under_way.spawn(async move {
            let _permit = permit;
            let (currency, amount) = (payment.currency, payment.amount);
            let action = Action::Begin { payment: Box::new(payment) };
            let operation = match payments.store.write(Write { action, keyed }).await?? {
                Answer::Fresh { outcome: Outcome::Begun(operation), .. } => operation,
                replayed => return Ok(replayed),
            };
            let can_challenge = matches!(origin, Origin::Page(_));
            let asked = Authorization { operation, currency, amount, source, can_challenge };
            let reply = payments.acquirers.authorize(test, &asked, now()).await?;
            drop(asked);
            if let Reply::Verdict(Verdict::Declined(error)) = reply {
                payments.declines.add(attempt, admitted, error);
            }
            noted(payments.note(operation, reply, card).await)
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
                let until = now().checked_add(CHALLENGE).unwrap_or(Timestamp::MAX);
                let challenge = Box::new(Challenge { card, reference, until });
                self.store.write(Action::Challenge { operation, challenge }).await
            }
        }
    }

    /// Looks at a card that a customer wants to save. It goes on when its caller goes away.
    pub async fn verify(
        &self,
        attempt: Attempt,
        card: CardDetails,
    ) -> Result<Verdict, VerifyError> {
        let permit = self.in_flight.take(1).ok_or(VerifyError::Overloaded)?;
        let admitted = self.declines.admit(attempt, &card.number)?;
        let payments = self.clone();
        let verifying = self.under_way.spawn(async move {
            let _permit = permit;
            let verdict = payments.acquirers.verify(attempt.test, &card, now()).await?;
            if let Verdict::Declined(error) = verdict {
                payments.declines.add(attempt, admitted, error);
            }
            Ok(verdict)
        });
        verifying.await.unwrap_or(Err(VerifyError::Panicked))
    }

    /// Goes on with a payment whose customer was asked. It goes on when its caller goes away. Where
    /// nobody is being asked any more, nothing is done.
    ///
    /// Decision: a challenge that fails counts as a decline of its customer, not of its card, whose
    /// number is no longer known. Only its holder can pass or fail it.
    pub async fn respond(
        &self,
        attempt: Attempt,
        operation: Id,
        consent: Consent,
    ) -> Result<(), PayError> {
        let payments = self.clone();
        let responding = self.under_way.spawn(async move {
            let Some(challenge) = payments.store.challenge(operation).await? else { return Ok(()) };
            let verdict = payments.acquirers.complete(operation, &challenge, consent).await?;
            // Whoever was faster has said the same: the acquirer answers once.
            let concluded = payments.conclude(operation, Some(verdict), None).await;
            let concluded = concluded.map_err(PayError::NotNoted)?;
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
    pub async fn give_up(&self) -> Result<(), StoreError> {
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

    /// Waits until no payment is under way.
    pub async fn finished(&self) {
        self.under_way.close();
        self.under_way.wait().await;
    }
}

/// What came of noting what the acquirer said.
fn noted(written: Result<Result<Answer, Refusal>, StoreError>) -> Result<Answer, PayError> {
    match written {
        Ok(Ok(answer)) => Ok(answer),
        // Somebody gave the payment up meanwhile, and lets go of what is reserved.
        Ok(Err(_)) => Err(NoAnswer.into()),
        // It stays as it is until it is given up.
        Err(error) => Err(PayError::NotNoted(error)),
    }
}
