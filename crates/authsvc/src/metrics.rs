//! Counters that add up exactly in every scrape: a total equals the sum of its parts.
//! `docs/decisions/exact-metrics.md` has the reasons at length.
//!
//! Before a change, know:
//! 1. **One lock guards all counters.** When a request ends, its outcome and all its samples are
//!    added under one lock, and a scrape copies all counters under the same lock. With a separate
//!    atomic per counter, a scrape could see a total without its parts. The lock is never held
//!    across an await.
//! 2. **Two sums hold in every scrape.** Requests = succeeded + failed + in flight + abandoned
//!    requests, which have no counter. Sign-ins = failed + succeeded + sign-ins in flight.
//! 3. **A portal call counts once, by how it ends** ([`Samples::call`]). Any answer is `success`,
//!    also with a wrong status or body. No answer, or none in time, is `error`. A call that is
//!    dropped because the caller disconnected is `cancelled`, and has neither latency nor status.
//! 4. **Portal calls appear when their request ends**, not when they end, because they are added
//!    with the outcome. Only arrivals, attempted sign-ins, HTTP clients, starts and stops are
//!    counted immediately.
//! 5. **The [`Exchange`] must be dropped after the handler.** If the caller disconnects, the
//!    handler is dropped first, and its open calls are recorded as cancelled. The drop of the
//!    exchange then adds them, and the request has no outcome. In the other order the cancelled
//!    calls would be lost.
//! 6. **A response with [`Abandoned`] is not sent**, because the caller has disconnected. Its
//!    request has no outcome.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use axum::{extract::Request, http::StatusCode, response::Response};
use common::telemetry::{Meter, RequestLine};
use jiff::Timestamp;

use crate::domain::{Anomaly, Input, Invalid};

mod json;
mod prometheus;
mod samples;

pub(crate) use json::json;
pub(crate) use prometheus::prometheus;
pub(crate) use samples::{ClientOpen, Operation, Samples};

/// Number and sum of durations.
#[derive(Debug, Clone, Copy, Default)]
struct Latency {
    count: u64,
    sum: Duration,
}

impl Latency {
    fn add(&mut self, latency: Duration) {
        self.count += 1;
        self.sum += latency;
    }
}

#[derive(Debug, Clone, Default)]
struct Route {
    method: &'static str,
    route: String,
    requests: u64,
    latency: Latency,
}

#[derive(Debug, Clone, Default)]
struct Upstream {
    success: u64,
    error: u64,
    cancelled: u64,
    latency: Latency,
    statuses: BTreeMap<u16, u64>,
}

/// Extension of a response whose caller has disconnected: its request has no outcome.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Abandoned;

/// Two counts, such as those of `false` and `true`. The comment of each field names them in order.
type Split = [u64; 2];

/// The label `type` of `errors_total`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ErrorType {
    /// The portal rejected the credentials.
    Authentication,
    /// The portal answered the login unexpectedly, or not at all.
    Upstream,
    /// The portal answered the request for a profile unexpectedly, or not at all.
    ProfileFetch,
    /// The answer of the portal has no usable profile.
    ProfileParse,
    /// The token of `/metrics` is missing or wrong.
    MetricsAuthorization,
    /// The request breaks a rule.
    RequestValidation,
    /// The limit of sign-ins in flight or of memory is reached.
    Overload,
    /// A rate limit rejects the request.
    RateLimit,
    /// Anything else.
    Internal,
}

impl ErrorType {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Authentication => "AuthenticationError",
            Self::Upstream => "UpstreamError",
            Self::ProfileFetch => "ProfileFetchError",
            Self::ProfileParse => "ProfileParseError",
            Self::MetricsAuthorization => "MetricsAuthorizationError",
            Self::RequestValidation => "RequestValidationError",
            Self::Overload => "OverloadError",
            Self::RateLimit => "RateLimitError",
            Self::Internal => "InternalError",
        }
    }
}

/// Extension of an error response, for the metrics.
#[derive(Debug, Clone)]
pub(crate) struct Failure {
    pub(crate) error: ErrorType,
    /// Broken rules, for [`ErrorType::RequestValidation`].
    pub(crate) invalid: Vec<Invalid>,
}

/// All counters since the start of the process.
#[derive(Debug, Clone, Default)]
struct Counters {
    requests: u64,
    in_flight: u64,
    /// Requests that failed, and that succeeded.
    outcomes: Split,
    /// Failures with a status of 4xx, and of 5xx.
    faults: Split,
    latency: Latency,
    statuses: BTreeMap<u16, u64>,
    /// In the order of their first requests.
    routes: Vec<Route>,
    errors: BTreeMap<ErrorType, u64>,
    invalid: BTreeMap<Input, u64>,
    /// Sign-ins that request no profile, and that request one.
    attempts: Split,
    /// Sign-ins that failed, and that succeeded.
    results: Split,
    /// Fetched profiles with all fields, and with only some fields.
    filtering: Split,
    anomalies: BTreeMap<Anomaly, u64>,
    /// Indexed by [`Operation`].
    upstream: [Upstream; 2],
    /// HTTP clients of the portal that were created, and that were closed.
    clients: Split,
    /// Starts of the service, and stops.
    lifespan: Split,
}

pub(crate) struct Metrics {
    counters: Mutex<Counters>,
    started: Timestamp,
    clock: Instant,
}

/// A copy of all counters for one scrape.
pub(crate) struct Snapshot {
    counters: Counters,
    started: Timestamp,
    uptime: Duration,
}

impl Metrics {
    pub(crate) fn start() -> Self {
        let (started, clock) = (Timestamp::now(), Instant::now());
        Self { counters: Mutex::default(), started, clock }
    }

    pub(crate) fn startup(&self) {
        self.counters().lifespan[0] += 1;
    }

    pub(crate) fn shutdown(&self) {
        self.counters().lifespan[1] += 1;
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        let counters = self.counters().clone();
        Snapshot { counters, started: self.started, uptime: self.clock.elapsed() }
    }

    /// The lock is held for a few additions, never across an await. Poisoning is ignored, because
    /// additions cannot panic half way.
    fn counters(&self) -> MutexGuard<'_, Counters> {
        self.counters.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The route of sign-ins. Only its requests have [`Samples`].
pub(crate) const SIGN_IN: &str = "/authenticate";

/// A request in flight. If it is dropped without an answer, its samples are added without an
/// outcome.
pub(crate) struct Exchange {
    metrics: Arc<Metrics>,
    samples: Option<Samples>,
    ended: bool,
}

impl Exchange {
    fn end(&mut self, outcome: impl FnOnce(&mut Counters)) {
        if !self.ended {
            self.ended = true;
            let mut counters = self.metrics.counters();
            counters.in_flight -= 1;
            if let Some(samples) = &self.samples {
                samples.add_to(&mut counters);
            }
            outcome(&mut counters);
        }
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        self.end(|_| {});
    }
}

/// The [`Meter`] of the service. It counts every request, also with 404 and 405.
pub(crate) struct Metering(pub(crate) Arc<Metrics>);

impl Meter for Metering {
    type Exchange = Exchange;

    fn arrived(&self, line: RequestLine<'_>, request: &mut Request) -> Exchange {
        let samples = (line.route == SIGN_IN).then(|| Samples::new(&self.0));
        if let Some(samples) = &samples {
            request.extensions_mut().insert(samples.clone());
        }
        let mut counters = self.0.counters();
        counters.requests += 1;
        counters.in_flight += 1;
        counters.route(line).requests += 1;
        drop(counters);
        Exchange { metrics: Arc::clone(&self.0), samples, ended: false }
    }

    fn answered(
        &self,
        mut exchange: Exchange,
        line: RequestLine<'_>,
        response: &Response,
        latency: Duration,
    ) {
        if response.extensions().get::<Abandoned>().is_some() {
            return;
        }
        let status = response.status();
        let failure = response.extensions().get::<Failure>();
        exchange.end(|counters| {
            counters.end(line, status, latency);
            if let Some(Failure { error, invalid }) = failure {
                *counters.errors.entry(*error).or_default() += 1;
                for Invalid { input, times, .. } in invalid {
                    *counters.invalid.entry(*input).or_default() += times;
                }
            }
        });
    }

    fn refused(&self, status: StatusCode) {
        let mut counters = self.0.counters();
        counters.requests += 1;
        counters.route(RequestLine::UNPARSED).requests += 1;
        counters.end(RequestLine::UNPARSED, status, Duration::ZERO);
    }
}

impl Counters {
    fn end(&mut self, line: RequestLine<'_>, status: StatusCode, latency: Duration) {
        let status = status.as_u16();
        self.outcomes[usize::from(status < 400)] += 1;
        if status >= 400 {
            self.faults[usize::from(status >= 500)] += 1;
        }
        *self.statuses.entry(status).or_default() += 1;
        self.latency.add(latency);
        self.route(line).latency.add(latency);
    }

    fn route(&mut self, line: RequestLine<'_>) -> &mut Route {
        let is_same = |known: &Route| known.method == line.method && known.route == line.route;
        let index = self.routes.iter().position(is_same).unwrap_or(self.routes.len());
        if index == self.routes.len() {
            let route = line.route.to_owned();
            self.routes.push(Route { method: line.method, route, ..Route::default() });
        }
        &mut self.routes[index]
    }
}
