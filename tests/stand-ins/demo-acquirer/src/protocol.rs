//! The protocol: its routes, and the way of a request from its signature to the signed answer.

use std::{sync::Arc, time::Duration};

use axum::{
    Router,
    extract::{Request, State},
    http::{
        Extensions, HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header::CONTENT_TYPE,
    },
    response::{IntoResponse as _, Response},
    routing::{MethodFilter, MethodRouter, on},
};
use common::body::{self, BodyError, BufferedBody};
use jiff::{Timestamp, tz::TimeZone};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::{
    book::{Begun, BookError, Outcome},
    fault::{Fault, Kind},
    key::Key,
    request::{self, MovementKind, Order},
    service::Acquirer,
    signature::{SignatureError, SignatureKey, Tag},
};

/// Signs requests, answers and notifications.
pub(crate) const SIGNATURE: HeaderName = HeaderName::from_static("acquirer-signature");

const VERSION: HeaderName = HeaderName::from_static("acquirer-protocol");
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// Longest body of a request, in bytes.
const MAX_BODY: usize = 64 * 1024;

/// Longest body with evidence, in bytes.
const MAX_EVIDENCE: usize = 8 * 1024 * 1024;

const GET: MethodFilter = MethodFilter::GET;
const POST: MethodFilter = MethodFilter::POST;

/// The routes, in the order of the OpenAPI file.
pub(crate) fn router(acquirer: Arc<Acquirer>) -> Router {
    Router::new()
        .route("/authorizations", serve(POST, Kind::Authorization, Task::authorize))
        .route("/authorizations/{key}/complete", serve(POST, Kind::Completion, Task::complete))
        .route("/captures", serve(POST, Kind::Capture, Task::capture))
        .route("/refunds", serve(POST, Kind::Refund, Task::refund))
        .route("/voids", serve(POST, Kind::Void, Task::void))
        .route("/reversals", serve(POST, Kind::Reversal, Task::reverse))
        .route("/evidence", serve(POST, Kind::Answer, Task::evidence))
        .route("/acceptances", serve(POST, Kind::Answer, Task::accept))
        .route("/operations/{key}", serve(GET, Kind::Question, Task::ask))
        .route("/facts", serve(GET, Kind::Question, Task::facts))
        .with_state(acquirer)
        .fallback(async || error(StatusCode::NOT_FOUND, "no such path"))
        .method_not_allowed_fallback(async || {
            error(StatusCode::METHOD_NOT_ALLOWED, "the path has another method")
        })
}

/// Ends a connection without an answer. The server reads it from the extensions of a response.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Ending {
    Close,
    /// The connection stays open until the client closes it.
    Hang,
}

fn serve(
    method: MethodFilter,
    kind: Kind,
    read: fn(&Call) -> Result<Task, Refusal>,
) -> MethodRouter<Arc<Acquirer>> {
    on(method, move |State(acquirer): State<Arc<Acquirer>>, request: Request| {
        exchange(acquirer, kind, read, request)
    })
}

async fn exchange(
    acquirer: Arc<Acquirer>,
    kind: Kind,
    read: fn(&Call) -> Result<Task, Refusal>,
    request: Request,
) -> Response {
    let call = match Call::receive(request).await {
        Ok(call) => call,
        Err(refusal) => return refusal.answer().into_response(),
    };
    let tag = match call.verify(&acquirer.key, Timestamp::now()) {
        Ok(tag) => tag,
        Err(reason) => return error(StatusCode::UNAUTHORIZED, &reason.to_string()),
    };
    let fault = acquirer.faults().draw(kind);
    tracing::debug!(?kind, path = call.path, ?fault, "request received");
    match fault {
        Some(Fault::Close) => return ended(Ending::Close),
        Some(Fault::Hang) => return ended(Ending::Hang),
        _ => {}
    }
    let answer = if fault == Some(Fault::InternalError) {
        Answer::error(StatusCode::INTERNAL_SERVER_ERROR, "a rule makes this request fail")
    } else {
        let refuse = fault == Some(Fault::Refuse);
        let task = call.check_version().and_then(|()| read(&call));
        match task {
            Ok(task) => task.perform(&acquirer, &call, refuse).await,
            Err(refusal) => Err(refusal),
        }
        .unwrap_or_else(|refusal| refusal.answer())
    };
    match fault {
        Some(Fault::Drop) => return ended(Ending::Close),
        Some(Fault::Late { ms }) => sleep(Duration::from_millis(ms)).await,
        _ => {}
    }
    let now = Timestamp::now();
    let signature = match fault {
        Some(Fault::Unsigned) => None,
        Some(Fault::WrongSignature) => Some(format!("t={},v1={}", now.as_second(), "0".repeat(64))),
        _ => Some(acquirer.key.answer(&tag, answer.status.as_u16(), &answer.body, now)),
    };
    let mut response = answer.into_response();
    if let Some(signature) = signature.and_then(|text| HeaderValue::try_from(text).ok()) {
        response.headers_mut().insert(SIGNATURE, signature);
    }
    response
}

/// A request whose body was read.
struct Call {
    method: Method,
    path: String,
    query: Option<String>,
    headers: HeaderMap,
    body: BufferedBody,
}

impl Call {
    /// Reads a body of twice the limit, so that a client that is still sending sees the answer.
    async fn receive(request: Request) -> Result<Self, Refusal> {
        let (head, body) = request.into_parts();
        let limit = if head.uri.path() == "/evidence" { MAX_EVIDENCE } else { MAX_BODY };
        let body = body::read(&Extensions::new(), body, 2 * limit).await?;
        if body.len() > limit {
            return Err(BodyError::TooLarge { limit }.into());
        }
        let (path, query) = (head.uri.path().to_owned(), head.uri.query().map(str::to_owned));
        Ok(Self { method: head.method, path, query, headers: head.headers, body })
    }

    fn verify(&self, key: &SignatureKey, now: Timestamp) -> Result<Tag, SignatureError> {
        let signature = self.headers.get(SIGNATURE).ok_or(SignatureError::Missing)?;
        let signature = signature.to_str().map_err(|_| SignatureError::Malformed)?;
        let idempotency_key = self.header(IDEMPOTENCY_KEY).unwrap_or_default();
        let query = self.query.iter().map(|query| format!("?{query}")).collect::<String>();
        let text = format!("{}.{}{query}.{idempotency_key}.", self.method, self.path);
        key.verify(signature, (&text, &self.body), now)
    }

    fn check_version(&self) -> Result<(), Refusal> {
        match self.header(VERSION) {
            Some("1") => Ok(()),
            _ => Err(Refusal::Malformed("Acquirer-Protocol: must be 1".to_owned())),
        }
    }

    fn key(&self) -> Result<Key, Refusal> {
        let key = self.header(IDEMPOTENCY_KEY).unwrap_or_default();
        key.parse().map_err(|reason| Refusal::Malformed(format!("Idempotency-Key: {reason}")))
    }

    /// The key of the operation that the path names.
    fn path_key(&self) -> Result<Key, Refusal> {
        let key = self.path.split('/').nth(2).unwrap_or_default();
        key.parse().map_err(|reason| Refusal::Malformed(format!("the key in the path: {reason}")))
    }

    fn header(&self, name: HeaderName) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

/// A request that was read.
enum Task {
    Execute(Key, Order),
    Complete(Key),
    Ask(Key),
    /// List the notifications after this one.
    Facts(Option<String>),
}

impl Task {
    fn authorize(call: &Call) -> Result<Self, Refusal> {
        let today = Timestamp::now().to_zoned(TimeZone::UTC).date();
        Self::execute(call, Order::authorization(&call.body, today))
    }

    fn capture(call: &Call) -> Result<Self, Refusal> {
        Self::execute(call, Order::movement(MovementKind::Capture, &call.body))
    }

    fn refund(call: &Call) -> Result<Self, Refusal> {
        Self::execute(call, Order::movement(MovementKind::Refund, &call.body))
    }

    fn void(call: &Call) -> Result<Self, Refusal> {
        Self::execute(call, Order::movement(MovementKind::Void, &call.body))
    }

    fn reverse(call: &Call) -> Result<Self, Refusal> {
        Self::execute(call, Order::reversal(&call.body))
    }

    fn evidence(call: &Call) -> Result<Self, Refusal> {
        Self::execute(call, Order::evidence(&call.body))
    }

    fn accept(call: &Call) -> Result<Self, Refusal> {
        Self::execute(call, Order::acceptance(&call.body))
    }

    fn execute(call: &Call, order: Result<Order, String>) -> Result<Self, Refusal> {
        Ok(Self::Execute(call.key()?, order.map_err(Refusal::Malformed)?))
    }

    fn complete(call: &Call) -> Result<Self, Refusal> {
        request::completion(&call.body).map_err(Refusal::Malformed)?;
        let key = call.path_key()?;
        if call.key()? != key {
            let reason = "Idempotency-Key: must be the key in the path";
            return Err(Refusal::Malformed(reason.to_owned()));
        }
        Ok(Self::Complete(key))
    }

    fn ask(call: &Call) -> Result<Self, Refusal> {
        call.path_key().map(Self::Ask)
    }

    fn facts(call: &Call) -> Result<Self, Refusal> {
        let query = call.query.as_deref().unwrap_or_default();
        let mut after = form_urlencoded::parse(query.as_bytes());
        Ok(Self::Facts(after.find(|(name, _)| name == "after").map(|(_, id)| id.into_owned())))
    }

    async fn perform(
        self,
        acquirer: &Acquirer,
        call: &Call,
        refuse: bool,
    ) -> Result<Answer, Refusal> {
        let (key, outcome) = match self {
            Self::Execute(key, order) => {
                let digest = acquirer.digest(&call.method, &call.path, &call.body);
                let answer = match &order {
                    Order::Answer(answer) => Some(answer.clone()),
                    _ => None,
                };
                let begun = acquirer.book().begin(&key, digest, order)?;
                if begun != Begun::Repeat(Outcome::Pending) {
                    acquirer.delay().await;
                }
                let outcome = match begun {
                    Begun::First => {
                        let outcome = acquirer.book().execute(&key, refuse, Timestamp::now());
                        if let Some(answer) = answer.filter(|_| outcome == Outcome::Done) {
                            acquirer.decide(&answer);
                        }
                        outcome
                    }
                    Begun::Repeat(outcome) => outcome,
                };
                (key, outcome)
            }
            Self::Complete(key) => {
                acquirer.delay().await;
                let outcome = acquirer.book().complete(&key)?;
                (key, outcome)
            }
            Self::Ask(key) => {
                acquirer.delay().await;
                let outcome = acquirer.book().ask(&key)?.ok_or(Refusal::NeverSeen)?;
                (key, outcome)
            }
            Self::Facts(after) => {
                let facts = acquirer.notifications.facts(after.as_deref());
                let (facts, more) = facts.ok_or(Refusal::NoFact)?;
                let body = json!({ "facts": facts, "more": more }).to_string();
                return Ok(Answer { status: StatusCode::OK, body });
            }
        };
        let capabilities = acquirer.capabilities().clone();
        Ok(Answer::outcome(&key, &outcome, &acquirer.url, capabilities))
    }
}

/// Why a request has no outcome.
#[derive(Debug, thiserror::Error)]
enum Refusal {
    #[error("{0}")]
    Malformed(String),
    #[error(transparent)]
    Body(#[from] BodyError),
    #[error(transparent)]
    Book(#[from] BookError),
    #[error("no operation has this key; it is now closed")]
    NeverSeen,
    #[error("no fact has this id")]
    NoFact,
}

impl Refusal {
    fn answer(&self) -> Answer {
        let status = match self {
            Self::Body(BodyError::TooLarge { .. }) => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Malformed(_) | Self::Body(_) => StatusCode::BAD_REQUEST,
            Self::Book(BookError::KeyReused) => StatusCode::CONFLICT,
            Self::Book(BookError::Full) => StatusCode::SERVICE_UNAVAILABLE,
            Self::Book(BookError::Unknown) | Self::NeverSeen | Self::NoFact => {
                StatusCode::NOT_FOUND
            }
        };
        Answer::error(status, &self.to_string())
    }
}

/// An answer before its signature.
struct Answer {
    status: StatusCode,
    body: String,
}

impl Answer {
    fn outcome(key: &Key, outcome: &Outcome, url: &str, capabilities: Option<Value>) -> Self {
        #[derive(Serialize)]
        struct Body<'a> {
            key: &'a Key,
            #[serde(flatten)]
            outcome: &'a Outcome,
            #[serde(skip_serializing_if = "Option::is_none")]
            url: Option<String>,
            #[serde(skip_serializing_if = "Option::is_none")]
            capabilities: Option<Value>,
        }
        let is_challenge = *outcome == Outcome::Challenge;
        let url = is_challenge.then(|| format!("{url}/challenges/{key}"));
        let capabilities = capabilities.filter(|_| matches!(outcome, Outcome::Approved { .. }));
        let body = json!(Body { key, outcome, url, capabilities }).to_string();
        Self { status: StatusCode::OK, body }
    }

    fn error(status: StatusCode, reason: &str) -> Self {
        Self { status, body: json!({ "error": reason }).to_string() }
    }

    fn into_response(self) -> Response {
        let media = HeaderValue::from_static("application/json");
        (self.status, [(CONTENT_TYPE, media)], self.body).into_response()
    }
}

fn error(status: StatusCode, reason: &str) -> Response {
    Answer::error(status, reason).into_response()
}

fn ended(ending: Ending) -> Response {
    let mut response = Response::default();
    response.extensions_mut().insert(ending);
    response
}
