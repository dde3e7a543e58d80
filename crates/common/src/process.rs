//! A service as a process: it starts, and serves until it is told to stop.

use std::{fmt::Display, io, process::ExitCode};

use tokio::{
    runtime::Builder,
    signal::unix::{SignalKind, signal},
};

use crate::{
    config::{ServerConfig, or_refuse},
    telemetry,
};

/// A service that has started.
pub trait Running {
    /// Resolves when the service cannot go on.
    fn failed(&mut self) -> impl Future<Output = ()>;

    /// Stops: takes nothing more, and lets what is under way finish.
    fn stop(self) -> impl Future<Output = ()>;
}

/// Starts a service and runs it until SIGTERM, SIGINT or its own end, which is a failure.
pub fn run<R: Running, E: Display>(
    server: &ServerConfig,
    start: impl Future<Output = Result<R, E>>,
) -> ExitCode {
    let runtime = or_refuse(Builder::new_multi_thread().enable_all().build());
    runtime.block_on(async {
        let _log = telemetry::init(server);
        let stop = or_refuse(stop_signal());
        let mut running = or_refuse(start.await);
        let told_to = tokio::select! {
            () = stop => true,
            () = running.failed() => false,
        };
        running.stop().await;
        if told_to { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    })
}

/// Listens for SIGTERM and SIGINT from now on; what it returns resolves at the first of them.
pub fn stop_signal() -> io::Result<impl Future<Output = ()>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}
