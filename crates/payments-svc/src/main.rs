//! The binary: reads the settings, then serves until it is told to stop.

use std::process::ExitCode;

use common::{
    config::{self, or_refuse},
    operations, process,
};
use payments_svc::{
    backup, check,
    config::{Cli, Command, DEFAULT_PORT},
    payout, seed, start, store_config,
};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let Cli { command, config } = config::parse(DEFAULT_PORT);
    match command {
        None => return process::run(&config.server.clone(), start(config)),
        Some(Command::Healthcheck) => or_refuse(operations::healthcheck(&config.server)),
        Some(Command::Backup { to }) => or_refuse(backup(&or_refuse(store_config(&config)), &to)),
        Some(Command::Check { since }) => {
            or_refuse(check(&or_refuse(store_config(&config)), since));
        }
        Some(Command::Payout { day, test, to }) => or_refuse(payout(&config, day, test, &to)),
        Some(Command::Seed) => or_refuse(seed(&config)),
    }
    ExitCode::SUCCESS
}
