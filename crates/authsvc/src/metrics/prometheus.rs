//! The counters in Prometheus's text format.

use prometheus::{
    TextEncoder,
    proto::{Counter, Gauge, LabelPair, Metric, MetricFamily, MetricType, Summary},
};

use super::{Latency, Operation, Snapshot, Split, float, json::seconds_since_epoch};

/// Renders a snapshot. Every family has its HELP and its TYPE, those without a sample too.
pub(crate) fn prometheus(snapshot: &Snapshot) -> Result<String, prometheus::Error> {
    let mut text = String::new();
    let encoder = TextEncoder::new();
    for family in families(snapshot) {
        if family.get_metric().is_empty() {
            // The encoder refuses a family without a sample.
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
    let Snapshot { counters: it, started, .. } = snapshot;
    let [failed, success] = it.outcomes;
    let upstream = || Operation::ALL.iter().map(|operation| operation.name()).zip(&it.upstream);
    vec![
        counters("requests_total", "Requests received.", [counter([], it.requests)]),
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
            it.statuses
                .iter()
                .map(|(status, &count)| counter([("status", &status.to_string())], count)),
        ),
        counters(
            "route_requests_total",
            "Requests received, by method and route template.",
            it.routes
                .iter()
                .map(|it| counter([("method", it.method), ("route", &it.route)], it.requests)),
        ),
        counters(
            "errors_total",
            "Errors rendered, by type.",
            it.errors.iter().map(|(error, &count)| counter([("type", error.name())], count)),
        ),
        counters(
            "authentication_requests_total",
            "Sign-ins attempted, by whether a profile was asked for.",
            split("profile", ["false", "true"], it.attempts),
        ),
        counters(
            "authentication_results_total",
            "Sign-ins by result.",
            split("result", ["failure", "success"], it.results),
        ),
        counters(
            "profile_field_filtering_total",
            "Profiles fetched, by whether only some fields were asked for.",
            split("enabled", ["false", "true"], it.filtering),
        ),
        counters(
            "profile_parse_errors_total",
            "Oddities of profiles, by reason.",
            it.anomalies
                .iter()
                .map(|(anomaly, &count)| counter([("reason", anomaly.name())], count)),
        ),
        counters(
            "validation_errors_total",
            "Rules that requests broke, by field.",
            it.invalid.iter().map(|(input, &count)| counter([("field", input.name())], count)),
        ),
        counters(
            "failures_total",
            "Requests that failed, by whose fault it was.",
            split("fault", ["client", "server"], it.faults),
        ),
        summaries(
            "request_latency_seconds",
            "Time from the receipt of a request to the start of its response.",
            [summary([], it.latency)],
        ),
        summaries(
            "route_latency_seconds",
            "The same, by method and route template.",
            it.routes
                .iter()
                .filter(|it| it.latency.count > 0)
                .map(|it| summary([("method", it.method), ("route", &it.route)], it.latency)),
        ),
        counters(
            "upstream_requests_total",
            "Calls of the portal, by operation and outcome.",
            upstream().flat_map(|(operation, it)| {
                [("success", it.success), ("error", it.error), ("cancelled", it.cancelled)]
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
            upstream().flat_map(|(operation, it)| {
                it.statuses.iter().map(move |(status, &count)| {
                    counter([("operation", operation), ("status", &status.to_string())], count)
                })
            }),
        ),
        summaries(
            "upstream_latency_seconds",
            "Time that calls of the portal took, by operation.",
            upstream()
                .filter(|(_, it)| it.latency.count > 0)
                .map(|(operation, it)| summary([("operation", operation)], it.latency)),
        ),
        counters(
            "http_clients_total",
            "Clients of the portal, by what became of them.",
            split("event", ["created", "closed"], it.clients),
        ),
        counters(
            "lifespan_events_total",
            "Starts and stops of the service.",
            split("event", ["startup", "shutdown"], it.lifespan),
        ),
        family(
            "requests_in_flight",
            "Requests being answered.",
            MetricType::GAUGE,
            [gauge(float(it.in_flight))],
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

/// Neither quantiles nor buckets: a sum and a count.
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

/// The samples of a family that splits in two; none of what has not happened.
fn split(label: &str, names: [&str; 2], counts: Split) -> impl Iterator<Item = Metric> {
    let counted = names.into_iter().zip(counts).filter(|&(_, count)| count > 0);
    counted.map(move |(name, count)| counter([(label, name)], count))
}
