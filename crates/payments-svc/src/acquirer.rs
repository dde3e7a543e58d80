//! Acquirers: external systems that authorize and move card payments. The only one today is the
//! sandbox of test merchants.

use std::time::Duration;

use jiff::Timestamp;
use tokio::time::timeout;

use crate::domain::{
    AcquirerKey, AcquirerOutcome, Amount, CardDetails, Challenge, ChallengeAnswer, Currency, Id,
    Notification, OutboxEntry, ProcessingError,
};

mod sandbox;

use sandbox::Sandbox;

/// A request to authorize a payment.
#[derive(Debug)]
#[expect(dead_code, reason = "the sandbox reads only the card; a real acquirer needs the rest")]
pub(crate) struct AuthorizationRequest {
    /// A repeat with the same key gets the same answer.
    pub(crate) key: AcquirerKey,
    pub(crate) currency: Currency,
    pub(crate) amount: Amount,
    pub(crate) source: CardSource,
    /// Whether the customer is present and can answer 3-D Secure.
    pub(crate) can_challenge: bool,
}

/// An acquirer's answer to an [`AuthorizationRequest`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AuthorizationResponse {
    /// The payment is decided.
    Outcome(AcquirerOutcome),
    /// The customer must answer 3-D Secure first.
    Challenge {
        /// The acquirer's name for the challenge.
        reference: String,
    },
}

/// The card that pays.
#[derive(Debug)]
pub(crate) enum CardSource {
    /// A card that a customer typed in.
    Card(CardDetails),
    /// A stored card, by the acquirer's reference.
    Reference(String),
}

/// The acquirer did not answer within the timeout. Whether it has done anything is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the acquirer did not answer in time")]
pub(crate) struct NoAnswer;

/// All acquirers. Each call ends within the timeout.
pub(crate) struct Acquirers {
    sandbox: Sandbox,
    timeout: Duration,
}

impl Acquirers {
    /// Test merchants have the sandbox, which answers after `delay` and allows `dispute_due` for
    /// the answer to a dispute. Live merchants have no acquirer: their payments are declined.
    pub(crate) fn new(timeout: Duration, delay: Duration, dispute_due: Duration) -> Self {
        Self { sandbox: Sandbox::new(delay, dispute_due), timeout }
    }

    pub(crate) fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Authorizes an amount on a card.
    pub(crate) async fn authorize(
        &self,
        test: bool,
        authorization: &AuthorizationRequest,
        now: Timestamp,
    ) -> Result<AuthorizationResponse, NoAnswer> {
        if !test {
            let declined = AcquirerOutcome::Declined(ProcessingError::MAY_NOT_CREATE);
            return Ok(AuthorizationResponse::Outcome(declined));
        }
        self.within(self.sandbox.authorize(authorization, now)).await
    }

    /// Continues a payment with the customer's answer to a challenge. Repeats for one pending
    /// payment get the same outcome. Only the sandbox makes challenges, so the payment is that of a
    /// test merchant.
    pub(crate) async fn complete(
        &self,
        operation: Id,
        challenge: &Challenge,
        answer: ChallengeAnswer,
    ) -> Result<AcquirerOutcome, NoAnswer> {
        self.within(self.sandbox.complete(operation, challenge, answer)).await
    }

    /// Checks a card that is to be saved. Authorizes no amount.
    pub(crate) async fn verify(
        &self,
        test: bool,
        card: &CardDetails,
        now: Timestamp,
    ) -> Result<AcquirerOutcome, NoAnswer> {
        if !test {
            return Ok(AcquirerOutcome::Declined(ProcessingError::MAY_NOT_SAVE));
        }
        self.within(self.sandbox.verify(card, now)).await
    }

    /// Sends an outbox entry. The acquirer carries it out once, however often it is sent. Returns
    /// the notifications that it causes, because the sandbox has no other way to deliver them.
    pub(crate) async fn carry_out(
        &self,
        instruction: &OutboxEntry,
        now: Timestamp,
    ) -> Result<Vec<Notification>, NoAnswer> {
        self.within(self.sandbox.carry_out(instruction, now)).await
    }

    async fn within<T>(&self, call: impl Future<Output = T>) -> Result<T, NoAnswer> {
        timeout(self.timeout, call).await.map_err(|_| NoAnswer)
    }
}
