//! A stand-in for the acquirer of live merchants, for tests and development. It speaks the protocol
//! of `docs/acquirer-protocol.yaml` over TLS, pays with test cards, and keeps its book in memory.
//! Rules make it fail as an acquirer or a network can fail.
//!
//! # The control interface
//!
//! For tests and operators: JSON over plain HTTP on a separate port.
//!
//! | request | body | answer |
//! |---|---|---|
//! | `GET /book` | | `{"operations": […], "notifications": […]}`, oldest first |
//! | `GET /settlement?date=2026-11-22` | | the settlement file of this UTC date, CSV |
//! | `POST /faults` | a list of rules, added after the current ones | 204 |
//! | `DELETE /faults` | | 204 |
//! | `POST /delay` | `{"ms": 500}`: how long each answer takes, except for `pending` | 204 |
//! | `POST /capabilities` | the member `capabilities` of later approvals. The acquirer does not follow it | 204 |
//! | `POST /notifications` | a notification for payments-svc. An `id` and `created` are added if absent | 202 |
//!
//! A rule is `{"kind": K, "next": N, "probability": P, "fault": F}`. It applies to requests of kind
//! `authorization`, `completion`, `capture`, `refund`, `void`, `reversal` or `question`, or to a
//! `notification`. Without `kind`, it applies to each kind that `F` can affect. It ends after `N`
//! applications, if `N` is given. `P` is 1 unless given; `DEMO_ACQUIRER_SEED` makes its outcomes the
//! same in each run. The first rule that applies wins.
//!
//! | fault | effect |
//! |---|---|
//! | `"close"` | the connection ends, and nothing is done |
//! | `"hang"` | no answer, and nothing is done |
//! | `"500"` | status 500, and nothing is done |
//! | `"refuse"` | an authorization is declined with code 8, another operation is refused |
//! | `"drop"` | all is done, then the connection ends without an answer |
//! | `{"late": {"ms": 500}}` | all is done, and the answer follows later |
//! | `"unsigned"`, `"wrong-signature"` | all is done, but the answer has no signature or a wrong one |
//! | `"twice"` | the notification is sent twice |
//! | `"out-of-order"` | the notification is sent after the next one |
//! | `"lost"` | the notification is not sent. `GET /facts` lists it |
//!
//! A notification of type `operation.refused` also undoes the capture, refund or void in the book.

use std::process::ExitCode;

use common::{config::or_exit, process};
use stand_in::health::healthcheck;

mod book;
mod card;
mod challenge;
mod config;
mod control;
mod fault;
mod key;
mod money;
mod notification;
mod protocol;
mod request;
mod service;
mod settlement;
mod signature;

use crate::{
    config::{CA_FILE, Cli, Command, DEFAULT_PORT},
    service::start,
};

fn main() -> ExitCode {
    let Cli { command, config } = common::config::parse(DEFAULT_PORT);
    match command {
        None => process::run(&config.server.clone(), start(config)),
        Some(Command::Healthcheck) => {
            or_exit(healthcheck(&config.server, config.ca_file.as_deref(), CA_FILE));
            ExitCode::SUCCESS
        }
    }
}
