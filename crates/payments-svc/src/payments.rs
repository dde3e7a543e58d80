//! How a payment is made: it is noted, an acquirer is asked, and the outcome is noted. Whatever
//! breaks in between, no money stays reserved that nobody knows of.

use std::{sync::Arc, time::Duration};

use jiff::Timestamp;
use tokio_util::task::TaskTracker;

use crate::{
    acquirer::{Acquirers, Authorization, NoAnswer, Reply, Source},
    domain::{Card, Challenge, Consent, Id, Payment, ProcessingError, Verdict},
    store::{Answer, Keyed, Outcome, Refusal, Store, StoreError, Write, now},
};

/// How long a customer may take to answer a challenge.
const CHALLENGE: Duration = Duration::from_secs(15 * 60);

/// Why a payment has no outcome.
#[derive(Debug, thiserror::Error)]
pub enum PayError {
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
    /// Whether the customer is there to be asked by 3-D Secure.
    pub can_challenge: bool,
}

/// Makes payments.
#[derive(Clone)]
pub struct Payments {
    store: Store,
    acquirers: Arc<Acquirers>,
    under_way: TaskTracker,
}

impl Payments {
    /// Payments over these acquirers.
    pub fn new(store: Store, acquirers: Arc<Acquirers>) -> Self {
        Self { store, acquirers, under_way: TaskTracker::new() }
    }

    /// Makes a payment; with an idempotency key, once. It goes on when its caller goes away. Where
    /// the customer has to be asked, it waits for [`Self::respond`].
    pub async fn pay(&self, charge: Charge, keyed: Option<Keyed>) -> Result<Outcome, PayError> {
        let payments = self.clone();
        let Charge { payment, card, source, test, can_challenge } = charge;
        let paying = self.under_way.spawn(async move {
            let (currency, amount) = (payment.currency, payment.amount);
            let write = Write::Begin { payment: Box::new(payment) };
            let operation = match payments.store.write(write, keyed, now()).await?? {
                Outcome::Fresh(Answer::Begun(operation)) => operation,
                replayed => return Ok(replayed),
            };
            let asked = Authorization { operation, currency, amount, source, can_challenge };
            payments.finish(asked, card, test).await
        });
        paying.await.unwrap_or(Err(StoreError::Panicked.into()))
    }

    async fn finish(
        &self,
        asked: Authorization,
        card: Card,
        test: bool,
    ) -> Result<Outcome, PayError> {
        let operation = asked.operation;
        let reply = self.acquirers.authorize(test, &asked, now()).await?;
        drop(asked);
        noted(match reply {
            Reply::Verdict(verdict) => self.conclude(operation, Some(verdict), Some(card)).await,
            Reply::Challenge { reference } => {
                let until = now().checked_add(CHALLENGE).unwrap_or(Timestamp::MAX);
                let challenge = Box::new(Challenge { card, reference, until });
                self.store.write(Write::Challenge { operation, challenge }, None, now()).await
            }
        })
    }

    /// Goes on with a payment whose customer was asked. It goes on when its caller goes away. Where
    /// nobody is being asked any more, nothing is done.
    pub async fn respond(&self, operation: Id, consent: Consent) -> Result<(), PayError> {
        let payments = self.clone();
        let responding = self.under_way.spawn(async move {
            let Some(challenge) = payments.store.challenge(operation).await? else { return Ok(()) };
            let verdict = payments.acquirers.complete(operation, &challenge, consent).await?;
            // Whoever was faster has said the same: the acquirer answers once.
            let concluded = payments.conclude(operation, Some(verdict), None).await;
            concluded.map(drop).map_err(PayError::NotNoted)
        });
        responding.await.unwrap_or(Err(StoreError::Panicked.into()))
    }

    async fn conclude(
        &self,
        operation: Id,
        verdict: Option<Verdict>,
        card: Option<Card>,
    ) -> Result<Result<Outcome, Refusal>, StoreError> {
        let card = card.map(Box::new);
        let write = Write::Conclude { operation, verdict, card };
        self.store.write(write, None, now()).await
    }

    /// Gives up payments that nobody answered: they have failed, and their acquirer will be told.
    pub async fn give_up(&self, now: Timestamp) -> Result<(), StoreError> {
        // Whoever asks gives up before.
        let patience = self.acquirers.timeout() * 2;
        let until = now.checked_sub(patience).unwrap_or(Timestamp::UNIX_EPOCH);
        for operation in self.store.unanswered(until, now).await? {
            let given_up = self.conclude(operation, None, None).await?;
            let Ok(Outcome::Fresh(Answer::Concluded { error, .. })) = given_up else { continue };
            // That a customer goes away is nothing to warn of.
            if error == Some(ProcessingError::TRY_AGAIN) {
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
fn noted(written: Result<Result<Outcome, Refusal>, StoreError>) -> Result<Outcome, PayError> {
    match written {
        Ok(Ok(outcome)) => Ok(outcome),
        // Somebody gave the payment up meanwhile, and lets go of what is reserved.
        Ok(Err(_)) => Err(NoAnswer.into()),
        // It stays as it is until it is given up.
        Err(error) => Err(PayError::NotNoted(error)),
    }
}
