//! The counters in the text format of Prometheus.

use std::collections::BTreeMap;

use common::telemetry::{family, float, labelled, metric};
use prometheus::{
    TextEncoder,
    proto::{Metric, MetricType, Summary},
};

use super::{Latency, Operation, Route, Snapshot, Split, json::seconds_since_epoch};

/// Type, name and description of each family, in the order of [`samples`].
const FAMILIES: [[&str; 3]; 21] = [
    ["counter", "requests_total", "Requests received."],
    ["counter", "requests_success_total", "Requests answered with a status below 400."],
    ["counter", "requests_failed_total", "Requests answered with a status of 400 or above."],
    ["counter", "responses_total", "Responses by status."],
    ["counter", "route_requests_total", "Requests received, by method and route template."],
    ["counter", "errors_total", "Error responses, by type."],
    [
        "counter",
        "authentication_requests_total",
        "Sign-ins attempted, by whether a profile was requested.",
    ],
    ["counter", "authentication_results_total", "Sign-ins by result."],
    [
        "counter",
        "profile_field_filtering_total",
        "Profiles fetched, by whether only some fields were requested.",
    ],
    ["counter", "profile_parse_errors_total", "Anomalies of profiles, by reason."],
    ["counter", "validation_errors_total", "Broken validation rules, by field."],
    ["counter", "failures_total", "Failed requests, by side: client or server."],
    [
        "summary",
        "request_latency_seconds",
        "Time from the receipt of a request to the start of its response.",
    ],
    [
        "summary",
        "route_latency_seconds",
        "Time from the receipt of a request to the start of its response, by method and route.",
    ],
    ["counter", "upstream_requests_total", "Calls to the portal, by operation and outcome."],
    ["counter", "upstream_responses_total", "Answers of the portal, by operation and status."],
    ["summary", "upstream_latency_seconds", "Time of calls to the portal, by operation."],
    ["counter", "http_clients_total", "HTTP clients of the portal, by event."],
    ["counter", "lifespan_events_total", "Starts and stops of the service."],
    ["gauge", "requests_in_flight", "Requests being answered."],
    [
        "gauge",
        "process_start_time_seconds",
        "When the process started, in seconds since the Unix epoch.",
    ],
];

/// Renders a snapshot. Every family has its HELP and its TYPE, also without samples.
pub(crate) fn prometheus(snapshot: &Snapshot) -> Result<String, prometheus::Error> {
    let mut text = String::new();
    let encoder = TextEncoder::new();
    for ([kind, name, help], samples) in FAMILIES.into_iter().zip(samples(snapshot)) {
        let name = format!("authsvc_{name}");
        if samples.is_empty() {
            // The encoder rejects a family without samples.
            text.push_str(&format!("# HELP {name} {help}\n# TYPE {name} {kind}\n"));
        } else {
            let kind = match kind {
                "summary" => MetricType::SUMMARY,
                "gauge" => MetricType::GAUGE,
                _ => MetricType::COUNTER,
            };
            encoder.encode_utf8(&[family(&name, help, kind, samples)], &mut text)?;
        }
    }
    Ok(text)
}

fn samples(snapshot: &Snapshot) -> [Vec<Metric>; FAMILIES.len()] {
    let Snapshot { counters: totals, started, .. } = snapshot;
    let [failed, success] = totals.outcomes;
    let upstream = || Operation::ALL.iter().map(|operation| operation.name()).zip(&totals.upstream);
    let timed = totals.routes.iter().filter(|route| route.latency.count > 0);
    let calls = upstream().flat_map(|(operation, calls)| {
        [("success", calls.success), ("error", calls.error), ("cancelled", calls.cancelled)]
            .into_iter()
            .filter(|&(_, count)| count > 0)
            .map(move |(outcome, count)| {
                counter(&[("operation", operation), ("outcome", outcome)], count)
            })
    });
    let answers = upstream().flat_map(|(operation, calls)| {
        calls.statuses.iter().map(move |(status, &count)| {
            counter(&[("operation", operation), ("status", &status.to_string())], count)
        })
    });
    let timed_calls = upstream().filter(|(_, calls)| calls.latency.count > 0);
    [
        vec![counter(&[], totals.requests)],
        vec![counter(&[], success)],
        vec![counter(&[], failed)],
        each("status", &totals.statuses, u16::to_string),
        totals.routes.iter().map(|route| counter(&labels(route), route.requests)).collect(),
        each("type", &totals.errors, |error| error.name()),
        split("profile", ["false", "true"], totals.attempts),
        split("result", ["failure", "success"], totals.results),
        split("enabled", ["false", "true"], totals.filtering),
        each("reason", &totals.anomalies, |anomaly| anomaly.name()),
        each("field", &totals.invalid, |input| input.name()),
        split("fault", ["client", "server"], totals.faults),
        vec![summary(&[], totals.latency)],
        timed.map(|route| summary(&labels(route), route.latency)).collect(),
        calls.collect(),
        answers.collect(),
        timed_calls.map(|(name, calls)| summary(&[("operation", name)], calls.latency)).collect(),
        split("event", ["created", "closed"], totals.clients),
        split("event", ["startup", "shutdown"], totals.lifespan),
        vec![metric(MetricType::GAUGE, float(totals.in_flight), &[])],
        vec![metric(MetricType::GAUGE, seconds_since_epoch(*started), &[])],
    ]
}

fn labels(route: &Route) -> [(&str, &str); 2] {
    [("method", route.method), ("route", &route.route)]
}

fn counter(labels: &[(&str, &str)], count: u64) -> Metric {
    metric(MetricType::COUNTER, float(count), labels)
}

/// A summary without quantiles: only a sum and a count.
fn summary(labels: &[(&str, &str)], latency: Latency) -> Metric {
    let mut metric = labelled(labels);
    let mut summary = Summary::default();
    summary.set_sample_sum(latency.sum.as_secs_f64());
    summary.set_sample_count(latency.count);
    metric.set_summary(summary);
    metric
}

/// One sample for each count.
fn each<K, N: AsRef<str>>(
    label: &str,
    counts: &BTreeMap<K, u64>,
    name: impl Fn(&K) -> N,
) -> Vec<Metric> {
    counts.iter().map(|(key, &count)| counter(&[(label, name(key).as_ref())], count)).collect()
}

/// One sample for each count that is not zero.
fn split(label: &str, names: [&str; 2], counts: Split) -> Vec<Metric> {
    let counted = names.into_iter().zip(counts).filter(|&(_, count)| count > 0);
    counted.map(|(name, count)| counter(&[(label, name)], count)).collect()
}
