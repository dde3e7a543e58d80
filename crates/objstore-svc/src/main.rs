//! The binary: reads the settings, then serves until it is told to stop.

use std::process::ExitCode;

use common::{
    config::{self, or_refuse},
    operations, process,
};
use objstore_svc::{
    backup,
    config::{Cli, Command, DEFAULT_PORT},
    import, start, store_config,
};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let Cli { command, config } = config::parse(DEFAULT_PORT);
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
