//! Acquirers: somebody else's machines, which hold the customers' money.

use std::time::Duration;

use jiff::Timestamp;
use tokio::time::timeout;

use crate::domain::{
    Amount, CardDetails, Challenge, Consent, Currency, Id, Instruction, Notification,
    ProcessingError, Verdict,
};

mod sandbox;

use sandbox::Sandbox;

/// What an acquirer is asked to reserve.
#[derive(Debug)]
#[expect(dead_code, reason = "the sandbox decides by the card alone; a bank needs the rest, too")]
pub(crate) struct Authorization {
    /// What the acquirer knows the payment by: asked twice under one, it answers the same.
    pub(crate) operation: Id,
    /// The currency.
    pub(crate) currency: Currency,
    /// The amount.
    pub(crate) amount: Amount,
    /// Whose money.
    pub(crate) source: Source,
    /// Whether they can be asked by 3-D Secure, being there.
    pub(crate) can_challenge: bool,
}

/// What an acquirer says to that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Reply {
    /// All it has to say.
    Verdict(Verdict),
    /// The customer has to be asked first.
    Challenge {
        /// What the acquirer knows the challenge by.
        reference: String,
    },
}

/// Whose money is reserved.
#[derive(Debug)]
pub(crate) enum Source {
    /// The holder's of a card that was typed in.
    Card(CardDetails),
    /// The holder's of a card from earlier, by the acquirer's own reference.
    Reference(String),
}

/// The acquirer did not answer: whether it has done anything is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the acquirer did not answer in time")]
pub(crate) struct NoAnswer;

/// The acquirers there are. Each call ends within the time-out.
pub(crate) struct Acquirers {
    sandbox: Sandbox,
    timeout: Duration,
}

impl Acquirers {
    /// The sandbox for test merchants, which takes `delay` to answer and waits for `dispute_due`
    /// for the answer to a dispute, and none for live ones.
    pub(crate) fn new(timeout: Duration, delay: Duration, dispute_due: Duration) -> Self {
        Self { sandbox: Sandbox::new(delay, dispute_due), timeout }
    }

    /// How long a call may take.
    pub(crate) fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Reserves money.
    pub(crate) async fn authorize(
        &self,
        test: bool,
        asked: &Authorization,
        now: Timestamp,
    ) -> Result<Reply, NoAnswer> {
        if !test {
            let declined = Verdict::Declined(ProcessingError::MAY_NOT_CREATE);
            return Ok(Reply::Verdict(declined));
        }
        self.within(self.sandbox.authorize(asked, now)).await
    }

    /// Goes on with a payment as its customer answers the challenge: the same, however often it is
    /// asked under one operation.
    pub(crate) async fn complete(
        &self,
        operation: Id,
        challenge: &Challenge,
        consent: Consent,
    ) -> Result<Verdict, NoAnswer> {
        self.within(self.sandbox.complete(operation, challenge, consent)).await
    }

    /// Looks at a card that is to be kept, and reserves nothing.
    pub(crate) async fn verify(
        &self,
        test: bool,
        card: &CardDetails,
        now: Timestamp,
    ) -> Result<Verdict, NoAnswer> {
        if !test {
            return Ok(Verdict::Declined(ProcessingError::MAY_NOT_SAVE));
        }
        self.within(self.sandbox.verify(card, now)).await
    }

    /// Carries out what was decided about a payment, once. What the acquirer tells of it by itself
    /// comes back: the sandbox has nobody else to tell.
    pub(crate) async fn carry_out(
        &self,
        instruction: &Instruction,
        now: Timestamp,
    ) -> Result<Vec<Notification>, NoAnswer> {
        self.within(self.sandbox.carry_out(instruction, now)).await
    }

    async fn within<T>(&self, call: impl Future<Output = T>) -> Result<T, NoAnswer> {
        timeout(self.timeout, call).await.map_err(|_| NoAnswer)
    }
}
