//! Checks the documents against the project: links, commands, settings, endpoints and diagrams.

#![expect(clippy::unwrap_used, reason = "a document that cannot be read is a failed test")]

mod commands;
mod diagrams;
mod links;
mod names;
mod settings;
mod signing;
mod sql;

/// The programs that have settings.
const PROGRAMS: [&str; 5] =
    ["authsvc", "objstore-svc", "payments-svc", "demo-portal", "demo-acquirer"];

fn assert_none(violations: &[String]) {
    assert!(violations.is_empty(), "\n{}", violations.join("\n"));
}
