//! Compares the files of deploy/monitoring and the page docs/monitoring.md with the metrics of
//! running services. promtool evaluates every expression with Prometheus's own engine.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod alerts;
mod dashboards;
mod documents;
mod expressions;
mod portal_incidents;
mod promtool;
mod scrape;
mod server;
mod setup;
mod store_incidents;
mod timeline;
mod traffic;

/// The three services: the jobs of Prometheus, and the names of the dashboards.
pub(crate) const SERVICES: [&str; 3] = ["authsvc", "objstore-svc", "payments-svc"];

/// Replaces every run of white space with one space.
pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
