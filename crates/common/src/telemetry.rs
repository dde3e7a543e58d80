//! Logs, request identities and request metrics: what is seen of a service from outside.

use std::io::{self, IsTerminal as _};

use tracing_subscriber::EnvFilter;

use crate::config::{LogFormat, ServerConfig};

mod observe;
mod traffic;

pub use observe::{Meter, Observe, REQUEST_ID, RequestLine};
pub use traffic::Traffic;

/// Starts logging to standard output and sends panics there too.
pub fn init(config: &ServerConfig) {
    let filter = EnvFilter::new(&config.rust_log);
    let lines = tracing_subscriber::fmt().with_env_filter(filter);
    let text = match config.log_format {
        LogFormat::Auto => io::stdout().is_terminal(),
        LogFormat::Text => true,
        LogFormat::Json => false,
    };
    if text {
        lines.with_ansi(io::stdout().is_terminal()).init();
    } else {
        lines.json().flatten_event(true).init();
    }
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string);
        tracing::error!(
            message = "panic",
            panic.place = place,
            panic.cause = panic.payload_as_str()
        );
    }));
}
