//! The binary: reads the settings, then serves until it is told to stop.

use std::process::ExitCode;

use common::{config, operations, serve, telemetry};
use payments_svc::{
    Config, backup, check,
    config::{Cli, Command, DEFAULT_PORT},
    seed, start,
};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let Cli { command, config } = config::parse(DEFAULT_PORT);
    let server = &config.server;
    match command {
        None => return run(config),
        Some(Command::Healthcheck) => operations::healthcheck(server.host, server.port)
            .unwrap_or_else(|error| config::refuse(&error)),
        Some(Command::Backup { to }) => {
            backup(&config.data_dir, &to).unwrap_or_else(|error| config::refuse(&error));
        }
        Some(Command::Check) => {
            check(&config.data_dir).unwrap_or_else(|error| config::refuse(&error));
        }
        Some(Command::Seed) => seed(&config).unwrap_or_else(|error| config::refuse(&error)),
    }
    ExitCode::SUCCESS
}

#[tokio::main]
async fn run(config: Config) -> ExitCode {
    let _log = telemetry::init(&config.server);
    let stop = serve::stop_signal().unwrap_or_else(|error| config::refuse(&error));
    let mut running = start(config).await.unwrap_or_else(|error| config::refuse(&error));
    let told_to = tokio::select! {
        () = stop => true,
        () = running.failed() => false,
    };
    running.stop().await;
    if told_to { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
