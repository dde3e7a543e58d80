//! Tests the contract of authsvc from outside.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod interruptions;
mod isolation;
mod login;
mod metrics;
mod odd_answers;
mod operations;
mod pages;
mod probe;
mod profiles;
mod program;
mod routing;
mod secrets;
mod tools;
mod trouble;
mod validation;
