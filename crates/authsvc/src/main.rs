//! authsvc: checks a username and a password with an academic portal.

use std::process::ExitCode;

use common::{config::or_exit, exit::finish, operations, process};

mod config;
mod domain;
mod http;
mod limits;
mod metrics;
mod portal;
mod probe;
mod service;

use crate::{
    config::{Cli, Command, DEFAULT_PORT},
    service::start,
};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    or_exit(process::hide_memory());
    let Cli { command, config } = common::config::parse(DEFAULT_PORT);
    match command {
        None => process::run(&config.server.clone(), start(config)),
        Some(Command::Probe) => probe::run(&config),
        Some(Command::Healthcheck) => finish(operations::healthcheck(&config.server)),
    }
}
