//! What the portal has received, for tests to assert on.

use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use tokio::sync::watch;

/// A call as it arrived.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Received {
    /// The connection it came on, counted from 1.
    pub connection: u64,
    /// `POST`, or what it was instead.
    pub method: String,
    /// The path, with the query if there was one.
    pub path: String,
    /// Names in lower case, and values.
    pub headers: Vec<(String, String)>,
    /// The fields of its form in their order, the password as it was typed.
    pub fields: Vec<(String, String)>,
    /// What has become of it so far.
    pub outcome: Outcome,
}

impl Received {
    /// The first header of this name (in lower case).
    pub fn header(&self, name: &str) -> Option<&str> {
        find(&self.headers, name)
    }

    /// The first field of this name.
    pub fn field(&self, name: &str) -> Option<&str> {
        find(&self.fields, name)
    }
}

fn find<'a>(pairs: &'a [(String, String)], name: &str) -> Option<&'a str> {
    pairs.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
}

/// What has become of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It has not been answered to the end.
    Underway,
    /// The whole answer is on its way.
    Answered,
    /// The portal broke it off, as its script says.
    BrokenOff,
    /// The client went away before the end of the answer.
    Abandoned,
}

/// What has happened on all connections since the portal started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Connections accepted.
    pub connections: u64,
    /// Connections that are open.
    pub open: u64,
    /// TLS handshakes that were completed.
    pub handshakes: u64,
    /// Those of them that took up an earlier session.
    pub resumptions: u64,
    /// TLS handshakes that failed, for the client's reasons or the script's.
    pub failed_handshakes: u64,
}

/// A call whose outcome is not known yet. Dropped before its end, it was abandoned.
pub(crate) struct Underway {
    call: Arc<Mutex<Received>>,
    changed: watch::Sender<()>,
    ended: bool,
}

impl Underway {
    pub(crate) fn new(call: Arc<Mutex<Received>>, changed: watch::Sender<()>) -> Self {
        Self { call, changed, ended: false }
    }

    /// Settles the outcome; the first one stands.
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
