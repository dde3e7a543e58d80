//! objstore-svc: JSON objects under three-part keys, with changes pushed over a websocket.

use std::process::ExitCode;

use common::{
    config::or_exit, control::confirm_clock, exit::finish, operations, process, progress,
};

mod clients;
mod config;
mod domain;
mod end_sessions;
mod expiry;
mod http;
mod lock;
mod rules;
mod service;
mod store;
mod watch;

use crate::{
    config::{Cli, Command, DEFAULT_PORT},
    end_sessions::end_sessions,
    service::start,
    store::{Store, backup, import, new_epoch},
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
        Some(Command::ConfirmClock) => finish(confirm_clock::<Store>(&or_exit(config.store()))),
        Some(Command::EndSessions { client }) => finish(end_sessions(&config, client)),
        Some(Command::NewEpoch) => finish(new_epoch(&or_exit(config.store()))),
    }
}
