//! The counters as JSON, with labels folded into keys.

use std::{collections::BTreeMap, time::Duration};

use common::telemetry::float;
use serde::Serialize;

use super::{Latency, Operation, Snapshot, Split, Upstream};

/// The body of `GET /metrics?fmt=json`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct MetricsOutput {
    start_time_seconds: f64,
    uptime_seconds: f64,
    requests: RequestsOutput,
    latency: LatencyOutput,
    authentication: AuthenticationOutput,
    responses_by_status: BTreeMap<u16, u64>,
    requests_by_route: BTreeMap<String, RouteOutput>,
    errors_by_type: BTreeMap<&'static str, u64>,
    requests_in_flight: u64,
    failures_by_fault: BTreeMap<&'static str, u64>,
    validation_errors_by_field: BTreeMap<&'static str, u64>,
    authentication_results: BTreeMap<&'static str, u64>,
    profile_field_filtering: BTreeMap<&'static str, u64>,
    profile_parse_errors: BTreeMap<&'static str, u64>,
    upstream: BTreeMap<&'static str, UpstreamOutput>,
    http_clients: BTreeMap<&'static str, u64>,
    lifespan_events: BTreeMap<&'static str, u64>,
}

#[derive(Serialize)]
struct RequestsOutput {
    total: u64,
    success: u64,
    failed: u64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct AuthenticationOutput {
    total: u64,
    with_profile: u64,
    without_profile: u64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LatencyOutput {
    sum_seconds: f64,
    count: u64,
    /// `null` if nothing was recorded.
    average_seconds: Option<f64>,
}

#[derive(Serialize)]
struct RouteOutput {
    requests: u64,
    latency: LatencyOutput,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct UpstreamOutput {
    success: u64,
    error: u64,
    cancelled: u64,
    latency: LatencyOutput,
    responses_by_status: BTreeMap<u16, u64>,
}

pub(crate) fn json(snapshot: Snapshot) -> impl Serialize {
    let Snapshot { counters, started, uptime } = snapshot;
    let [failed, success] = counters.outcomes;
    let [without_profile, with_profile] = counters.attempts;
    let [created, closed] = counters.clients;
    let routes = counters.routes.into_iter().map(|route| {
        let output = RouteOutput { requests: route.requests, latency: route.latency.into() };
        (format!("{} {}", route.method, route.route), output)
    });
    let named = |operation: Operation| operation.name();
    MetricsOutput {
        start_time_seconds: seconds_since_epoch(started),
        uptime_seconds: uptime.as_secs_f64(),
        requests: RequestsOutput { total: counters.requests, success, failed },
        latency: counters.latency.into(),
        authentication: AuthenticationOutput {
            total: with_profile + without_profile,
            with_profile,
            without_profile,
        },
        responses_by_status: counters.statuses,
        requests_by_route: routes.collect(),
        errors_by_type: counters
            .errors
            .iter()
            .map(|(error, &count)| (error.name(), count))
            .collect(),
        requests_in_flight: counters.in_flight,
        failures_by_fault: split(["client", "server"], counters.faults),
        validation_errors_by_field: counters
            .invalid
            .iter()
            .map(|(input, &count)| (input.name(), count))
            .collect(),
        authentication_results: split(["failure", "success"], counters.results),
        profile_field_filtering: split(["false", "true"], counters.filtering),
        profile_parse_errors: counters
            .anomalies
            .iter()
            .map(|(anomaly, &count)| (anomaly.name(), count))
            .collect(),
        upstream: Operation::ALL
            .map(named)
            .into_iter()
            .zip(counters.upstream.map(Into::into))
            .collect(),
        // A client is closed by dropping it, which cannot fail.
        http_clients: [("created", created), ("closed", closed), ("close_failed", 0)].into(),
        lifespan_events: split(["startup", "shutdown"], counters.lifespan),
    }
}

fn split(names: [&'static str; 2], counts: Split) -> BTreeMap<&'static str, u64> {
    names.into_iter().zip(counts).collect()
}

pub(super) fn seconds_since_epoch(at: jiff::Timestamp) -> f64 {
    Duration::try_from(at.duration_since(jiff::Timestamp::UNIX_EPOCH))
        .unwrap_or_default()
        .as_secs_f64()
}

impl From<Latency> for LatencyOutput {
    fn from(latency: Latency) -> Self {
        let Latency { count, sum } = latency;
        let sum_seconds = sum.as_secs_f64();
        let average_seconds = (count > 0).then(|| sum_seconds / float(count));
        Self { sum_seconds, count, average_seconds }
    }
}

impl From<Upstream> for UpstreamOutput {
    fn from(upstream: Upstream) -> Self {
        let Upstream { success, error, cancelled, latency, statuses } = upstream;
        Self { success, error, cancelled, latency: latency.into(), responses_by_status: statuses }
    }
}
