//! payments-svc, held against its specification and its contract.

#![expect(clippy::unwrap_used, reason = "what a test cannot do without fails it")]

mod access;
mod apps;
mod books;
mod cards;
mod challenge;
mod client;
mod concurrency;
mod document;
mod exchange;
mod forms;
mod idempotency;
mod lines;
mod link;
mod lists;
mod members;
mod merchants;
mod moves;
mod operations;
mod outcomes;
mod page;
mod paths;
mod pos;
mod postgres;
mod program;
mod rates;
mod replicas;
mod restart;
mod secrets;
mod transactions;
mod wire;
