//! Requests to Stripe: forms there, JSON back.

use bytes::Bytes;
use common::tls;
use reqwest::{
    Client as HttpClient, Method, StatusCode, Url,
    header::{AUTHORIZATION, CONTENT_TYPE, HeaderName, HeaderValue},
};
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, de::DeserializeOwned};
use tokio::sync::watch::Receiver;
use url::form_urlencoded::Serializer;
use zeroize::Zeroizing;

use super::{
    super::client::{self, UnreadBody},
    StripeConfig, StripeSetupError,
};

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const STRIPE_VERSION: HeaderName = HeaderName::from_static("stripe-version");

/// The version of the API. Without it, Stripe uses the version that the account started with.
const VERSION: &str = "2024-06-20";

/// The maximum length of an answer.
const MAX_ANSWER: usize = 1024 * 1024;

/// The memory for a form: more than any form needs. So the memory never grows, which would leave a
/// copy of a card number behind.
const FORM_SPACE: usize = 64 * 1024;

/// The type of errors about a card.
pub(super) const CARD_ERROR: &str = "card_error";

/// Why a request has no result.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StripeError {
    #[error("the request to Stripe failed")]
    Failed(#[source] reqwest::Error),
    /// Stripe refuses this request, also when it is repeated.
    #[error("Stripe refuses the request: {}", .0.message)]
    Refused(Box<Refusal>),
    #[error("Stripe answered with status {0}: {1}")]
    Status(StatusCode, String),
    #[error("Stripe's answer is longer than {MAX_ANSWER} bytes")]
    TooLong,
    #[error("Stripe's answer is not as its documentation says")]
    Malformed,
    #[error("Stripe is still processing the payment")]
    Processing,
}

/// The reason that Stripe gives for a failed payment or a refused request.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Refusal {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) code: String,
    pub(super) decline_code: String,
    pub(super) message: String,
}

#[derive(Deserialize)]
struct ErrorAnswer {
    error: Refusal,
}

/// A form in memory that is overwritten when it is freed.
pub(super) struct Form(Zeroizing<String>);

impl Form {
    pub(super) fn new() -> Self {
        Self(Zeroizing::new(String::with_capacity(FORM_SPACE)))
    }

    #[must_use]
    pub(super) fn with(mut self, name: &str, value: &str) -> Self {
        Serializer::for_suffix(&mut *self.0, 0).append_pair(name, value);
        self
    }
}

pub(super) struct Client {
    http: HttpClient,
    /// Ends with a slash.
    base: Url,
    authorization: Receiver<HeaderValue>,
}

impl Client {
    pub(super) fn new(
        StripeConfig { url, authorization }: StripeConfig,
    ) -> Result<Self, StripeSetupError> {
        // Only tests use http: the setting accepts it for loopback addresses alone.
        let https_only = url.scheme() == "https";
        let http = client::client(tls::client_config(None, "")?, https_only)?;
        Ok(Self { http, base: client::base(url), authorization })
    }

    /// Whether a customer may be sent to this URL.
    pub(super) fn is_safe(&self, url: &str) -> bool {
        let url = Url::parse(url).ok();
        url.is_some_and(|url| url.scheme() == "https" || url.scheme() == self.base.scheme())
    }

    pub(super) async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, StripeError> {
        self.exchange(Method::GET, path, Bytes::new(), None).await
    }

    /// With `key`, Stripe carries out the request once, and answers a repeat with the first answer
    /// for at least 24 hours.
    pub(super) async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        Form(form): Form,
        key: Option<&str>,
    ) -> Result<T, StripeError> {
        self.exchange(Method::POST, path, Bytes::from_owner(form), key).await
    }

    async fn exchange<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        form: Bytes,
        key: Option<&str>,
    ) -> Result<T, StripeError> {
        let url = self.base.join(path).map_err(|_| StripeError::Malformed)?;
        let authorization = self.authorization.borrow().clone();
        let mut request = self
            .http
            .request(method, url)
            .header(AUTHORIZATION, authorization)
            .header(STRIPE_VERSION, VERSION);
        if !form.is_empty() {
            request = request.header(CONTENT_TYPE, "application/x-www-form-urlencoded").body(form);
        }
        if let Some(key) = key {
            request = request.header(IDEMPOTENCY_KEY, key);
        }
        let mut answer = request.send().await.map_err(failed)?;
        let status = answer.status();
        let body = client::body(&mut answer, MAX_ANSWER).await?;
        if status.is_success() {
            return serde_json::from_slice(&body).map_err(|_| StripeError::Malformed);
        }
        let refusal = serde_json::from_slice(&body).map_err(|_| StripeError::Malformed);
        let refusal = refusal.map(|ErrorAnswer { error }| error).unwrap_or_default();
        // A wrong key, too many requests, a conflict or an error of Stripe may go away.
        let is_final = [StatusCode::BAD_REQUEST, StatusCode::PAYMENT_REQUIRED].contains(&status)
            && [CARD_ERROR, "invalid_request_error"].contains(&&*refusal.kind);
        Err(if is_final {
            StripeError::Refused(Box::new(refusal))
        } else {
            StripeError::Status(status, refusal.message)
        })
    }
}

/// The header with a secret key.
pub(crate) fn authorization(key: &SecretString) -> Result<HeaderValue, StripeSetupError> {
    let text = Zeroizing::new(format!("Bearer {}", key.expose_secret()));
    let mut header = HeaderValue::try_from(&**text).map_err(|_| StripeSetupError::Key)?;
    header.set_sensitive(true);
    Ok(header)
}

impl From<UnreadBody> for StripeError {
    fn from(unread: UnreadBody) -> Self {
        match unread {
            UnreadBody::Failed(error) => failed(error),
            UnreadBody::TooLong => Self::TooLong,
        }
    }
}

/// Removes the URL from an error, because it says nothing that the log does not know.
fn failed(error: reqwest::Error) -> StripeError {
    StripeError::Failed(error.without_url())
}
