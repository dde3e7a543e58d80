//! The connector to acquirers that speak our protocol: `docs/acquirer-protocol.md`.
//!
//! 1. Only a signed answer with status 200 counts, and a signed 404 to a question. Everything else
//!    is no answer: a proxy may answer instead of the acquirer.
//! 2. The signature of a request covers time, method, path, key and body. The signature of an answer
//!    covers time, status, the `v1` of its request, and the body. So an answer belongs to one
//!    request.
//! 3. The acquirer executes a key once. So a request that may not have reached it, or that it cannot
//!    answer now, is repeated while the caller waits. A question instead would close the key.
//! 4. The memory of a body with a card number is overwritten after use.

use std::{io, path::PathBuf};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use common::{
    files::Files,
    telemetry::trace,
    tls::{self, TlsError},
};
use jiff::Timestamp;
use payments_domain::{
    AcquirerId, AcquirerKey, AcquirerOutcome, Authorization, Capabilities, Challenge,
    ChallengeAnswer, NewFile, OutboxEntry, OutboxKind, ProcessingError, SubmittedEvidence,
    ThreeDSecure, acquirer_time,
};
use reqwest::{
    Client, Method, StatusCode, Url,
    header::{CONTENT_TYPE, HeaderName},
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio::sync::watch::Receiver;
use url::{Position, form_urlencoded::byte_serialize};
use zeroize::Zeroizing;

use super::{
    AuthorizationRequest, AuthorizationResponse, AuthorizationState, CardSource, Execution, Facts,
    FactsQuestion, NoAnswer,
    client::{self, MAX_REPEATS, UnreadBody},
    report::{AcquirerFact, Forgotten},
    signature::{SignatureError, SignatureKey},
};

mod notification;

pub(crate) use notification::report;

const PROTOCOL: HeaderName = HeaderName::from_static("acquirer-protocol");
const SIGNATURE: HeaderName = HeaderName::from_static("acquirer-signature");
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// The maximum length of an answer.
const MAX_ANSWER: usize = 64 * 1024;

/// The largest step of amounts: a whole unit of any currency.
const MAX_AMOUNT_STEP: i64 = 10_000;

pub(crate) struct HttpConfig {
    pub(crate) url: Url,
    pub(crate) key: Receiver<SignatureKey>,
    /// Additional CA certificates.
    pub(crate) ca_file: Option<PathBuf>,
}

/// Why the connector cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HttpSetupError {
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error("the HTTP client for the acquirer cannot be made: {0}")]
    Client(#[from] reqwest::Error),
}

/// Why a request has no valid answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HttpError {
    #[error("the request to the acquirer failed")]
    Failed(#[source] reqwest::Error),
    #[error("the acquirer answered with status {0}")]
    Status(StatusCode),
    #[error("the acquirer's answer is not signed as agreed")]
    Unsigned(#[source] SignatureError),
    #[error("the acquirer's answer is longer than {MAX_ANSWER} bytes")]
    TooLong,
    #[error("the acquirer's answer does not follow the protocol")]
    Malformed,
    #[error("the acquirer is still processing the operation")]
    Pending,
}

pub(crate) struct Http {
    client: Receiver<Client>,
    /// Ends with a slash.
    base: Url,
    key: Receiver<SignatureKey>,
    forgotten: Forgotten,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct AuthorizationBody<'a> {
    merchant_id: String,
    initiator: &'static str,
    currency: &'static str,
    /// In minor units; 0 for a check of the card.
    amount: i64,
    descriptor: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    card: Option<CardBody<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    card_reference: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    return_url: Option<&'a str>,
}

#[derive(Serialize)]
struct CardBody<'a> {
    number: &'a str,
    expiry: ExpiryBody,
    code: &'a str,
}

#[derive(Serialize)]
struct ExpiryBody {
    month: i8,
    year: i16,
}

#[derive(Serialize)]
struct NoFields {}

/// A capture, refund or void.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct EntryBody {
    authorization: String,
    transaction_id: String,
    currency: &'static str,
    amount: i64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ReversalBody {
    authorization: String,
    transaction_id: String,
}

/// Evidence for a dispute, or its acceptance.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct AnswerBody<'a> {
    dispute_id: &'a str,
    transaction_id: String,
    #[serde(flatten)]
    evidence: Option<EvidenceBody<'a>>,
}

#[derive(Serialize)]
struct EvidenceBody<'a> {
    text: &'a str,
    files: Vec<FileBody<'a>>,
}

#[derive(Serialize)]
struct FileBody<'a> {
    name: &'a str,
    #[serde(rename = "type")]
    file_type: &'static str,
    /// In Base64.
    content: String,
}

#[derive(Deserialize)]
#[serde(tag = "status", rename_all = "camelCase", rename_all_fields = "camelCase")]
enum Answer {
    Approved {
        card_reference: String,
        three_d_secure: String,
        #[serde(default)]
        capabilities: CapabilitiesAnswer,
    },
    Declined {
        code: i64,
    },
    Challenge {
        url: String,
    },
    Done,
    Refused {
        reason: String,
    },
    Pending,
}

#[derive(Deserialize)]
struct FactsAnswer {
    facts: Vec<Box<RawValue>>,
    /// Whether there are later ones.
    more: bool,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct CapabilitiesAnswer {
    captures: Captures,
    amount_step: Option<i64>,
    valid_until: Option<String>,
}

#[derive(Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Captures {
    Once,
    #[default]
    Several,
}

impl<'a> EvidenceBody<'a> {
    fn new(SubmittedEvidence { text, files }: &'a SubmittedEvidence) -> Self {
        let file = |NewFile { name, file_type, content }: &'a NewFile| FileBody {
            name: name.as_str(),
            file_type: file_type.name(),
            content: STANDARD.encode(&*content.0),
        };
        Self { text: text.as_str(), files: files.iter().map(file).collect() }
    }
}

impl CapabilitiesAnswer {
    fn read(self) -> Result<Capabilities, HttpError> {
        let Self { captures, amount_step, valid_until } = self;
        let valid_until = valid_until.map(|time| acquirer_time(&time)).transpose();
        let amount_step = amount_step.unwrap_or(1);
        if !(1..=MAX_AMOUNT_STEP).contains(&amount_step) {
            return Err(HttpError::Malformed);
        }
        Ok(Capabilities {
            captures_once: captures == Captures::Once,
            amount_step,
            valid_until: valid_until.map_err(|_| HttpError::Malformed)?,
        })
    }
}

impl Http {
    pub(crate) fn new(
        HttpConfig { url, key, ca_file }: HttpConfig,
        files: &mut Files,
    ) -> Result<Self, HttpSetupError> {
        let setting = "PAYMENTS_ACQUIRER_CA_FILE (--acquirer-ca-file)";
        let client = files.read(setting, ca_file, move |path| {
            Ok::<_, HttpSetupError>(client::client(tls::client_config(path, setting)?, true)?)
        })?;
        Ok(Self { client, base: client::base(url), key, forgotten: Forgotten::default() })
    }

    pub(super) async fn authorize(
        &self,
        request: &AuthorizationRequest,
        now: Timestamp,
    ) -> Result<AuthorizationResponse, NoAnswer> {
        let body = {
            let (initiator, card, card_reference) = match &request.source {
                CardSource::Card(card) => {
                    let (year, month) = card.expiry.parts();
                    let (number, code) = (card.number.expose(), card.code.expose());
                    let card = CardBody { number, expiry: ExpiryBody { month, year }, code };
                    ("customer", Some(card), None)
                }
                CardSource::Reference(reference) => ("merchant", None, Some(reference.as_str())),
                // The protocol has no tokens.
                CardSource::Token(_) => {
                    return Ok(AuthorizationResponse::Outcome(AcquirerOutcome::Declined(
                        ProcessingError::NOT_SUPPORTED,
                    )));
                }
            };
            json(&AuthorizationBody {
                merchant_id: request.merchant.to_string(),
                initiator,
                currency: request.currency.code(),
                amount: request.amount.map_or(0, |amount| amount.minor()),
                descriptor: request.descriptor.as_str(),
                card,
                card_reference,
                return_url: request.return_url.as_deref(),
            })?
        };
        authorization_response(
            self.post("authorizations", &request.authorization.key, body, now).await?,
        )
    }

    pub(super) async fn complete(
        &self,
        challenge: &Challenge,
        _: ChallengeAnswer,
        now: Timestamp,
    ) -> Result<AuthorizationResponse, NoAnswer> {
        let key = &challenge.authorization.key;
        let path = format!("authorizations/{key}/complete");
        authorization_response(self.post(&path, key, json(&NoFields {})?, now).await?)
    }

    pub(super) async fn ask(
        &self,
        authorization: &Authorization,
        now: Timestamp,
    ) -> Result<AuthorizationState, NoAnswer> {
        let Some(answer) = self.get(&authorization.key, now).await? else {
            return Ok(AuthorizationState::NotDone);
        };
        Ok(match authorization_response(answer)? {
            AuthorizationResponse::Outcome(outcome) => AuthorizationState::Outcome(outcome),
            AuthorizationResponse::Challenge { .. } => AuthorizationState::Challenged,
        })
    }

    pub(super) async fn carry_out(
        &self,
        entry: &OutboxEntry,
        now: Timestamp,
    ) -> Result<Execution, NoAnswer> {
        let authorization = entry.authorization.key.to_string();
        let transaction_id = entry.transaction.to_string();
        let path = match entry.kind {
            OutboxKind::Capture => "captures",
            OutboxKind::Refund => "refunds",
            OutboxKind::Void => "voids",
            OutboxKind::Reverse => "reversals",
            OutboxKind::Evidence => "evidence",
            OutboxKind::Acceptance => "acceptances",
        };
        let body = match entry.kind {
            OutboxKind::Evidence | OutboxKind::Acceptance => {
                let (_, dispute) = entry.dispute.as_ref().ok_or(HttpError::Malformed)?;
                let (dispute_id, evidence) = (dispute.as_str(), entry.evidence.as_ref());
                let evidence = evidence.map(EvidenceBody::new);
                json(&AnswerBody { dispute_id, transaction_id, evidence })?
            }
            OutboxKind::Reverse => json(&ReversalBody { authorization, transaction_id })?,
            OutboxKind::Capture | OutboxKind::Refund | OutboxKind::Void => {
                let (currency, amount) = (entry.currency.code(), entry.amount);
                json(&EntryBody { authorization, transaction_id, currency, amount })?
            }
        };
        execution(self.post(path, &entry.key, body, now).await?)
    }

    pub(super) async fn ask_entry(
        &self,
        entry: &OutboxEntry,
        now: Timestamp,
    ) -> Result<Option<Execution>, NoAnswer> {
        self.get(&entry.key, now).await?.map(execution).transpose()
    }

    /// Without `after`, and if the acquirer does not know it any more, the list begins with the
    /// oldest fact.
    pub(super) async fn facts(
        &self,
        after: Option<&AcquirerId>,
        FactsQuestion { now, due_after, .. }: FactsQuestion,
    ) -> Result<Facts, NoAnswer> {
        let mut page = self.facts_after(after, now).await;
        if after.is_some() && matches!(page, Err(HttpError::Status(StatusCode::NOT_FOUND))) {
            self.forgotten.log("http");
            page = self.facts_after(None, now).await;
        }
        let FactsAnswer { facts, more } = page?;
        let facts: Option<Vec<_>> = facts
            .iter()
            .map(|fact| AcquirerFact::read(fact, |fields| report(fields, due_after)))
            .collect();
        Ok(Facts { facts: facts.ok_or(HttpError::Malformed)?, has_more: more })
    }

    async fn facts_after(
        &self,
        after: Option<&AcquirerId>,
        now: Timestamp,
    ) -> Result<FactsAnswer, HttpError> {
        let mut path = "facts".to_owned();
        if let Some(after) = after {
            path += "?after=";
            path.extend(byte_serialize(after.as_str().as_bytes()));
        }
        let (status, answer) = self.exchange(Method::GET, &path, None, Bytes::new(), now).await?;
        match status {
            StatusCode::OK => serde_json::from_slice(&answer).map_err(|_| HttpError::Malformed),
            status => Err(HttpError::Status(status)),
        }
    }

    async fn post(
        &self,
        path: &str,
        key: &AcquirerKey,
        body: Bytes,
        now: Timestamp,
    ) -> Result<Answer, HttpError> {
        let key = key.to_string();
        let (status, answer) = self.exchange(Method::POST, path, Some(&key), body, now).await?;
        if status == StatusCode::OK { read(&answer) } else { Err(HttpError::Status(status)) }
    }

    /// Asks for an operation. `None` if the acquirer has never seen it.
    async fn get(&self, key: &AcquirerKey, now: Timestamp) -> Result<Option<Answer>, HttpError> {
        let path = format!("operations/{key}");
        let (status, answer) = self.exchange(Method::GET, &path, None, Bytes::new(), now).await?;
        match status {
            StatusCode::OK => read(&answer).map(Some),
            StatusCode::NOT_FOUND => Ok(None),
            status => Err(HttpError::Status(status)),
        }
    }

    /// Sends a request, and repeats it if the failure may be over soon.
    async fn exchange(
        &self,
        method: Method,
        path: &str,
        key: Option<&str>,
        body: Bytes,
        now: Timestamp,
    ) -> Result<(StatusCode, Vec<u8>), HttpError> {
        for repeats in 0..MAX_REPEATS {
            let sent = self.send(method.clone(), path, key, body.clone(), now).await;
            let is_failure = match &sent {
                Ok((status, _)) => {
                    *status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error()
                }
                Err(error) => matches!(error, HttpError::Failed(_)),
            };
            if !is_failure {
                return sent;
            }
            client::pause(repeats).await;
        }
        self.send(method, path, key, body, now).await
    }

    /// Sends a request. Returns the status and the body of a signed answer.
    async fn send(
        &self,
        method: Method,
        path: &str,
        key: Option<&str>,
        body: Bytes,
        now: Timestamp,
    ) -> Result<(StatusCode, Vec<u8>), HttpError> {
        let url = self.base.join(path).map_err(|_| HttpError::Malformed)?;
        let target = &url[Position::BeforePath..];
        let text = format!("{method}.{target}.{}.", key.unwrap_or_default());
        // The answer has the secret of its request, also if the file of the secret changes meanwhile.
        let secret = self.key.borrow().clone();
        let signature = secret.sign(&[text.as_bytes(), &body], now);
        let client = self.client.borrow().clone();
        let mut request = client
            .request(method, url)
            .header(PROTOCOL, "1")
            .header(SIGNATURE, signature.to_string())
            .headers(trace::headers());
        if let Some(key) = key {
            request = request
                .header(IDEMPOTENCY_KEY, key)
                .header(CONTENT_TYPE, "application/json")
                .body(body);
        }
        let mut answer = request.send().await.map_err(failed)?;
        let status = answer.status();
        let body = client::body(&mut answer, MAX_ANSWER).await?;
        let header = answer.headers().get(SIGNATURE).and_then(|header| header.to_str().ok());
        // An answer without a signature is not from the acquirer. Its status says more.
        let header = header.ok_or(HttpError::Status(status))?;
        let text = format!("{}.{}.", status.as_u16(), signature.tag);
        let verified = secret.verify(header, &[text.as_bytes(), &body], now);
        verified.map_err(HttpError::Unsigned)?;
        Ok((status, body))
    }
}

/// JSON in memory that is overwritten when it is freed.
fn json(body: &impl Serialize) -> Result<Bytes, HttpError> {
    let json = serialized(body).map_err(|_| HttpError::Malformed)?;
    Ok(Bytes::from_owner(json))
}

/// Serializes twice. The first time finds the length, so that the memory never grows, which would
/// leave a copy of a card number behind.
fn serialized(body: &impl Serialize) -> serde_json::Result<Zeroizing<Vec<u8>>> {
    let mut length = Length(0);
    serde_json::to_writer(&mut length, body)?;
    let mut json = Zeroizing::new(Vec::with_capacity(length.0));
    serde_json::to_writer(&mut *json, body)?;
    Ok(json)
}

/// Counts the bytes that are written to it.
struct Length(usize);

impl io::Write for Length {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.saturating_add(bytes.len());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl From<UnreadBody> for HttpError {
    fn from(unread: UnreadBody) -> Self {
        match unread {
            UnreadBody::Failed(error) => failed(error),
            UnreadBody::TooLong => Self::TooLong,
        }
    }
}

/// Removes the URL from an error, because it says nothing that the log does not know.
fn failed(error: reqwest::Error) -> HttpError {
    HttpError::Failed(error.without_url())
}

fn read(answer: &[u8]) -> Result<Answer, HttpError> {
    serde_json::from_slice(answer).map_err(|_| HttpError::Malformed)
}

fn authorization_response(answer: Answer) -> Result<AuthorizationResponse, NoAnswer> {
    Ok(match answer {
        Answer::Approved { card_reference, three_d_secure, capabilities } => {
            let tds = ThreeDSecure::from_name(&three_d_secure).ok_or(HttpError::Malformed)?;
            let (reference, capabilities) = (Some(card_reference), capabilities.read()?);
            let approved = AcquirerOutcome::Approved { reference, tds, capabilities };
            AuthorizationResponse::Outcome(approved)
        }
        Answer::Declined { code } => {
            // A decline is an outcome, even if its code is not one of ours.
            let error = u8::try_from(code).ok().and_then(ProcessingError::of_acquirer);
            let error = error.unwrap_or(ProcessingError::DECLINED);
            AuthorizationResponse::Outcome(AcquirerOutcome::Declined(error))
        }
        Answer::Challenge { url } => {
            let url = url.parse().ok().filter(|url: &Url| url.scheme() == "https");
            AuthorizationResponse::Challenge { reference: url.ok_or(HttpError::Malformed)?.into() }
        }
        Answer::Pending => return Err(HttpError::Pending.into()),
        Answer::Done | Answer::Refused { .. } => return Err(HttpError::Malformed.into()),
    })
}

fn execution(answer: Answer) -> Result<Execution, NoAnswer> {
    match answer {
        Answer::Done => Ok(Execution::Done(Vec::new())),
        Answer::Refused { reason } => Ok(Execution::Refused { reason }),
        Answer::Pending => Err(HttpError::Pending.into()),
        Answer::Approved { .. } | Answer::Declined { .. } | Answer::Challenge { .. } => {
            Err(HttpError::Malformed.into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_of_a_body_never_grows() {
        let number = "4100000000000001".repeat(1000);
        let expiry = ExpiryBody { month: 2, year: 2048 };
        let json = serialized(&CardBody { number: &number, expiry, code: "739" }).unwrap();
        assert!(json.starts_with(br#"{"number":"4100"#));
        assert_eq!(json.capacity(), json.len());
    }
}
