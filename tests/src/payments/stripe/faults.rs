//! Requests that go wrong.

use std::time::Duration;

use rand::{RngExt as _, SeedableRng as _, rngs::StdRng};
use serde_json::{Value, json};

/// What goes wrong with a request.
#[derive(Debug, Clone)]
pub enum Fault {
    /// Stripe does nothing, and does not answer.
    Hang,
    /// Stripe does the work, but the connection breaks before its answer.
    Drop,
    /// Stripe does the work, but does not answer.
    Silence,
    /// The connection breaks, and Stripe does the work after this time.
    Late(Duration),
    /// Stripe does nothing, and answers with this status and this body.
    Answer(u16, Value),
    /// Stripe does the work, but answers with its error 500.
    LateError,
    /// A proxy of Stripe answers with an HTML page.
    Html,
    /// Stripe does the work, but its answer has another shape than documented.
    OtherShape,
}

impl Fault {
    /// An error of Stripe without any work.
    pub fn error(status: u16, kind: &str, code: &str) -> Self {
        let error = json!({ "type": kind, "code": code, "message": format!("{code} ({status})") });
        Self::Answer(status, json!({ "error": error }))
    }

    /// Another request changes the same object, or there are too many requests.
    pub fn lock_timeout() -> Self {
        Self::error(429, "invalid_request_error", "lock_timeout")
    }

    /// Stripe keeps this answer under the idempotency key.
    pub fn internal() -> Self {
        Self::error(500, "api_error", "")
    }
}

struct Rule {
    method: String,
    path: String,
    fault: Fault,
    times: u32,
}

#[derive(Default)]
pub(super) struct Faults {
    rules: Vec<Rule>,
    /// The part of the requests that fails, from 0 to 1.
    random: Option<(StdRng, f64)>,
}

impl Faults {
    pub(super) fn add(&mut self, method: &str, path: &str, fault: Fault, times: u32) {
        let (method, path) = (method.to_owned(), path.to_owned());
        self.rules.push(Rule { method, path, fault, times });
    }

    pub(super) fn at_random(&mut self, seed: u64, rate: f64) {
        self.random = Some((StdRng::seed_from_u64(seed), rate));
    }

    /// The fault of the next request.
    pub(super) fn next(&mut self, method: &str, path: &str) -> Option<Fault> {
        let is_meant =
            |rule: &&mut Rule| rule.times > 0 && rule.method == method && path.contains(&rule.path);
        if let Some(rule) = self.rules.iter_mut().find(is_meant) {
            rule.times -= 1;
            return Some(rule.fault.clone());
        }
        // A job asks for events at any time, so these requests would make the sequence another one.
        let (rng, rate) = self.random.as_mut().filter(|_| !path.contains("/v1/events"))?;
        if !rng.random_bool(*rate) {
            return None;
        }
        Some(match rng.random_range(0..4) {
            0 | 1 => Fault::lock_timeout(),
            2 => Fault::internal(),
            _ => Fault::LateError,
        })
    }
}
