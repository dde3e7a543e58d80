//! The binary: reads the settings, then serves until it is told to stop.

use std::process::ExitCode;

use common::{config, serve, telemetry};
use demo_portal::{
    CAMPUSES, Portal,
    config::{Cli, Command, Config, DEFAULT_PORT},
    demo_students, healthcheck,
};

fn main() -> ExitCode {
    let Cli { command, config } = config::parse(DEFAULT_PORT);
    match command {
        None => run(config),
        Some(Command::Healthcheck) => {
            healthcheck(&config).unwrap_or_else(|error| config::refuse(&error));
        }
    }
    ExitCode::SUCCESS
}

#[tokio::main(flavor = "current_thread")]
async fn run(config: Config) {
    let _log = telemetry::init(&config.server);
    let stop = serve::stop_signal().unwrap_or_else(|error| config::refuse(&error));
    let portal = Portal::start(config.into()).unwrap_or_else(|error| config::refuse(&error));
    for student in demo_students() {
        let usernames = student.usernames.join(" or ");
        tracing::info!(usernames, password = student.password, "demo student");
    }
    tracing::info!(campuses = CAMPUSES.join(";"), "campuses with a code");
    let control = portal.control_address().map(tracing::field::display);
    tracing::info!(server.address = %portal.address(), control.address = control, "listening");
    stop.await;
    tracing::info!("stopping");
    portal.stop();
    tracing::info!("stopped");
}
