//! The counters in the text format of Prometheus.

use prometheus::{
    TextEncoder,
    proto::{Counter, Gauge, LabelPair, Metric, MetricFamily, MetricType, Summary},
};

use super::{Latency, Operation, Snapshot, Split, float, json::seconds_since_epoch};

/// Renders a snapshot. Every family has its HELP and its TYPE, also without samples.
pub(crate) fn prometheus(snapshot: &Snapshot) -> Result<String, prometheus::Error> {
    let mut text = String::new();
    let encoder = TextEncoder::new();
    for family in families(snapshot) {
        if family.get_metric().is_empty() {
            // The encoder rejects a family without samples.
            let kind =
                if family.get_field_type() == MetricType::SUMMARY { "summary" } else { "counter" };
            let (name, help) = (family.name(), family.help());
            text.push_str(&format!("# HELP {name} {help}\n# TYPE {name} {kind}\n"));
        } else {
            encoder.encode_utf8(&[family], &mut text)?;
        }
    }
    Ok(text)
}

fn families(snapshot: &Snapshot) -> Vec<MetricFamily> {
    let Snapshot { counters: totals, started, .. } = snapshot;
    let [failed, success] = totals.outcomes;
    let upstream = || Operation::ALL.iter().map(|operation| operation.name()).zip(&totals.upstream);
    vec![
        counters("requests_total", "Requests received.", [counter([], totals.requests)]),
        counters(
            "requests_success_total",
            "Requests answered with a status below 400.",
            [counter([], success)],
        ),
        counters(
            "requests_failed_total",
            "Requests answered with a status of 400 or above.",
            [counter([], failed)],
        ),
        counters(
            "responses_total",
            "Responses by status.",
            totals
                .statuses
                .iter()
                .map(|(status, &count)| counter([("status", &status.to_string())], count)),
        ),
        counters(
            "route_requests_total",
            "Requests received, by method and route template.",
            totals.routes.iter().map(|route| {
                counter([("method", route.method), ("route", &route.route)], route.requests)
            }),
        ),
        counters(
            "errors_total",
            "Error responses, by type.",
            totals.errors.iter().map(|(error, &count)| counter([("type", error.name())], count)),
        ),
        counters(
            "authentication_requests_total",
            "Sign-ins attempted, by whether a profile was requested.",
            split("profile", ["false", "true"], totals.attempts),
        ),
        counters(
            "authentication_results_total",
            "Sign-ins by result.",
            split("result", ["failure", "success"], totals.results),
        ),
        counters(
            "profile_field_filtering_total",
            "Profiles fetched, by whether only some fields were requested.",
            split("enabled", ["false", "true"], totals.filtering),
        ),
        counters(
            "profile_parse_errors_total",
            "Anomalies of profiles, by reason.",
            totals
                .anomalies
                .iter()
                .map(|(anomaly, &count)| counter([("reason", anomaly.name())], count)),
        ),
        counters(
            "validation_errors_total",
            "Broken validation rules, by field.",
            totals.invalid.iter().map(|(input, &count)| counter([("field", input.name())], count)),
        ),
        counters(
            "failures_total",
            "Failed requests, by side: client or server.",
            split("fault", ["client", "server"], totals.faults),
        ),
        summaries(
            "request_latency_seconds",
            "Time from the receipt of a request to the start of its response.",
            [summary([], totals.latency)],
        ),
        summaries(
            "route_latency_seconds",
            "Time from the receipt of a request to the start of its response, by method and route.",
            totals.routes.iter().filter(|route| route.latency.count > 0).map(|route| {
                summary([("method", route.method), ("route", &route.route)], route.latency)
            }),
        ),
        counters(
            "upstream_requests_total",
            "Calls to the portal, by operation and outcome.",
            upstream().flat_map(|(operation, calls)| {
                [("success", calls.success), ("error", calls.error), ("cancelled", calls.cancelled)]
                    .into_iter()
                    .filter(|&(_, count)| count > 0)
                    .map(move |(outcome, count)| {
                        counter([("operation", operation), ("outcome", outcome)], count)
                    })
            }),
        ),
        counters(
            "upstream_responses_total",
            "Answers of the portal, by operation and status.",
            upstream().flat_map(|(operation, calls)| {
                calls.statuses.iter().map(move |(status, &count)| {
                    counter([("operation", operation), ("status", &status.to_string())], count)
                })
            }),
        ),
        summaries(
            "upstream_latency_seconds",
            "Time of calls to the portal, by operation.",
            upstream()
                .filter(|(_, calls)| calls.latency.count > 0)
                .map(|(operation, calls)| summary([("operation", operation)], calls.latency)),
        ),
        counters(
            "http_clients_total",
            "HTTP clients of the portal, by event.",
            split("event", ["created", "closed"], totals.clients),
        ),
        counters(
            "lifespan_events_total",
            "Starts and stops of the service.",
            split("event", ["startup", "shutdown"], totals.lifespan),
        ),
        family(
            "requests_in_flight",
            "Requests being answered.",
            MetricType::GAUGE,
            [gauge(float(totals.in_flight))],
        ),
        family(
            "process_start_time_seconds",
            "When the process started, in seconds since the Unix epoch.",
            MetricType::GAUGE,
            [gauge(seconds_since_epoch(*started))],
        ),
    ]
}

fn counters(name: &str, help: &str, metrics: impl IntoIterator<Item = Metric>) -> MetricFamily {
    family(name, help, MetricType::COUNTER, metrics)
}

fn summaries(name: &str, help: &str, metrics: impl IntoIterator<Item = Metric>) -> MetricFamily {
    family(name, help, MetricType::SUMMARY, metrics)
}

fn family(
    name: &str,
    help: &str,
    kind: MetricType,
    metrics: impl IntoIterator<Item = Metric>,
) -> MetricFamily {
    let mut family = MetricFamily::default();
    family.set_name(format!("authsvc_{name}"));
    family.set_help(help.to_owned());
    family.set_field_type(kind);
    family.set_metric(metrics.into_iter().collect());
    family
}

fn labelled<const N: usize>(labels: [(&str, &str); N]) -> Metric {
    let labels = labels.map(|(name, value)| {
        let mut label = LabelPair::default();
        label.set_name(name.to_owned());
        label.set_value(value.to_owned());
        label
    });
    Metric::from_label(labels.into())
}

fn counter<const N: usize>(labels: [(&str, &str); N], count: u64) -> Metric {
    let mut metric = labelled(labels);
    let mut counter = Counter::default();
    counter.set_value(float(count));
    metric.set_counter(counter);
    metric
}

/// A summary without quantiles: only a sum and a count.
fn summary<const N: usize>(labels: [(&str, &str); N], latency: Latency) -> Metric {
    let mut metric = labelled(labels);
    let mut summary = Summary::default();
    summary.set_sample_sum(latency.sum.as_secs_f64());
    summary.set_sample_count(latency.count);
    metric.set_summary(summary);
    metric
}

fn gauge(value: f64) -> Metric {
    let mut metric = labelled([]);
    let mut gauge = Gauge::default();
    gauge.set_value(value);
    metric.set_gauge(gauge);
    metric
}

/// One sample for each count that is not zero.
fn split(label: &str, names: [&str; 2], counts: Split) -> impl Iterator<Item = Metric> {
    let counted = names.into_iter().zip(counts).filter(|&(_, count)| count > 0);
    counted.map(move |(name, count)| counter([(label, name)], count))
}
