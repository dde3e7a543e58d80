//! payments-svc: apps, merchants, transactions and a double-entry ledger.

use std::process::ExitCode;

use common::{
    config::or_exit, control::confirm_clock, exit::finish, operations, process, progress,
};

mod acquirer;
mod app;
mod authenticator;
mod config;
mod csv_file;
mod desk;
mod fields;
mod file;
mod formula;
mod http;
mod jobs;
mod language;
mod limits;
mod mail;
mod metrics;
mod new_key;
mod orders;
mod payout;
mod pos;
mod rates;
mod receipt_links;
mod reconcile;
mod returns;
mod seed;
mod service;
mod sign_in_link;
mod standing;
mod store;
mod web;
mod webhook;

use crate::{
    config::{Cli, Command, DEFAULT_PORT},
    new_key::new_key,
    payout::payout,
    reconcile::reconcile,
    returns::returns,
    seed::seed,
    service::start,
    sign_in_link::{reset_user, sign_in_link},
    standing::{approve, hold, release, set_bank},
    store::{Scope, Store, backup, check, import},
};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    or_exit(process::hide_memory());
    let Cli { command, config } = common::config::parse(DEFAULT_PORT);
    match command {
        None => process::run(&config.server.clone(), start(config)),
        Some(Command::Healthcheck) => finish(operations::healthcheck(&config.server)),
        Some(Command::Backup { to }) => {
            let store = or_exit(config.store());
            progress::run("backup", |progress| backup(&store, &to, progress))
        }
        Some(Command::Import { from }) => {
            let store = or_exit(config.store());
            progress::run("import", |progress| import(&store, &from, progress))
        }
        Some(Command::Check { since, slice }) => {
            let (store, scope) = (or_exit(config.store()), Scope { since, slice });
            progress::run("check", |progress| check(&store, scope, progress))
        }
        Some(Command::Payout(options)) => {
            progress::run("payout", |progress| payout(&config, &options, progress))
        }
        Some(Command::Reconcile(options)) => {
            progress::run("reconcile", |progress| reconcile(&config, &options, progress))
        }
        Some(Command::Returns { from }) => {
            progress::run("returns", |progress| returns(&config, &from, progress))
        }
        Some(Command::Hold(options)) => finish(hold(&config, options)),
        Some(Command::Release { merchant }) => finish(release(&config, merchant)),
        Some(Command::Approve { merchant }) => finish(approve(&config, merchant)),
        Some(Command::SetBank(options)) => finish(set_bank(&config, options)),
        Some(Command::SignInLink { email }) => finish(sign_in_link(&config, email)),
        Some(Command::ResetUser { email }) => finish(reset_user(&config, email)),
        Some(Command::ConfirmClock) => finish(confirm_clock::<Store>(&or_exit(config.store()))),
        Some(Command::NewKey(options)) => finish(new_key(&config, options)),
        Some(Command::Seed) => finish(seed(&config)),
    }
}
