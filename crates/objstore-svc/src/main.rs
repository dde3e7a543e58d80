//! objstore-svc: JSON objects under three-part keys, with changes pushed over a websocket.

use std::process::ExitCode;

use common::{config::or_refuse, operations, process};

mod config;
mod domain;
mod http;
mod service;
mod store;
mod watch;

use crate::{
    config::{Cli, Command, DEFAULT_PORT},
    service::{start, store_config},
    store::{backup, import},
};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let Cli { command, config } = common::config::parse(DEFAULT_PORT);
    match command {
        None => return process::run(&config.server.clone(), start(config)),
        Some(Command::Healthcheck) => or_refuse(operations::healthcheck(&config.server)),
        Some(Command::Backup { to }) => or_refuse(backup(&or_refuse(store_config(&config)), &to)),
        Some(Command::Import { from }) => {
            or_refuse(import(&or_refuse(store_config(&config)), &from));
        }
    }
    ExitCode::SUCCESS
}
