//! objstore-svc against a model of it: what concurrent clients see is what one after another would
//! have seen, and what is found is what a filter lets through.

#![expect(clippy::unwrap_used, reason = "what a test cannot do without fails it")]

mod actor;
mod delivery;
mod finding;
mod histories;
mod history;
