//! What is counted. The outcome of a request is written at once, and a scrape reads one snapshot, so
//! that the numbers of every scrape agree with each other.

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

/// How often something took how long.
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

/// Requests to one route with one method.
#[derive(Debug, Clone, Default)]
struct Route {
    method: &'static str,
    route: String,
    requests: u64,
    latency: Latency,
}

/// Calls of one operation of the portal.
#[derive(Debug, Clone, Default)]
struct Upstream {
    success: u64,
    error: u64,
    cancelled: u64,
    latency: Latency,
    statuses: BTreeMap<u16, u64>,
}

/// What a response carries that nobody receives: its request has no outcome.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Abandoned;

/// A number for no and one for yes.
type Split = [u64; 2];

/// What an error is called, in `errors_total`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ErrorType {
    /// The portal rejected the credentials.
    Authentication,
    /// The portal did not answer the login as it should.
    Upstream,
    /// The portal did not answer the request for a profile as it should.
    ProfileFetch,
    /// The portal's profile is none.
    ProfileParse,
    /// The token of `/metrics` is missing or wrong.
    MetricsAuthorization,
    /// The request breaks a rule.
    RequestValidation,
    /// The service has no room for the request.
    Overload,
    /// A rate limit refuses the request.
    RateLimit,
    /// Anything else.
    Internal,
}

impl ErrorType {
    /// Its label.
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

/// What a response that was rendered for an error carries for the metrics.
#[derive(Debug, Clone)]
pub(crate) struct Failure {
    /// The error.
    pub(crate) error: ErrorType,
    /// The rules that were broken, if that is what it is about.
    pub(crate) invalid: Vec<Invalid>,
}

/// Everything that is counted, at one moment. Zero at the start of the process.
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
    /// In the order in which they were first asked for.
    routes: Vec<Route>,
    errors: BTreeMap<ErrorType, u64>,
    invalid: BTreeMap<Input, u64>,
    /// Sign-ins without and with a profile.
    attempts: Split,
    /// Sign-ins that failed, and that succeeded.
    results: Split,
    /// Profiles of which all fields were asked for, and those of which some were.
    filtering: Split,
    anomalies: BTreeMap<Anomaly, u64>,
    /// Calls to log in, and to fetch a profile.
    upstream: [Upstream; 2],
    /// Clients of the portal that were made, and that are gone.
    clients: Split,
    /// Starts and stops of the service.
    lifespan: Split,
}

/// The service's counters.
pub(crate) struct Metrics {
    counters: Mutex<Counters>,
    started: Timestamp,
    clock: Instant,
}

/// What a scrape sees.
pub(crate) struct Snapshot {
    counters: Counters,
    started: Timestamp,
    uptime: Duration,
}

impl Metrics {
    /// Counters of a process that starts now.
    pub(crate) fn start() -> Self {
        let (started, clock) = (Timestamp::now(), Instant::now());
        Self { counters: Mutex::default(), started, clock }
    }

    /// The service has started.
    pub(crate) fn startup(&self) {
        self.counters().lifespan[0] += 1;
    }

    /// The service stops.
    pub(crate) fn shutdown(&self) {
        self.counters().lifespan[1] += 1;
    }

    /// Everything, at this moment.
    pub(crate) fn snapshot(&self) -> Snapshot {
        let counters = self.counters().clone();
        Snapshot { counters, started: self.started, uptime: self.clock.elapsed() }
    }

    /// The lock is held for a few additions, never across an await. Additions cannot panic half
    /// way, so what a panic elsewhere leaves behind is whole.
    fn counters(&self) -> MutexGuard<'_, Counters> {
        self.counters.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One request. Dropped unanswered, it leaves the samples it has gathered and no outcome.
pub(crate) struct Exchange {
    samples: Samples,
    ended: bool,
}

impl Exchange {
    fn end(&mut self, outcome: impl FnOnce(&mut Counters)) {
        if !self.ended {
            self.ended = true;
            let mut counters = self.samples.metrics().counters();
            counters.in_flight -= 1;
            self.samples.add_to(&mut counters);
            outcome(&mut counters);
        }
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        self.end(|_| {});
    }
}

/// The service's [`Meter`]: it counts every request, 404 and 405 included.
pub(crate) struct Metering(pub(crate) Arc<Metrics>);

impl Meter for Metering {
    type Exchange = Exchange;

    fn arrived(&self, line: RequestLine<'_>, request: &mut Request) -> Exchange {
        let samples = Samples::new(&self.0);
        request.extensions_mut().insert(samples.clone());
        let mut counters = self.0.counters();
        counters.requests += 1;
        counters.in_flight += 1;
        counters.route(line).requests += 1;
        drop(counters);
        Exchange { samples, ended: false }
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
        let known = |it: &Route| it.method == line.method && it.route == line.route;
        let place = self.routes.iter().position(known).unwrap_or(self.routes.len());
        if place == self.routes.len() {
            let route = line.route.to_owned();
            self.routes.push(Route { method: line.method, route, ..Route::default() });
        }
        &mut self.routes[place]
    }
}

/// A count as Prometheus and JSON know numbers.
#[expect(clippy::cast_precision_loss, reason = "exact up to 2^53, which no count reaches")]
fn float(count: u64) -> f64 {
    count as f64
}
