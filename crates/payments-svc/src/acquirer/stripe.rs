//! The connector to [Stripe](https://docs.stripe.com/api). A payment is a PaymentIntent.
//!
//! 1. **The PaymentIntent comes before the card.** [`Stripe::prepare`] creates it without a card, and
//!    the service stores its ID. [`Stripe::authorize`] confirms it with the card. So the service can
//!    always ask for the outcome by the ID.
//! 2. **A payment is authorized once.** The idempotency key of the payment creates one PaymentIntent,
//!    and Stripe confirms, captures and cancels a PaymentIntent once. These three need no
//!    idempotency key: for a key, Stripe repeats even an error of its own. One of several captures
//!    needs one, because Stripe would capture again.
//! 3. **Stripe forgets idempotency keys after a day**, and a job repeats refunds and captures for
//!    longer. So each carries its key as metadata, and the connector looks for it before it repeats
//!    what Stripe would do again.
//! 4. **A failure is often over soon.** So the connector repeats a request while its caller waits.
//!    If Stripe may have done the work, the connector looks for it first: a PaymentIntent and a
//!    refund by the key in their metadata, everything else in the PaymentIntent.
//! 5. The memory of a form with a card number is overwritten after use.

use common::{config::SecretError, tls::TlsError};
use jiff::Timestamp;
use reqwest::{StatusCode, Url, header::HeaderValue};
use serde::de::DeserializeOwned;
use tokio::sync::watch::Receiver;

use super::{
    AuthorizationRequest, AuthorizationResponse, AuthorizationState, CardSource, Execution,
    NoAnswer, Preparation, report::Forgotten,
};

mod amount;
mod client;
mod declines;
mod dispute;
mod event;
mod facts;
mod objects;
mod payment_intent;

pub(crate) use amount::amount_step;
use amount::stripe_units;
use client::{Client, Form, nothing};
pub(crate) use client::{StripeError, authorization};
pub(crate) use event::report;
use payment_intent::{
    Created, List, Made, PaymentIntent, PaymentMethod, Refund, SetupIntent, SetupStatus, Status,
};
use payments_domain::{
    AcquirerOutcome, Authorization, Capabilities, Card, CardDetails, CardToken, Challenge,
    ChallengeAnswer, Currency, Descriptor, OutboxEntry, OutboxKind, ProcessingError, ThreeDSecure,
};

/// The code of a refusal, because the state of the PaymentIntent does not allow the request.
const UNEXPECTED_STATE: &str = "payment_intent_unexpected_state";

/// Stripe accepts 22 characters for its prefix, an asterisk, a space and this text. The prefix has
/// at most ten.
const MAX_DESCRIPTOR: usize = 10;

/// The newest objects, among which that of a repeated request is found: as many as Stripe lists.
const NEWEST: u8 = 100;

pub(crate) struct StripeConfig {
    /// The URL of Stripe's API.
    pub(crate) url: Url,
    /// The URL of Stripe's host for files.
    pub(crate) files_url: Url,
    /// The header with the key.
    pub(crate) authorization: Receiver<HeaderValue>,
}

/// Why the connector cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StripeSetupError {
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error("the HTTP client for Stripe cannot be made: {0}")]
    Client(#[from] reqwest::Error),
    #[error(transparent)]
    Secret(#[from] SecretError),
    #[error("PAYMENTS_STRIPE_KEY is not a key: it must be printable ASCII")]
    Key,
}

pub(crate) struct Stripe {
    client: Client,
    forgotten: Forgotten,
}

impl Stripe {
    pub(crate) fn new(config: StripeConfig) -> Result<Self, StripeSetupError> {
        Ok(Self { client: Client::new(config)?, forgotten: Forgotten::default() })
    }

    /// Creates a PaymentIntent without a card, which is harmless if its ID gets lost.
    pub(super) async fn prepare(
        &self,
        request: &AuthorizationRequest,
    ) -> Result<Preparation, NoAnswer> {
        let Some(amount) = request.amount else { return Ok(Preparation::NotNeeded) };
        let amount = in_units(request.currency, amount.minor());
        let Some(amount) = amount else {
            return Ok(Preparation::Declined(ProcessingError::REJECTED));
        };
        match self.create(request, amount).await {
            Ok(Created { id }) => Ok(Preparation::Authorization(id)),
            Err(error) => Ok(Preparation::Declined(declined(error)?)),
        }
    }

    async fn create(
        &self,
        request: &AuthorizationRequest,
        amount: i64,
    ) -> Result<Created, StripeError> {
        let key = request.authorization.key.to_string();
        let form = Form::new()
            .with("amount", &amount.to_string())
            .with("currency", &request.currency.code().to_ascii_lowercase())
            .with("capture_method", "manual")
            .with("payment_method_types[]", "card")
            .with("payment_method_options[card][request_multicapture]", "if_available")
            .with("metadata[operation]", &key)
            .with("metadata[merchant]", &request.merchant.to_string());
        let form = match &request.source {
            CardSource::Card(_) | CardSource::Token(_) if request.keeps_card => form
                .with("customer", &self.create_customer(&key).await?)
                .with("payment_method_options[card][setup_future_usage]", "off_session"),
            CardSource::Card(_) | CardSource::Token(_) => form,
            CardSource::Reference(reference) => {
                let (customer, _) = parse(reference)?;
                form.with("customer", customer)
            }
        };
        let form = with_suffix(form, Some(&request.descriptor));
        let path = "v1/payment_intents";
        self.client.post(path, form, Some(&key), || self.find(path, "", &key)).await
    }

    /// A customer holds the card for later payments.
    async fn create_customer(&self, key: &str) -> Result<String, StripeError> {
        let (form, key) = (Form::new().with("metadata[operation]", key), format!("{key}-customer"));
        let Created { id } = self.client.post("v1/customers", form, Some(&key), nothing).await?;
        Ok(id)
    }

    pub(super) async fn authorize(
        &self,
        request: &AuthorizationRequest,
        _: Timestamp,
    ) -> Result<AuthorizationResponse, NoAnswer> {
        // Only the check of a card has no PaymentIntent.
        let Some(id) = &request.authorization.id else {
            let outcome = match self.check_card(request).await {
                Ok(outcome) => outcome,
                Err(error) => AcquirerOutcome::Declined(declined(error)?),
            };
            return Ok(AuthorizationResponse::Outcome(outcome));
        };
        let mut form = with_source(expanded(), &request.source)?;
        if let Some(url) = &request.return_url {
            form = form.with("return_url", url);
        }
        let find = || self.find_intent(id, PaymentIntent::is_confirmed);
        let confirmed = match self.client.post(&intent(id, "/confirm"), form, None, find).await {
            // A repeat of a request that the database has forgotten in a failover.
            Err(StripeError::Refused(refusal)) if refusal.code == UNEXPECTED_STATE => {
                self.payment_intent(id).await?
            }
            Err(error) => {
                let declined = AcquirerOutcome::Declined(declined(error)?);
                return Ok(AuthorizationResponse::Outcome(declined));
            }
            Ok(confirmed) => confirmed,
        };
        let can_challenge = request.return_url.is_some();
        self.response(id, &confirmed, can_challenge, ProcessingError::TRY_AGAIN).await
    }

    /// Checks a card, so that later payments can use it.
    async fn check_card(
        &self,
        request: &AuthorizationRequest,
    ) -> Result<AcquirerOutcome, StripeError> {
        let customer = self.create_customer(&request.authorization.key.to_string()).await?;
        let form = Form::new()
            .with("customer", &customer)
            .with("confirm", "true")
            .with("usage", "off_session")
            .with("payment_method_types[]", "card");
        let form = with_source(form, &request.source)?;
        Ok(match self.client.post("v1/setup_intents", form, None, nothing).await? {
            SetupIntent { status: SetupStatus::Succeeded, payment_method: Some(card) } => {
                let reference = Some(format!("{customer}/{card}"));
                let (tds, capabilities) = (ThreeDSecure::None, Capabilities::default());
                AcquirerOutcome::Approved { reference, tds, capabilities }
            }
            SetupIntent { status: SetupStatus::RequiresAction, .. } => {
                AcquirerOutcome::Declined(ProcessingError::NEEDS_3D_SECURE)
            }
            SetupIntent { .. } => return Err(StripeError::Malformed),
        })
    }

    pub(super) async fn card(&self, token: &CardToken) -> Result<Option<Card>, NoAnswer> {
        match self.client.get(&format!("v1/payment_methods/{}", token.as_str())).await {
            Ok(PaymentMethod { card }) => Ok(Some(card.ok_or(StripeError::Malformed)?.read()?)),
            Err(StripeError::Status(StatusCode::NOT_FOUND, _)) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    pub(super) async fn complete(
        &self,
        challenge: &Challenge,
        _: ChallengeAnswer,
        _: Timestamp,
    ) -> Result<AuthorizationResponse, NoAnswer> {
        let id = challenge.authorization.id.as_ref().ok_or(StripeError::Malformed)?;
        let found = self.payment_intent(id).await?;
        self.response(id, &found, true, ProcessingError::FAILED_3D_SECURE).await
    }

    /// `undone`: why the payment failed, if Stripe has neither authorized nor declined it.
    async fn response(
        &self,
        id: &str,
        found: &PaymentIntent,
        can_challenge: bool,
        undone: ProcessingError,
    ) -> Result<AuthorizationResponse, NoAnswer> {
        let declined = |error| AuthorizationResponse::Outcome(AcquirerOutcome::Declined(error));
        if let Some(outcome) = found.outcome()? {
            return Ok(AuthorizationResponse::Outcome(outcome));
        }
        if found.status != Status::RequiresAction {
            return Ok(declined(undone));
        }
        match found.challenge_url().filter(|url| can_challenge && self.client.is_safe(url)) {
            Some(url) => Ok(AuthorizationResponse::Challenge { reference: url.to_owned() }),
            None => {
                let _canceled = self.cancel(id).await?;
                Ok(declined(ProcessingError::NEEDS_3D_SECURE))
            }
        }
    }

    /// Asks for the PaymentIntent. One without an outcome is canceled, so that it never gets one.
    pub(super) async fn ask(
        &self,
        authorization: &Authorization,
        _: Timestamp,
    ) -> Result<AuthorizationState, NoAnswer> {
        // Without an ID, no PaymentIntent was confirmed.
        let Some(id) = &authorization.id else { return Ok(AuthorizationState::NotDone) };
        let found = self.payment_intent(id).await?;
        let found = match found.status {
            Status::RequiresPaymentMethod | Status::RequiresConfirmation => self.cancel(id).await?,
            _ => found,
        };
        Ok(match found.outcome()? {
            Some(outcome) => AuthorizationState::Outcome(outcome),
            None if found.status == Status::RequiresAction => AuthorizationState::Challenged,
            None => AuthorizationState::NotDone,
        })
    }

    pub(super) async fn carry_out(
        &self,
        entry: &OutboxEntry,
        _: Timestamp,
    ) -> Result<Execution, NoAnswer> {
        // Without a PaymentIntent, nothing is authorized.
        let Some(id) = &entry.authorization.id else { return Ok(Execution::Done(Vec::new())) };
        let key = entry.key.to_string();
        let amount = in_units(entry.currency, entry.amount).ok_or(StripeError::Malformed)?;
        let done = match entry.kind {
            OutboxKind::Capture => self.capture(id, amount, entry, &key).await,
            OutboxKind::Refund => return self.refund(id, amount, &key).await,
            OutboxKind::Evidence | OutboxKind::Acceptance => self.answer(entry, &key).await,
            OutboxKind::Void if !entry.is_last => Ok(()),
            OutboxKind::Void | OutboxKind::Reverse => self.release(id).await,
        };
        match done {
            Ok(()) => Ok(Execution::Done(Vec::new())),
            Err(StripeError::Refused(refusal)) => {
                Ok(Execution::Refused { reason: refusal.message })
            }
            Err(error) => Err(error.into()),
        }
    }

    pub(super) async fn ask_entry(
        &self,
        entry: &OutboxEntry,
        _: Timestamp,
    ) -> Result<Option<Execution>, NoAnswer> {
        let Some(id) = &entry.authorization.id else {
            return Ok(Some(Execution::Done(Vec::new())));
        };
        let key = entry.key.to_string();
        let is_done = match entry.kind {
            OutboxKind::Capture => self.payment_intent(id).await?.is_captured_by(&key),
            OutboxKind::Refund => {
                return Ok(self.find_refund(id, &key).await?.map(executed));
            }
            OutboxKind::Evidence | OutboxKind::Acceptance => {
                self.find_answer(entry, &key).await?.is_some()
            }
            OutboxKind::Void if !entry.is_last => true,
            OutboxKind::Void | OutboxKind::Reverse => self.payment_intent(id).await?.is_released(),
        };
        Ok(is_done.then(|| Execution::Done(Vec::new())))
    }

    /// Captures an amount. Stripe releases the rest, unless more captures may follow.
    async fn capture(
        &self,
        id: &str,
        amount: i64,
        entry: &OutboxEntry,
        key: &str,
    ) -> Result<(), StripeError> {
        let form = expanded()
            .with("amount_to_capture", &amount.to_string())
            .with("metadata[capture]", key);
        let mut form = with_suffix(form, entry.descriptor.as_ref());
        let find = || self.find_intent(id, |found| found.is_captured_by(key));
        let mut once = None;
        if !entry.captures_once {
            if find().await?.is_some() {
                return Ok(());
            }
            // At a repeat, it can have become the last one. Stripe refuses a key with another form.
            let suffix = if entry.is_last { "-final" } else { "" };
            once = Some(format!("{key}{suffix}"));
            if !entry.is_last {
                form = form.with("final_capture", "false");
            }
        }
        match self.client.post(&intent(id, "/capture"), form, once.as_deref(), find).await {
            Err(StripeError::Refused(refusal)) if refusal.code == UNEXPECTED_STATE => {
                let is_repeat = self.payment_intent(id).await?.is_captured_by(key);
                if is_repeat { Ok(()) } else { Err(StripeError::Refused(refusal)) }
            }
            captured => captured.map(drop),
        }
    }

    /// Releases what is not captured.
    async fn release(&self, id: &str) -> Result<(), StripeError> {
        match self.cancel(id).await {
            Err(StripeError::Refused(refusal)) if refusal.code == UNEXPECTED_STATE => {
                let found = self.payment_intent(id).await?;
                if found.status == Status::Processing {
                    return Err(StripeError::Processing);
                }
                if found.is_released() { Ok(()) } else { Err(StripeError::Refused(refusal)) }
            }
            canceled => canceled.map(drop),
        }
    }

    async fn refund(&self, id: &str, amount: i64, key: &str) -> Result<Execution, NoAnswer> {
        if let Some(refund) = self.find_refund(id, key).await? {
            return Ok(executed(refund));
        }
        let form = Form::new()
            .with("payment_intent", id)
            .with("amount", &amount.to_string())
            .with("metadata[operation]", key);
        let find = || self.find_refund(id, key);
        match self.client.post("v1/refunds", form, Some(key), find).await {
            Ok(refund) => Ok(executed(refund)),
            // The list may have lacked a refund that was just made.
            Err(StripeError::Refused(refusal)) => Ok(match self.find_refund(id, key).await? {
                Some(refund) => executed(refund),
                None => Execution::Refused { reason: refusal.message },
            }),
            Err(error) => Err(error.into()),
        }
    }

    async fn find_refund(&self, id: &str, key: &str) -> Result<Option<Refund>, StripeError> {
        self.find("v1/refunds", &format!("payment_intent={id}&"), key).await
    }

    /// Finds the object that the operation with this key has made, among the newest ones.
    async fn find<T: DeserializeOwned>(
        &self,
        path: &str,
        filter: &str,
        key: &str,
    ) -> Result<Option<T>, StripeError> {
        let path = format!("{path}?{filter}limit={NEWEST}");
        let List { data } = self.client.get(&path).await?;
        Ok(data.into_iter().find(|made: &Made<T>| made.has_key(key)).map(|made| made.object))
    }

    async fn payment_intent(&self, id: &str) -> Result<PaymentIntent, StripeError> {
        self.client.get(&intent(id, "?expand[]=latest_charge")).await
    }

    /// The PaymentIntent, if a request has changed it already.
    async fn find_intent(
        &self,
        id: &str,
        is_changed: impl Fn(&PaymentIntent) -> bool,
    ) -> Result<Option<PaymentIntent>, StripeError> {
        Ok(Some(self.payment_intent(id).await?).filter(is_changed))
    }

    async fn cancel(&self, id: &str) -> Result<PaymentIntent, StripeError> {
        let find = || self.find_intent(id, PaymentIntent::is_released);
        self.client.post(&intent(id, "/cancel"), expanded(), None, find).await
    }
}

/// An amount in Stripe's units. `None` if Stripe cannot express it.
fn in_units(currency: Currency, minor: i64) -> Option<i64> {
    minor.checked_mul(stripe_units(currency)?)
}

/// The path of a PaymentIntent.
fn intent(id: &str, rest: &str) -> String {
    format!("v1/payment_intents/{id}{rest}")
}

/// A form that asks for a whole [`PaymentIntent`].
fn expanded() -> Form {
    Form::new().with("expand[]", "latest_charge")
}

fn with_source(form: Form, source: &CardSource) -> Result<Form, StripeError> {
    match source {
        CardSource::Card(card) => Ok(with_card(form, card)),
        CardSource::Token(token) => Ok(form.with("payment_method", token.as_str())),
        // The customer is not present.
        CardSource::Reference(reference) => {
            let (_, card) = parse(reference)?;
            Ok(form.with("payment_method", card).with("off_session", "true"))
        }
    }
}

fn with_card(form: Form, card: &CardDetails) -> Form {
    let (year, month) = card.expiry.parts();
    form.with("payment_method_data[type]", "card")
        .with("payment_method_data[card][number]", card.number.expose())
        .with("payment_method_data[card][exp_month]", &month.to_string())
        .with("payment_method_data[card][exp_year]", &year.to_string())
        .with("payment_method_data[card][cvc]", card.code.expose())
}

/// The customer and the payment method of a stored card.
fn parse(reference: &str) -> Result<(&str, &str), StripeError> {
    reference.split_once('/').ok_or(StripeError::Malformed)
}

/// Adds a descriptor as Stripe accepts it, unless nothing of it is acceptable.
fn with_suffix(form: Form, descriptor: Option<&Descriptor>) -> Form {
    let text = descriptor.map_or("", Descriptor::as_str);
    let letters = text.chars().filter(|letter| !"<>\\'\"*".contains(*letter));
    let suffix: String = letters.take(MAX_DESCRIPTOR).collect();
    let suffix = suffix.trim();
    if !suffix.contains(|letter: char| letter.is_ascii_alphabetic()) {
        return form;
    }
    form.with("statement_descriptor_suffix", suffix)
}

/// Why a payment failed, of which Stripe has confirmed nothing. `Err` if the outcome is unknown.
fn declined(error: StripeError) -> Result<ProcessingError, StripeError> {
    let Some(refusal) = error.refusal() else { return Err(error) };
    Ok(refusal.decline().unwrap_or_else(|| {
        tracing::error!(cause = %error, "Stripe refuses every card: check the key and the account");
        ProcessingError::TRY_AGAIN
    }))
}

fn executed(refund: Refund) -> Execution {
    match refund.status.as_deref() {
        Some("failed" | "canceled") => {
            let reason = refund.failure_reason.unwrap_or_else(|| "the refund failed".to_owned());
            Execution::Refused { reason }
        }
        _ => Execution::Done(Vec::new()),
    }
}
