//! What the portal is told to do instead of what is right: values of the library, and the JSON of
//! the control interface.

use std::{collections::VecDeque, time::Duration};

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The user whose script is everybody's who has none of their own.
pub const ANYONE: &str = "*";

/// One of the two calls of the interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// `POST /MAcademy/mobile/mobilelogin/auth`
    Login,
    /// `POST /MAcademy/mobile/dispatcher`
    Profile,
}

impl Operation {
    /// The path that it is called at.
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

/// What happens on the next occasions, and on all after them. An empty script changes nothing.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script<T> {
    /// What happens once each, in order.
    #[serde(default = "VecDeque::new")]
    pub next: VecDeque<T>,
    /// What happens from then on; what is usual without it.
    #[serde(default = "Option::default")]
    pub then: Option<T>,
}

impl<T> Script<T> {
    /// Each of these once, then what is usual.
    pub fn queue(next: impl IntoIterator<Item = T>) -> Self {
        Self { next: next.into_iter().collect(), then: None }
    }
}

impl<T: Clone> Script<T> {
    pub(crate) fn advance(&mut self) -> Option<T> {
        self.next.pop_front().or_else(|| self.then.clone())
    }
}

/// A script that never ends.
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
    /// What to answer; the honest answer without it.
    pub answer: Option<Answer>,
    /// Headers to add to the answer.
    pub headers: Vec<(String, String)>,
    /// How the answer is sent.
    pub delivery: Delivery,
}

impl Behaviour {
    /// The answer of a portal that works.
    pub fn honest() -> Self {
        Self::default()
    }

    /// A status from 200 to 999 and a body.
    pub fn answer(status: u16, body: impl Into<Content>) -> Self {
        let answer = Some(Answer { status, body: body.into() });
        Self { answer, ..Self::default() }
    }

    /// A 302 to the place that was called.
    pub fn redirect(operation: Operation) -> Self {
        Self::answer(302, "").header("location", operation.path())
    }

    /// The same with a header more.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The same, this much later.
    #[must_use]
    pub fn after(mut self, delay: Duration) -> Self {
        self.delay_ms = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX);
        self
    }

    /// The same, sent like this.
    #[must_use]
    pub fn delivered(mut self, delivery: Delivery) -> Self {
        self.delivery = delivery;
        self
    }
}

/// The honest answer, sent like this.
impl From<Delivery> for Behaviour {
    fn from(delivery: Delivery) -> Self {
        Self::honest().delivered(delivery)
    }
}

/// A status and a body.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// From 200 to 999.
    pub status: u16,
    /// What comes with it.
    pub body: Content,
}

/// The body of an answer: `{"text": "…"}`, `{"json": …}` or `{"bytes": [255, …]}`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Content {
    /// As it stands.
    Text(String),
    /// A JSON value.
    Json(Value),
    /// What need not be text.
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

/// How an answer is sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Delivery {
    /// As it should be.
    #[default]
    Whole,
    /// Not at all: the connection stays open and silent.
    Hang,
    /// The head at once, then one byte a second.
    Drip,
    /// The body, then white space without end. With a `content-length` header, as much as it says.
    Flood,
    /// A reset (RST) instead of an answer.
    ResetBefore,
    /// The head and the body, then (half a second later, so that they are read) a reset, where the
    /// head announces one byte more.
    ResetMidway,
    /// The head and the body, then a proper end of TLS, where the head announces one byte more.
    CloseEarly,
    /// The connection ends properly, without an answer.
    CloseBefore,
    /// Bytes that are no HTTP.
    NotHttp,
}

/// How a connection is received. The default is [`Tls::Valid`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tls {
    /// A certificate of the portal's own authority, for its names.
    #[default]
    Valid,
    /// One that ended in 2001.
    Expired,
    /// One for another host.
    OtherHost,
    /// One of an authority that nobody knows.
    UnknownAuthority,
    /// A fatal alert for an answer to the client's greeting.
    Refuse,
    /// Nothing for an answer to it.
    Hang,
    /// A reset (RST) at once.
    Reset,
}
