//! Runs a service as a process: from its start until a signal or a failure ends it.

use std::{fs, io, pin::pin, process::ExitCode};

use rlimit::Resource;
use rustix::process::{DumpableBehavior, set_dumpable_behavior};
use sd_notify::NotifyState;
use tokio::{
    runtime::Builder,
    signal::unix::{Signal, SignalKind, signal},
};

use crate::{
    config::{ServerConfig, or_exit},
    exit::{Fatal, failed},
    telemetry,
};

/// Forbids core dumps and debuggers of the same user, because the memory contains secrets. Call it
/// before secrets are read. From then on, `root` owns the files of the process in `/proc`.
pub fn hide_memory() -> io::Result<()> {
    Resource::CORE.set(0, 0)?;
    Ok(set_dumpable_behavior(DumpableBehavior::NotDumpable)?)
}

/// A service that has started.
pub trait Running {
    /// Resolves when a part of the service has ended unexpectedly.
    fn failed(&mut self) -> impl Future<Output = ()>;

    /// Stops accepting requests, and waits for the ones in flight.
    fn stop(self) -> impl Future<Output = ()>;
}

/// Starts a service, and runs it until SIGTERM or SIGINT (success) or until it fails. Tells systemd
/// when it has started and when it stops. SIGHUP makes the parts that wait for [`hangup`] read their
/// files again. Other signals of users have no effect.
pub fn run<R: Running, E: Fatal>(
    server: &ServerConfig,
    start: impl Future<Output = Result<R, E>>,
) -> ExitCode {
    let runtime = or_exit(Builder::new_multi_thread().enable_all().build());
    let ended = runtime.block_on(async {
        // First, because a signal without a handler ends the process.
        let mut stop = pin!(or_exit(terminated()));
        let mut hangup = or_exit(hangup());
        or_exit(ignore_user_signals());
        let _log = telemetry::init(server);
        tokio::spawn(async move {
            while hangup.recv().await.is_some() {
                tracing::info!("SIGHUP: reading files again");
            }
        });
        let started = tokio::select! {
            started = start => started,
            () = &mut stop => return ExitCode::SUCCESS,
        };
        let mut running = match started {
            Ok(running) => running,
            Err(error) => return failed(&error),
        };
        notify(NotifyState::Ready);
        let by_signal = tokio::select! {
            () = stop => true,
            () = running.failed() => false,
        };
        notify(NotifyState::Stopping);
        running.stop().await;
        if by_signal { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    });
    // A look-up of a name can hold its thread for half a minute.
    runtime.shutdown_background();
    ended
}

/// Tells systemd a state, if it has started the process with `Type=notify`.
fn notify(state: NotifyState<'_>) {
    if let Err(error) = sd_notify::notify(&[state]) {
        tracing::warn!(cause = %error, "systemd was not notified");
    }
}

/// SIGHUP, with which an operator asks a service to read its files again. Call this before the first
/// reading, so that no change is missed.
pub fn hangup() -> io::Result<Signal> {
    signal(SignalKind::hangup())
}

/// The signals that ask a subcommand to stop: SIGTERM, SIGINT, and SIGHUP of a terminal that is
/// closed. The returned future resolves at the first one.
pub fn stop_signal() -> io::Result<impl Future<Output = ()>> {
    ignore_user_signals()?;
    let stop = terminated()?;
    // A handler would undo nohup.
    let mut hangup = if ignores_hangup() { None } else { Some(hangup()?) };
    Ok(async move {
        match &mut hangup {
            None => stop.await,
            Some(hangup) => {
                tokio::select! {
                    () = stop => {}
                    _ = hangup.recv() => {}
                }
            }
        }
    })
}

/// Installs handlers for SIGTERM and SIGINT. The returned future resolves at the first signal.
fn terminated() -> io::Result<impl Future<Output = ()>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}

/// Installs handlers that do nothing for SIGUSR1 and SIGUSR2. They stay installed.
fn ignore_user_signals() -> io::Result<()> {
    let _ = signal(SignalKind::user_defined1())?;
    let _ = signal(SignalKind::user_defined2())?;
    Ok(())
}

/// Whether the process ignores SIGHUP, because `nohup` has started it.
fn ignores_hangup() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    // The lowest bit is signal 1, SIGHUP.
    ignored.is_some_and(|mask| mask & 1 == 1)
}
