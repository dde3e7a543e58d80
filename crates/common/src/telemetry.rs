//! Logs, request IDs, traces and request metrics.

use std::{
    io::{self, IsTerminal as _},
    sync::{Mutex, PoisonError},
};

use tracing_appender::non_blocking::{NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::EnvFilter;

use crate::config::{LogFormat, ServerConfig};

mod collector;
mod lines;
mod observe;
pub mod trace;
mod traffic;

pub use collector::{Family, StatsCollector, family, float, labelled, metric};
pub use observe::{Meter, Observe, REQUEST_ID, RequestLine};
pub use trace::Trace;
pub use traffic::Traffic;

use lines::Lines;

/// Lines that wait for the reader of the log. Their buffer takes 40 bytes for each from the start.
const LINES: usize = 16_384;

/// The thread that writes the log.
static WRITER: Mutex<Option<WorkerGuard>> = Mutex::new(None);

/// Ends the log when it is dropped.
#[must_use]
pub struct Log(());

impl Drop for Log {
    fn drop(&mut self) {
        end();
    }
}

/// Writes the lines that are still in the buffer, for about a second at most, and ends the log.
pub(crate) fn end() {
    drop(WRITER.lock().unwrap_or_else(PoisonError::into_inner).take());
}

/// Starts logging to standard output, panics included. The log ends when the returned value is
/// dropped. A stalled reader of the log does not block the service: lines that do not fit into the
/// buffer are dropped.
pub fn init(config: &ServerConfig) -> Log {
    let filter = EnvFilter::new(&config.rust_log);
    let (writer, guard) =
        NonBlockingBuilder::default().buffered_lines_limit(LINES).finish(io::stdout());
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(writer)
        .log_internal_errors(false);
    let text = match config.log_format {
        LogFormat::Auto => io::stdout().is_terminal(),
        LogFormat::Text => true,
        LogFormat::Json => false,
    };
    if text {
        let ansi = io::stdout().is_terminal();
        let lines = lines.with_ansi(ansi);
        lines.map_event_format(|format| Lines::text(format.with_ansi(ansi))).init();
    } else {
        lines.json().flatten_event(true).map_event_format(Lines::json).init();
    }
    std::panic::set_hook(Box::new(|panic| {
        let location = panic.location().map(ToString::to_string);
        tracing::error!(
            message = "panic",
            panic.location = location,
            panic.cause = panic.payload_as_str()
        );
    }));
    *WRITER.lock().unwrap_or_else(PoisonError::into_inner) = Some(guard);
    Log(())
}
