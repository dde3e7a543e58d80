//! objstore-svc checked against models: histories of concurrent clients against one order of
//! changes, deliveries against the watches, and `find` against a filter.

#![expect(clippy::unwrap_used, reason = "a failed step fails its test")]

mod actor;
mod delivery;
mod finding;
mod histories;
mod history;
