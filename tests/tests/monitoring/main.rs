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

use std::{fs, path::PathBuf};

/// The three services: the jobs of Prometheus, and the names of the dashboards.
pub(crate) const SERVICES: [&str; 3] = ["authsvc", "objstore-svc", "payments-svc"];

/// A path in the project.
pub(crate) fn path(file: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..").join(file)
}

/// A file of the project.
pub(crate) fn read(file: &str) -> String {
    fs::read_to_string(path(file)).unwrap()
}

/// A text with one space for every run of white space.
pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
