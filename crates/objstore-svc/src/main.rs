//! The binary: reads the settings, then serves until it is told to stop.

use std::process::ExitCode;

use common::{
    config::{self, or_refuse},
    operations, serve, telemetry,
};
use objstore_svc::{
    Config, backup,
    config::{Cli, Command, DEFAULT_PORT},
    start,
};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let Cli { command, config } = config::parse(DEFAULT_PORT);
    match command {
        None => return run(config),
        Some(Command::Healthcheck) => or_refuse(operations::healthcheck(&config.server)),
        Some(Command::Backup { to }) => or_refuse(backup(&config.data_dir, &to)),
    }
    ExitCode::SUCCESS
}

#[tokio::main]
async fn run(config: Config) -> ExitCode {
    let _log = telemetry::init(&config.server);
    let stop = or_refuse(serve::stop_signal());
    let mut running = or_refuse(start(config).await);
    let told_to = tokio::select! {
        () = stop => true,
        () = running.failed() => false,
    };
    running.stop().await;
    if told_to { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
