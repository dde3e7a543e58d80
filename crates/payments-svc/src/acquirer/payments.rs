//! How a payment is made: it is noted, an acquirer is asked, and the outcome is noted. Whatever
//! breaks in between, no money stays reserved that nobody knows of.

use std::{sync::Arc, time::Duration};

use jiff::Timestamp;
use tokio::time::{Instant, sleep};
use tokio_util::task::TaskTracker;

use super::{Acquirers, Authorization, NoAnswer, Source};
use crate::{
    domain::{Card, Id, Payment, ProcessingError, Verdict},
    store::{Answer, Keyed, MakeReceipt, Outcome, Refusal, Store, StoreError, Write, now},
};

/// How long a request waits for one with the same idempotency key.
const IN_FLIGHT_WAIT: Duration = Duration::from_secs(5);

/// How often it looks.
const IN_FLIGHT_POLL: Duration = Duration::from_millis(50);

/// Why a payment has no outcome.
#[derive(Debug, thiserror::Error)]
pub enum PayError {
    /// It was not begun.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The acquirer did not answer. What it may have reserved will be given up.
    #[error(transparent)]
    NoAnswer(#[from] NoAnswer),
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
}

/// Makes payments.
#[derive(Clone)]
pub struct Payments {
    store: Store,
    acquirers: Arc<Acquirers>,
    receipt: MakeReceipt,
    under_way: TaskTracker,
}

impl Payments {
    /// Payments over these acquirers; `receipt` is what their clients are told.
    pub fn new(store: Store, acquirers: Arc<Acquirers>, receipt: MakeReceipt) -> Self {
        Self { store, acquirers, receipt, under_way: TaskTracker::new() }
    }

    /// Makes a payment; with an idempotency key, once. It goes on when its caller goes away.
    pub async fn pay(&self, charge: Charge, keyed: Option<Keyed>) -> Result<Outcome, PayError> {
        let payments = self.clone();
        let Charge { payment, card, source, test } = charge;
        let paying = self.under_way.spawn(async move {
            let (currency, amount) = (payment.currency, payment.amount);
            let operation = match payments.begin(payment, keyed).await? {
                Outcome::Fresh(Answer::Begun(operation)) => operation,
                replayed => return Ok(replayed),
            };
            let asked = Authorization { operation, currency, amount, source };
            payments.finish(asked, card, test).await
        });
        paying.await.unwrap_or(Err(StoreError::Panicked.into()))
    }

    /// Notes the payment. Waits for one with the same key, whose answer is this one's, too.
    async fn begin(&self, payment: Payment, keyed: Option<Keyed>) -> Result<Outcome, PayError> {
        let deadline = Instant::now() + IN_FLIGHT_WAIT;
        let payment = Box::new(payment);
        loop {
            let write = Write::Begin { payment: payment.clone() };
            match self.store.write(write, keyed.clone(), now()).await? {
                Err(Refusal::InFlight) if Instant::now() < deadline => sleep(IN_FLIGHT_POLL).await,
                outcome => return Ok(outcome?),
            }
        }
    }

    async fn finish(
        &self,
        asked: Authorization,
        card: Card,
        test: bool,
    ) -> Result<Outcome, PayError> {
        let operation = asked.operation;
        let verdict = self.acquirers.authorize(test, &asked, now()).await?;
        drop(asked);
        let outcome = self.conclude(operation, verdict.clone(), Some(card)).await?;
        if let (Err(Refusal::NotFound), Verdict::Approved { .. }) = (&outcome, verdict) {
            // Somebody gave the payment up meanwhile.
            self.acquirers.reverse(test, operation).await?;
            return Err(NoAnswer.into());
        }
        Ok(outcome?)
    }

    async fn conclude(
        &self,
        operation: Id,
        verdict: Verdict,
        card: Option<Card>,
    ) -> Result<Result<Outcome, Refusal>, StoreError> {
        let card = card.map(Box::new);
        let write = Write::Conclude { operation, verdict, card, receipt: self.receipt };
        self.store.write(write, None, now()).await
    }

    /// Gives up payments that nobody answered: their acquirer is told, and they have failed.
    pub async fn give_up(&self, now: Timestamp) -> Result<(), PayError> {
        // Whoever asks gives up before.
        let patience = self.acquirers.timeout() * 2;
        let until = now.checked_sub(patience).unwrap_or(Timestamp::UNIX_EPOCH);
        for (operation, test) in self.store.unanswered(until).await? {
            self.acquirers.reverse(test, operation).await?;
            let verdict = Verdict::Declined(ProcessingError::TRY_AGAIN);
            let outcome = self.conclude(operation, verdict, None).await?;
            if outcome.is_ok() {
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
