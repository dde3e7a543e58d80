//! Tests payments-svc against its specification and its contract.

#![expect(clippy::unwrap_used, reason = "a test fails if its preparation fails")]

mod access;
mod apps;
mod books;
mod broken;
mod cards;
mod challenge;
mod client;
mod commands;
mod concurrency;
mod disputes;
mod document;
mod events;
mod exchange;
mod forms;
mod frauds;
mod idempotency;
mod import;
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
mod upgrade;
mod wire;
