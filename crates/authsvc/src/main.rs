//! authsvc: checks a username and a password with an academic portal.

use std::process::ExitCode;

use common::{config::or_exit, operations, process};

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
    let Cli { command, config } = common::config::parse(DEFAULT_PORT);
    match command {
        None => return process::run(&config.server.clone(), start(config)),
        Some(Command::Probe) => return probe::run(&config),
        Some(Command::Healthcheck) => or_exit(operations::healthcheck(&config.server)),
    }
    ExitCode::SUCCESS
}
