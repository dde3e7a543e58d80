//! Checks the documents against the project: links, commands, settings, endpoints and diagrams.

#![expect(clippy::unwrap_used, reason = "a document that cannot be read is a failed test")]

mod commands;
mod diagrams;
mod links;
mod names;
mod settings;

/// The programs that have settings.
const PROGRAMS: [&str; 4] = ["authsvc", "objstore-svc", "payments-svc", "demo-portal"];

fn assert_none(violations: &[String]) {
    assert!(violations.is_empty(), "\n{}", violations.join("\n"));
}
