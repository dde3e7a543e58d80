//! The settings of the binary.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use clap::{Args, Parser, Subcommand};
use common::config::{ServerConfig, duration};

use crate::Options;

/// The port the portal listens on unless it is told another.
pub const DEFAULT_PORT: &str = "5443";

/// A stand-in for the academic portal, over TLS, with a few demo students
#[derive(Debug, Parser)]
#[command(name = "demo-portal", version)]
pub struct Cli {
    /// What to do instead of serving.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// The settings.
    #[command(flatten)]
    pub config: Config,
}

/// What the binary does beside serving.
#[derive(Debug, Clone, Copy, Subcommand)]
pub enum Command {
    /// Greets the running portal as a client that trusts the CA file; exits 0 when it is well
    Healthcheck,
}

/// The settings of a portal that is to be started.
#[derive(Debug, Clone, Args)]
pub struct Config {
    /// Those all services have.
    #[command(flatten)]
    pub server: ServerConfig,

    /// Where to write the certificate of the authority made at start, for clients to trust
    #[arg(long, env = "DEMO_PORTAL_CA_FILE")]
    pub ca_file: Option<PathBuf>,

    /// Names and addresses, beside localhost, that the certificate is for, separated by commas
    #[arg(long, env = "DEMO_PORTAL_NAMES", value_delimiter = ',')]
    pub names: Vec<String>,

    /// How long to wait before every answer
    #[arg(long, env = "DEMO_PORTAL_DELAY", default_value = "0s", value_parser = duration)]
    pub delay: Duration,

    /// Port of the control interface, for tests: whoever reaches it reads what people sign in
    /// with. None without it
    #[arg(long, env = "DEMO_PORTAL_CONTROL_PORT")]
    pub control_port: Option<u16>,
}

/// Calls are kept for the control interface only: nobody else may read what people sign in with.
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
