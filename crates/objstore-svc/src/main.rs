//! The binary: reads the settings, then serves until it is told to stop.

use std::process::ExitCode;

use common::{
    config::{parse, refuse},
    operations::healthcheck,
    serve::stop_signal,
    telemetry,
};
use objstore_svc::{
    Config, backup,
    config::{Cli, Command, DEFAULT_PORT},
    start,
};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let Cli { command, config } = parse::<Cli>(DEFAULT_PORT);
    let done = match command {
        None => return serve(config),
        Some(Command::Healthcheck) => {
            healthcheck(config.server.host, config.server.port).map_err(Into::into)
        }
        Some(Command::Backup { to }) => backup(&config.data_dir, &to).map_err(Box::from),
    };
    done.map_or_else(|error: Box<dyn std::error::Error>| refuse(&error), |()| ExitCode::SUCCESS)
}

#[tokio::main]
async fn serve(config: Config) -> ExitCode {
    telemetry::init(&config.server);
    let mut running = match start(config).await {
        Ok(running) => running,
        Err(error) => refuse(&error),
    };
    let clean = tokio::select! {
        stop = stop_signal() => stop.is_ok(),
        () = running.failed() => false,
    };
    running.stop().await;
    if clean { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
