//! The files of deploy/monitoring and the page docs/monitoring.md, compared with the metrics of
//! running services. Prometheus's own engine, in promtool, evaluates every expression.

#![expect(clippy::unwrap_used, reason = "what a test cannot do without fails it")]

mod alerts;
mod dashboards;
mod documents;
mod expressions;
mod promtool;
mod scrape;
mod setup;
mod traffic;

/// The three services: the jobs of Prometheus, and the names of the dashboards.
pub(crate) const SERVICES: [&str; 3] = ["authsvc", "objstore-svc", "payments-svc"];

/// A text with one space for every run of white space.
pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
