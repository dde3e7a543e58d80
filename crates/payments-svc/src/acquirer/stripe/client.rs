//! Requests to Stripe: forms there, JSON back.

use std::future::ready;

use bytes::Bytes;
use common::{telemetry::trace, tls};
use payments_domain::NewFile;
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
    super::client::{self, MAX_REPEATS, UnreadBody},
    StripeConfig, StripeSetupError,
};

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// Marks an answer that Stripe has kept under the idempotency key.
const REPLAYED: &str = "idempotent-replayed";
const STRIPE_VERSION: HeaderName = HeaderName::from_static("stripe-version");

/// The version of the API. Without it, Stripe uses the version that the account started with.
const VERSION: &str = "2024-06-20";

/// The maximum length of an answer. The events of a page can have 50 texts of evidence, and each the
/// text before, with characters of up to 12 bytes.
const MAX_ANSWER: usize = 32 * 1024 * 1024;

/// The maximum number of keys of a request. Three days of nothing but errors need fewer.
const MAX_KEYS: u32 = 300;

/// The memory for a form: more than any form needs. So the memory never grows, which would leave a
/// copy of a card number behind.
const FORM_SPACE: usize = 64 * 1024;

/// The type of errors about a card.
pub(super) const CARD_ERROR: &str = "card_error";

/// The type of errors about a request, a key or an account.
const INVALID_REQUEST: &str = "invalid_request_error";

/// Why a request has no result.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StripeError {
    #[error("the request to Stripe failed")]
    Failed(#[source] reqwest::Error),
    /// Stripe refuses this request, also when it is repeated.
    #[error("Stripe refuses the request: {}", .0.message)]
    Refused(Box<Refusal>),
    #[error("Stripe answered with status {0}: {message}", message = .1.message)]
    Status(StatusCode, Box<Refusal>),
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
    /// Whether an earlier request with the same key has got this answer.
    #[serde(skip)]
    pub(super) is_replayed: bool,
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

const FORM: HeaderValue = HeaderValue::from_static("application/x-www-form-urlencoded");

/// A request without its headers.
#[derive(Clone)]
struct Message {
    method: Method,
    url: Url,
    /// The body, after its type.
    content: Option<(HeaderValue, Bytes)>,
}

pub(super) struct Client {
    http: HttpClient,
    /// Ends with a slash.
    base: Url,
    /// The host for files. Ends with a slash.
    files: Url,
    authorization: Receiver<HeaderValue>,
}

impl Client {
    pub(super) fn new(
        StripeConfig { url, files_url, authorization }: StripeConfig,
    ) -> Result<Self, StripeSetupError> {
        // Only tests use http: the setting accepts it for loopback addresses alone.
        let https_only = [&url, &files_url].iter().all(|url| url.scheme() == "https");
        let http = client::client(tls::client_config(None, "")?, https_only)?;
        let (base, files) = (client::base(url), client::base(files_url));
        Ok(Self { http, base, files, authorization })
    }

    /// Whether a customer may be sent to this URL.
    pub(super) fn is_safe(&self, url: &str) -> bool {
        let url = Url::parse(url).ok();
        url.is_some_and(|url| url.scheme() == "https" || url.scheme() == self.base.scheme())
    }

    pub(super) async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, StripeError> {
        let url = self.url(path)?;
        self.repeat(Message { method: Method::GET, url, content: None }, None, nothing).await
    }

    /// With `key`, Stripe carries out the request once, and answers a repeat with the first answer
    /// for at least 24 hours. `find` finds what the request has done, if its outcome is unknown.
    pub(super) async fn post<T: DeserializeOwned, F: Found<T>>(
        &self,
        path: &str,
        Form(form): Form,
        key: Option<&str>,
        find: impl Fn() -> F,
    ) -> Result<T, StripeError> {
        let url = self.url(path)?;
        let content = Some((FORM, Bytes::from_owner(form)));
        self.repeat(Message { method: Method::POST, url, content }, key, find).await
    }

    /// Uploads a file that is evidence.
    pub(super) async fn upload<T: DeserializeOwned, F: Found<T>>(
        &self,
        file: &NewFile,
        key: &str,
        find: impl Fn() -> F,
    ) -> Result<T, StripeError> {
        let url = self.files.join("v1/files").map_err(|_| StripeError::Malformed)?;
        // It cannot be in the file, which was made before it.
        let boundary = format!("{:032x}", rand::random::<u128>());
        let (name, file_type) = (file.name.as_str().replace('"', "%22"), file.file_type.name());
        let head = format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"purpose\"\r\n\r\n\
             dispute_evidence\r\n\
             --{boundary}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{name}\"\r\n\
             Content-Type: {file_type}\r\n\r\n"
        );
        let tail = format!("\r\n--{boundary}--\r\n");
        let body = [head.as_bytes(), &file.content.0, tail.as_bytes()].concat();
        let content_type = format!("multipart/form-data; boundary={boundary}");
        let content_type = HeaderValue::try_from(content_type);
        let content_type = content_type.map_err(|_| StripeError::Malformed)?;
        let content = Some((content_type, body.into()));
        self.repeat(Message { method: Method::POST, url, content }, Some(key), find).await
    }

    fn url(&self, path: &str) -> Result<Url, StripeError> {
        self.base.join(path).map_err(|_| StripeError::Malformed)
    }

    /// Sends a request, and repeats it while the caller waits, if it was not executed or its outcome
    /// is unknown. After an error of Stripe it needs another key, because Stripe answers a key with
    /// its first answer. The keys are numbered: a later call finds a request that Stripe is still
    /// executing under its key, and does not begin a second one.
    async fn repeat<T: DeserializeOwned, F: Found<T>>(
        &self,
        message: Message,
        first_key: Option<&str>,
        find: impl Fn() -> F,
    ) -> Result<T, StripeError> {
        let (mut repeats, mut keys) = (0, 1);
        loop {
            let key = first_key.map(|first| match keys {
                1 => first.to_owned(),
                number => format!("{first}-{number}"),
            });
            let sent = self.exchange(message.clone(), key.as_deref()).await;
            let Err(error) = sent else { return sent };
            let Some(failure) = error.failure() else { return Err(error) };
            if failure != Failure::Replayed {
                if repeats == MAX_REPEATS {
                    return Err(error);
                }
                client::pause(repeats).await;
                repeats += 1;
            }
            if failure == Failure::NotDone {
                continue;
            }
            match find().await {
                Ok(Some(found)) => return Ok(found),
                Ok(None) => {}
                // The outcome is still unknown.
                Err(_) => return Err(error),
            }
            if matches!(failure, Failure::Answered | Failure::Replayed) {
                if keys == MAX_KEYS {
                    return Err(error);
                }
                keys += 1;
            }
        }
    }

    async fn exchange<T: DeserializeOwned>(
        &self,
        Message { method, url, content }: Message,
        key: Option<&str>,
    ) -> Result<T, StripeError> {
        let authorization = self.authorization.borrow().clone();
        let mut request = self
            .http
            .request(method, url)
            .header(AUTHORIZATION, authorization)
            .header(STRIPE_VERSION, VERSION)
            .headers(trace::headers());
        if let Some((content_type, body)) = content {
            request = request.header(CONTENT_TYPE, content_type).body(body);
        }
        if let Some(key) = key {
            request = request.header(IDEMPOTENCY_KEY, key);
        }
        let mut answer = request.send().await.map_err(failed)?;
        let status = answer.status();
        let is_replayed = answer.headers().contains_key(REPLAYED);
        let body = client::body(&mut answer, MAX_ANSWER).await?;
        if status.is_success() {
            return serde_json::from_slice(&body).map_err(|_| StripeError::Malformed);
        }
        let refusal = serde_json::from_slice(&body).map_err(|_| StripeError::Malformed);
        let refusal = refusal.map(|ErrorAnswer { error }| error).unwrap_or_default();
        let refusal = Refusal { is_replayed, ..refusal };
        // A wrong key, too many requests, a conflict or an error of Stripe may go away.
        let is_final = [StatusCode::BAD_REQUEST, StatusCode::PAYMENT_REQUIRED].contains(&status)
            && [CARD_ERROR, INVALID_REQUEST].contains(&&*refusal.kind);
        let refusal = Box::new(refusal);
        Err(if is_final {
            StripeError::Refused(refusal)
        } else {
            StripeError::Status(status, refusal)
        })
    }
}

/// What a request has done, if it has done anything.
pub(super) trait Found<T>: Future<Output = Result<Option<T>, StripeError>> {}

impl<T, F: Future<Output = Result<Option<T>, StripeError>>> Found<T> for F {}

/// Finds nothing: a repeat does no harm.
pub(super) fn nothing<T>() -> impl Found<T> {
    ready(Ok(None))
}

/// A failure that may be over soon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Failure {
    /// Stripe has done nothing.
    NotDone,
    /// No answer. Whether Stripe has done the work is unknown.
    NoAnswer,
    /// An error of Stripe. Whether it has done the work is unknown.
    Answered,
    /// The same, of a request before.
    Replayed,
}

impl StripeError {
    /// The refusal, if Stripe has done nothing. With a right key or other settings of the account, it
    /// may do it.
    pub(super) fn refusal(&self) -> Option<&Refusal> {
        match self {
            Self::Refused(refusal) => Some(refusal),
            Self::Status(status, refusal)
                if status.is_client_error()
                    && self.failure().is_none()
                    && refusal.kind == INVALID_REQUEST =>
            {
                Some(refusal)
            }
            _ => None,
        }
    }

    fn failure(&self) -> Option<Failure> {
        match self {
            // Also `lock_timeout`: another request changes the same object.
            Self::Status(StatusCode::TOO_MANY_REQUESTS | StatusCode::CONFLICT, _) => {
                Some(Failure::NotDone)
            }
            Self::Status(status, refusal) if status.is_server_error() => {
                Some(if refusal.is_replayed { Failure::Replayed } else { Failure::Answered })
            }
            Self::Failed(_) => Some(Failure::NoAnswer),
            _ => None,
        }
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
