//! Scripts: how the portal deviates from honest answers. The types are also the JSON of the control
//! interface.

use std::{collections::VecDeque, time::Duration};

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The username whose scripts apply to all users without a script.
pub const ANYONE: &str = "*";

/// One of the two calls that authsvc sends to the portal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// `POST /MAcademy/mobile/mobilelogin/auth`
    Login,
    /// `POST /MAcademy/mobile/dispatcher`
    Profile,
}

impl Operation {
    /// Returns the path of its URL, without host and query.
    pub fn path(self) -> &'static str {
        match self {
            Operation::Login => "/MAcademy/mobile/mobilelogin/auth",
            Operation::Profile => "/MAcademy/mobile/dispatcher",
        }
    }

    pub(crate) fn at(path: &str) -> Option<Self> {
        [Operation::Login, Operation::Profile].into_iter().find(|known| known.path() == path)
    }
}

/// A sequence of deviations, one per call or connection. An empty script changes nothing.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script<T> {
    /// Each is used once, in this order.
    #[serde(default = "VecDeque::new")]
    pub next: VecDeque<T>,
    /// Used after `next`, without end. If it is absent, the portal is honest again.
    #[serde(default = "Option::default")]
    pub then: Option<T>,
}

impl<T> Script<T> {
    /// Uses each of these once. Afterwards, the portal is honest again.
    pub fn queue(next: impl IntoIterator<Item = T>) -> Self {
        Self { next: next.into_iter().collect(), then: None }
    }
}

impl<T: Clone> Script<T> {
    pub(crate) fn advance(&mut self) -> Option<T> {
        self.next.pop_front().or_else(|| self.then.clone())
    }
}

/// A script that always uses the same value.
impl<T> From<T> for Script<T> {
    fn from(then: T) -> Self {
        Self { next: VecDeque::new(), then: Some(then) }
    }
}

/// How one call is answered. The default is [`Behaviour::honest`].
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Behaviour {
    /// Milliseconds to wait before anything is sent.
    pub delay_ms: u64,
    /// Replaces the honest answer, if present.
    pub answer: Option<Answer>,
    /// Added to the answer, as names and values.
    pub headers: Vec<(String, String)>,
    /// How much of the answer is sent, and how fast.
    pub delivery: Delivery,
}

impl Behaviour {
    /// The answer of a portal that works.
    pub fn honest() -> Self {
        Self::default()
    }

    /// Answers with a status from 200 to 999 and a body. Any other status results in 501.
    pub fn answer(status: u16, body: impl Into<Content>) -> Self {
        let answer = Some(Answer { status, body: body.into() });
        Self { answer, ..Self::default() }
    }

    /// Sends a whole response, head included, which can break every rule of HTTP.
    pub fn raw(response: impl Into<Content>) -> Self {
        Self::answer(200, response).delivered(Delivery::Raw)
    }

    /// Answers 302 with the path of `operation` as the location.
    pub fn redirect(operation: Operation) -> Self {
        Self::answer(302, "").header("location", operation.path())
    }

    /// Adds a header to the answer. A name or value that HTTP does not allow results in 501.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Delays the answer. Replaces an earlier delay.
    #[must_use]
    pub fn after(mut self, delay: Duration) -> Self {
        self.delay_ms = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX);
        self
    }

    /// Sets how the answer is sent.
    #[must_use]
    pub fn delivered(mut self, delivery: Delivery) -> Self {
        self.delivery = delivery;
        self
    }
}

/// The honest answer, sent in this way.
impl From<Delivery> for Behaviour {
    fn from(delivery: Delivery) -> Self {
        Self::honest().delivered(delivery)
    }
}

/// An answer without its headers.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// From 200 to 999.
    pub status: u16,
    /// Sent unchanged, whether or not the status allows a body.
    pub body: Content,
}

/// The body of an answer: `{"text": "…"}`, `{"json": …}` or `{"bytes": [255, …]}`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Content {
    /// UTF-8 text, which need not be JSON.
    Text(String),
    /// A JSON value.
    Json(Value),
    /// Any bytes, for example invalid UTF-8.
    Bytes(Vec<u8>),
}

impl Content {
    pub(crate) fn into_bytes(self) -> Bytes {
        match self {
            Content::Text(text) => text.into(),
            Content::Json(value) => value.to_string().into(),
            Content::Bytes(bytes) => bytes.into(),
        }
    }
}

impl From<&str> for Content {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Content {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<Value> for Content {
    fn from(value: Value) -> Self {
        Self::Json(value)
    }
}

impl From<Vec<u8>> for Content {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Bytes(bytes)
    }
}

/// How an answer is sent, or how the connection ends instead.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Delivery {
    /// The complete answer at once.
    #[default]
    Whole,
    /// No answer. The connection stays open.
    Hang,
    /// The head at once, then one byte a second.
    Drip,
    /// The body, then white space without end. A `content-length` header limits it to that length.
    Flood,
    /// A reset (RST) instead of an answer.
    ResetBefore,
    /// The head and the body, then a reset instead of the last byte that the head announces. The
    /// reset follows half a second later, so that the client can read the rest.
    ResetMidway,
    /// The head and the body, then a proper end of TLS instead of the last byte that the head
    /// announces.
    CloseEarly,
    /// A proper end of TLS instead of an answer.
    CloseBefore,
    /// Bytes that are not HTTP.
    NotHttp,
    /// The body of the answer as the whole response, which begins with its own head. Then a proper
    /// end of TLS.
    Raw,
}

/// The TLS handshake of a connection. The default is [`Tls::Valid`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tls {
    /// A valid certificate of the portal's CA for the portal's names.
    #[default]
    Valid,
    /// A certificate that expired in 2001.
    Expired,
    /// A certificate for another host.
    OtherHost,
    /// A certificate of a CA that no client trusts.
    UnknownAuthority,
    /// A fatal alert as the answer to the ClientHello.
    Refuse,
    /// No answer to the ClientHello.
    Hang,
    /// A reset (RST) before the portal reads anything.
    Reset,
}
