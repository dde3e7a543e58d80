//! The command line of the binary.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use clap::{Args, Parser, Subcommand};
use common::config::{ServerConfig, duration};

use crate::Options;

/// Port of the portal if `--port` and `PORT` are absent.
pub const DEFAULT_PORT: &str = "5443";

/// A stand-in for the academic portal, over TLS, with a few demo students
#[derive(Debug, Parser)]
#[command(name = "demo-portal", version)]
pub struct Cli {
    /// Runs instead of the server, if given.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// Settings from flags and environment variables; a flag wins.
    #[command(flatten)]
    pub config: Config,
}

/// Subcommands of the binary.
#[derive(Debug, Clone, Copy, Subcommand)]
pub enum Command {
    /// Calls the running portal, trusting only the CA file; exits 0 if it answers
    Healthcheck,
}

/// Settings of the portal. Convert them with [`Options::from`] to start one.
#[derive(Debug, Clone, Args)]
pub struct Config {
    /// Settings that all services share: address, drain timeout, log.
    #[command(flatten)]
    pub server: ServerConfig,

    /// File to which the portal writes its CA certificate at start, for PORTAL_CA_FILE; its key is
    /// in a file beside it, with .key at the end
    #[arg(long, env = "DEMO_PORTAL_CA_FILE")]
    pub ca_file: Option<PathBuf>,

    /// Host names and addresses in the certificate, in addition to localhost, separated by commas
    #[arg(long, env = "DEMO_PORTAL_NAMES", value_delimiter = ',')]
    pub names: Vec<String>,

    /// How long the portal waits before each answer
    #[arg(long, env = "DEMO_PORTAL_DELAY", default_value = "0s", value_parser = duration)]
    pub delay: Duration,

    /// Port of the control interface for tests, whose callers can read the passwords of sign-ins;
    /// unset: none
    #[arg(long, env = "DEMO_PORTAL_CONTROL_PORT")]
    pub control_port: Option<u16>,
}

/// Records calls only if there is a control interface, because calls contain passwords.
impl From<Config> for Options {
    fn from(config: Config) -> Self {
        let ServerConfig { host, port, drain_timeout, .. } = config.server;
        Self {
            address: SocketAddr::new(host, port),
            control: config.control_port.map(|port| SocketAddr::new(host, port)),
            names: config.names,
            ca_file: config.ca_file,
            delay: config.delay,
            drain: drain_timeout,
            recording: config.control_port.is_some(),
        }
    }
}
