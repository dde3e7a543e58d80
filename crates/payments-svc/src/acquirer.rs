//! Acquirers: external systems that authorize and move card payments. The set is closed: the
//! sandbox of test merchants, and the connectors for live merchants.
//!
//! 1. **No answer is not a refusal.** A call that ends without an answer ([`NoAnswer`]) may have
//!    taken effect. The caller asks later ([`Acquirers::ask`]) or repeats the call with the same
//!    key.
//! 2. **An operation has one key.** The acquirer executes it once, however often it is sent.
//! 3. **A payment keeps its acquirer.** `PAYMENTS_ACQUIRER` chooses for new payments only. Captures,
//!    refunds and voids go to the acquirer that authorized the payment, and a stored card pays
//!    through the acquirer that knows it.

use std::time::Duration;

use jiff::Timestamp;
use payments_domain::{
    AcquirerId, AcquirerName, AcquirerOutcome, Amount, Authorization, Card, CardDetails, CardToken,
    Challenge, ChallengeAnswer, Currency, Descriptor, Id, Notification, OutboxEntry,
    ProcessingError,
};
use tokio::time::timeout;

mod client;
mod http;
mod report;
mod sandbox;
mod signature;
mod stripe;

pub(crate) use http::{Http, HttpConfig, HttpError, HttpSetupError, report as http_report};
pub(crate) use report::{AcquirerFact, Content, Facts, Report, Subject};
pub(crate) use sandbox::Sandbox;
pub(crate) use signature::{SignatureError, SignatureKey};
pub(crate) use stripe::{
    Stripe, StripeConfig, StripeError, StripeSetupError, amount_step as stripe_amount_step,
    authorization as stripe_authorization, report as stripe_report,
};

/// A request to authorize a payment.
#[derive(Debug)]
pub(crate) struct AuthorizationRequest {
    pub(crate) authorization: Authorization,
    pub(crate) merchant: Id,
    pub(crate) currency: Currency,
    /// `None`: only check the card.
    pub(crate) amount: Option<Amount>,
    pub(crate) descriptor: Descriptor,
    pub(crate) source: CardSource,
    /// Whether the customer agrees that the card is kept for later payments.
    pub(crate) keeps_card: bool,
    /// The page where the customer comes back after 3-D Secure. `None`: no customer is present who
    /// could answer.
    pub(crate) return_url: Option<String>,
}

/// The result of preparing a payment at an acquirer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Preparation {
    NotNeeded,
    /// The acquirer has given the authorization this ID. Nothing is authorized yet.
    Authorization(String),
    /// The acquirer does not accept the payment, whatever the card.
    Declined(ProcessingError),
}

/// An acquirer's answer to an [`AuthorizationRequest`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AuthorizationResponse {
    /// The payment is decided.
    Outcome(AcquirerOutcome),
    /// The customer must answer 3-D Secure first.
    Challenge {
        /// See [`Challenge::reference`].
        reference: String,
    },
}

/// The state of an authorization, when the acquirer is asked for it later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AuthorizationState {
    Outcome(AcquirerOutcome),
    /// The customer has not answered 3-D Secure.
    Challenged,
    /// The acquirer has not authorized the payment, and will not: the question closes the key.
    NotDone,
}

/// The card that pays.
#[derive(Debug)]
pub(crate) enum CardSource {
    /// A card that a customer typed in.
    Card(CardDetails),
    /// A card that a customer typed into a field of the acquirer's script.
    Token(CardToken),
    /// A stored card, by the acquirer's reference.
    Reference(String),
}

/// An acquirer's answer to an outbox entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Execution {
    /// The entry is carried out. The sandbox has no other way to deliver the notifications that it
    /// causes.
    Done(Vec<Notification>),
    /// The entry is not carried out, and will not be.
    Refused {
        /// The acquirer's words.
        reason: String,
    },
}

/// How to read facts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FactsQuestion {
    pub(crate) now: Timestamp,
    /// Facts younger than this may still come by a notification. They are left for later.
    pub(crate) min_age: Duration,
    /// The time for an answer to a dispute, if the acquirer gives no deadline.
    pub(crate) due_after: Duration,
}

/// Objects of an acquirer that can change without a request of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ObjectKind {
    Disputes,
    Refunds,
}

impl ObjectKind {
    pub(crate) const ALL: [Self; 2] = [Self::Disputes, Self::Refunds];
}

/// The acquirer gave no valid answer. Whether it has done anything is unknown.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoAnswer {
    #[error("the acquirer did not answer in time")]
    Timeout,
    #[error("the payment is still being decided")]
    Pending,
    #[error("the acquirer of this payment is not configured: set its settings again")]
    NotConfigured,
    #[error(transparent)]
    Http(#[from] HttpError),
    #[error(transparent)]
    Stripe(#[from] StripeError),
}

/// All acquirers. Each call ends within the timeout.
pub(crate) struct Acquirers {
    pub(crate) sandbox: Sandbox,
    pub(crate) http: Option<Http>,
    pub(crate) stripe: Option<Stripe>,
    /// The acquirer of new payments of live merchants. `None`: they are declined.
    pub(crate) live: Option<AcquirerName>,
    pub(crate) timeout: Duration,
}

/// Calls a method of the acquirer with this name, within a number of timeouts.
macro_rules! call {
    ($acquirers:expr, $name:expr, $acquirer:ident => $call:expr) => {
        call!($acquirers, $name, 1, $acquirer => $call)
    };
    ($acquirers:expr, $name:expr, $times:expr, $acquirer:ident => $call:expr) => {
        match $name {
            AcquirerName::Sandbox => {
                let $acquirer = &$acquirers.sandbox;
                $acquirers.within_times($times, $call).await
            }
            AcquirerName::Http => {
                let $acquirer = $acquirers.http.as_ref().ok_or(NoAnswer::NotConfigured)?;
                $acquirers.within_times($times, $call).await
            }
            AcquirerName::Stripe => {
                let $acquirer = $acquirers.stripe.as_ref().ok_or(NoAnswer::NotConfigured)?;
                $acquirers.within_times($times, $call).await
            }
        }
    };
}

impl Acquirers {
    /// The acquirer of new payments. `None`: they are declined.
    pub(crate) fn of_merchant(&self, test: bool) -> Option<AcquirerName> {
        if test { Some(AcquirerName::Sandbox) } else { self.live }
    }

    /// The acquirers that are configured.
    pub(crate) fn names(&self) -> impl Iterator<Item = AcquirerName> {
        AcquirerName::ALL.into_iter().filter(|name| self.is_configured(*name))
    }

    /// The acquirers that report facts without a request. The sandbox reports all in its answers.
    pub(crate) fn reporting(&self) -> impl Iterator<Item = AcquirerName> {
        self.names().filter(|name| *name != AcquirerName::Sandbox)
    }

    /// The acquirers that are not configured.
    pub(crate) fn missing(&self) -> impl Iterator<Item = AcquirerName> {
        AcquirerName::ALL.into_iter().filter(|name| !self.is_configured(*name))
    }

    fn is_configured(&self, name: AcquirerName) -> bool {
        match name {
            AcquirerName::Sandbox => true,
            AcquirerName::Http => self.http.is_some(),
            AcquirerName::Stripe => self.stripe.is_some(),
        }
    }

    /// Amounts of payments are multiples of this, in minor units.
    pub(crate) fn amount_step(name: AcquirerName, currency: Currency) -> i64 {
        match name {
            AcquirerName::Sandbox | AcquirerName::Http => 1,
            AcquirerName::Stripe => stripe_amount_step(currency),
        }
    }

    /// Prepares a payment, before the acquirer is asked to authorize it. Without an answer, nothing
    /// is authorized.
    pub(crate) async fn prepare(
        &self,
        request: &AuthorizationRequest,
    ) -> Result<Preparation, NoAnswer> {
        match (request.authorization.acquirer, &self.stripe) {
            (Some(AcquirerName::Stripe), Some(stripe)) => {
                self.within(stripe.prepare(request)).await
            }
            (Some(AcquirerName::Stripe), None) => Err(NoAnswer::NotConfigured),
            (Some(AcquirerName::Sandbox | AcquirerName::Http) | None, _) => {
                Ok(Preparation::NotNeeded)
            }
        }
    }

    /// Reads the data of a card behind a token. `None` if the acquirer does not know the token.
    pub(crate) async fn card(&self, token: &CardToken) -> Result<Option<Card>, NoAnswer> {
        let stripe = self.stripe.as_ref().ok_or(NoAnswer::NotConfigured)?;
        self.within(stripe.card(token)).await
    }

    /// Authorizes an amount on a card, or checks the card.
    pub(crate) async fn authorize(
        &self,
        request: &AuthorizationRequest,
        now: Timestamp,
    ) -> Result<AuthorizationResponse, NoAnswer> {
        let Some(name) = request.authorization.acquirer else {
            let error = match request.amount {
                Some(_) => ProcessingError::MAY_NOT_CREATE,
                None => ProcessingError::MAY_NOT_SAVE,
            };
            return Ok(AuthorizationResponse::Outcome(AcquirerOutcome::Declined(error)));
        };
        call!(self, name, acquirer => acquirer.authorize(request, now))
    }

    /// Continues a payment after its challenge. Repeats for one payment get the same outcome.
    pub(crate) async fn complete(
        &self,
        challenge: &Challenge,
        answer: ChallengeAnswer,
        now: Timestamp,
    ) -> Result<AuthorizationResponse, NoAnswer> {
        let name = challenge.authorization.acquirer.ok_or(NoAnswer::NotConfigured)?;
        call!(self, name, acquirer => acquirer.complete(challenge, answer, now))
    }

    /// Asks what became of an authorization whose request has ended without an answer.
    pub(crate) async fn ask(
        &self,
        authorization: &Authorization,
        now: Timestamp,
    ) -> Result<AuthorizationState, NoAnswer> {
        // Without an acquirer, nobody was asked to authorize.
        let Some(name) = authorization.acquirer else { return Ok(AuthorizationState::NotDone) };
        call!(self, name, acquirer => acquirer.ask(authorization, now))
    }

    /// Sends an outbox entry. Each file of evidence has the timeout of a request.
    pub(crate) async fn carry_out(
        &self,
        entry: &OutboxEntry,
        now: Timestamp,
    ) -> Result<Execution, NoAnswer> {
        let name = entry.authorization.acquirer.ok_or(NoAnswer::NotConfigured)?;
        let files = entry.evidence.iter().flat_map(|evidence| &evidence.files);
        let times = files.map(|_| 1).sum::<u32>().saturating_add(1);
        call!(self, name, times, acquirer => acquirer.carry_out(entry, now))
    }

    /// Asks what became of an outbox entry that was sent without an answer. `None`: the acquirer has
    /// not carried it out, and will not.
    pub(crate) async fn ask_entry(
        &self,
        entry: &OutboxEntry,
        now: Timestamp,
    ) -> Result<Option<Execution>, NoAnswer> {
        let name = entry.authorization.acquirer.ok_or(NoAnswer::NotConfigured)?;
        call!(self, name, acquirer => acquirer.ask_entry(entry, now))
    }

    /// Reads the facts of an acquirer after this one, or its oldest ones.
    pub(crate) async fn facts(
        &self,
        name: AcquirerName,
        after: Option<&AcquirerId>,
        question: FactsQuestion,
    ) -> Result<Facts, NoAnswer> {
        match name {
            AcquirerName::Sandbox => Ok(Facts::default()),
            AcquirerName::Http => {
                let http = self.http.as_ref().ok_or(NoAnswer::NotConfigured)?;
                self.within(http.facts(after, question)).await
            }
            AcquirerName::Stripe => {
                let stripe = self.stripe.as_ref().ok_or(NoAnswer::NotConfigured)?;
                stripe.facts(after, question, self.timeout).await
            }
        }
    }

    /// The acquirers that forget facts. So the books are compared with their objects, too.
    pub(crate) fn forgetting(&self) -> impl Iterator<Item = AcquirerName> {
        self.stripe.is_some().then_some(AcquirerName::Stripe).into_iter()
    }

    /// Lists objects of an acquirer as facts, the newest first: those older than this one, or the
    /// newest ones.
    pub(crate) async fn objects(
        &self,
        name: AcquirerName,
        kind: ObjectKind,
        after: Option<&AcquirerId>,
        question: FactsQuestion,
    ) -> Result<Facts, NoAnswer> {
        match (name, &self.stripe) {
            (AcquirerName::Stripe, Some(stripe)) => {
                self.within(stripe.objects(kind, after, question)).await
            }
            _ => Err(NoAnswer::NotConfigured),
        }
    }

    /// Whether the acquirer has ended an authorization.
    pub(crate) async fn has_ended(
        &self,
        name: AcquirerName,
        authorization: &str,
    ) -> Result<bool, NoAnswer> {
        match (name, &self.stripe) {
            (AcquirerName::Stripe, Some(stripe)) => {
                self.within(stripe.has_ended(authorization)).await
            }
            _ => Err(NoAnswer::NotConfigured),
        }
    }

    async fn within<T>(
        &self,
        call: impl Future<Output = Result<T, NoAnswer>>,
    ) -> Result<T, NoAnswer> {
        self.within_times(1, call).await
    }

    async fn within_times<T>(
        &self,
        times: u32,
        call: impl Future<Output = Result<T, NoAnswer>>,
    ) -> Result<T, NoAnswer> {
        let limit = self.timeout.saturating_mul(times);
        timeout(limit, call).await.map_err(|_| NoAnswer::Timeout)?
    }
}
