//! Received calls and counters, for tests to assert on.

use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use tokio::sync::watch;

/// A received call, unchanged. Passwords are in plain text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Received {
    /// Number of its connection, counted from 1 for each portal.
    pub connection: u64,
    /// The HTTP method, in upper case. An honest portal accepts only `POST`.
    pub method: String,
    /// The path, including the query, if any.
    pub path: String,
    /// Names in lower case with their values, in the order of arrival.
    pub headers: Vec<(String, String)>,
    /// The fields of its form in order. Empty if the body was not a form of text fields.
    pub fields: Vec<(String, String)>,
    /// Changes until the call has ended.
    pub outcome: Outcome,
}

impl Received {
    /// Returns the first header with this name, which must be in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        find(&self.headers, name)
    }

    /// Returns the first form field with this name.
    pub fn field(&self, name: &str) -> Option<&str> {
        find(&self.fields, name)
    }
}

fn find<'a>(pairs: &'a [(String, String)], name: &str) -> Option<&'a str> {
    pairs.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
}

/// The state of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The answer is not complete yet.
    Underway,
    /// The whole answer was passed to the connection.
    Answered,
    /// The portal ended it without a complete answer, because its script requires this.
    BrokenOff,
    /// The client disconnected before the end of the answer.
    Abandoned,
}

/// Counters of all connections since the portal started. The control interface is not counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Accepted TCP connections, whether or not their handshake succeeded.
    pub connections: u64,
    /// Connections that are open at the moment.
    pub open: u64,
    /// Completed TLS handshakes.
    pub handshakes: u64,
    /// Completed handshakes that resumed an earlier session. Included in `handshakes`.
    pub resumptions: u64,
    /// Failed TLS handshakes, whether caused by the client or by the script.
    pub failed_handshakes: u64,
}

/// A call without an outcome yet. Dropping it records [`Outcome::Abandoned`].
pub(crate) struct Underway {
    call: Arc<Mutex<Received>>,
    changed: watch::Sender<()>,
    ended: bool,
}

impl Underway {
    pub(crate) fn new(call: Arc<Mutex<Received>>, changed: watch::Sender<()>) -> Self {
        Self { call, changed, ended: false }
    }

    /// Sets the outcome. Only the first call has an effect.
    pub(crate) fn end(&mut self, outcome: Outcome) {
        if !std::mem::replace(&mut self.ended, true) {
            self.call.lock().unwrap_or_else(PoisonError::into_inner).outcome = outcome;
            self.changed.send_replace(());
        }
    }
}

impl Drop for Underway {
    fn drop(&mut self) {
        self.end(Outcome::Abandoned);
    }
}
