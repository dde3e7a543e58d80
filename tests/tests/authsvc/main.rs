//! The contract of authsvc, from outside.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod metrics;
mod operations;
mod pages;
mod program;
mod routing;
mod validation;
