//! payments-svc, held against its specification and its contract.

#![expect(clippy::unwrap_used, reason = "what a test cannot do without fails it")]

mod access;
mod apps;
mod books;
mod broken;
mod cards;
mod challenge;
mod client;
mod concurrency;
mod disputes;
mod document;
mod exchange;
mod forms;
mod frauds;
mod idempotency;
mod ledger;
mod limits;
mod lines;
mod link;
mod lists;
mod locks;
mod mail;
mod members;
mod merchants;
mod moves;
mod notifications;
mod operations;
mod outcomes;
mod page;
mod paths;
mod payouts;
mod pos;
mod postgres;
mod program;
mod rates;
mod replays;
mod replicas;
mod restart;
mod secrets;
mod transactions;
mod wire;
