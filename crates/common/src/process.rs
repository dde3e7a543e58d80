//! Runs a service as a process: from its start until a signal or a failure ends it.

use std::{fmt::Display, io, process::ExitCode};

use tokio::{
    runtime::Builder,
    signal::unix::{SignalKind, signal},
};

use crate::{
    config::{ServerConfig, or_exit},
    telemetry,
};

/// A service that has started.
pub trait Running {
    /// Resolves when a part of the service has ended unexpectedly.
    fn failed(&mut self) -> impl Future<Output = ()>;

    /// Stops accepting requests, and waits for the ones in flight.
    fn stop(self) -> impl Future<Output = ()>;
}

/// Starts a service, and runs it until SIGTERM or SIGINT (success) or until it fails.
pub fn run<R: Running, E: Display>(
    server: &ServerConfig,
    start: impl Future<Output = Result<R, E>>,
) -> ExitCode {
    let runtime = or_exit(Builder::new_multi_thread().enable_all().build());
    runtime.block_on(async {
        let _log = telemetry::init(server);
        let stop = or_exit(stop_signal());
        let mut running = or_exit(start.await);
        let by_signal = tokio::select! {
            () = stop => true,
            () = running.failed() => false,
        };
        running.stop().await;
        if by_signal { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    })
}

/// Installs handlers for SIGTERM and SIGINT. The returned future resolves at the first signal.
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
