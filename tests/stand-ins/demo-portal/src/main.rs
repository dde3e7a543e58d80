//! The binary: reads the settings, then serves until SIGTERM or SIGINT.

use std::process::ExitCode;

use common::{
    config::{self, or_exit},
    process, telemetry,
};
use demo_portal::{
    CAMPUSES, Portal,
    config::{Cli, Command, Config, DEFAULT_PORT},
    demo_students,
};
use stand_in::health::healthcheck;

fn main() -> ExitCode {
    let Cli { command, config } = config::parse(DEFAULT_PORT);
    match command {
        None => run(config),
        Some(Command::Healthcheck) => {
            or_exit(healthcheck(
                &config.server,
                config.ca_file.as_deref(),
                "DEMO_PORTAL_CA_FILE (--ca-file)",
            ));
        }
    }
    ExitCode::SUCCESS
}

#[tokio::main(flavor = "current_thread")]
async fn run(config: Config) {
    let _log = telemetry::init(&config.server);
    let stop = or_exit(process::stop_signal());
    let portal = or_exit(Portal::start(config.into()));
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
