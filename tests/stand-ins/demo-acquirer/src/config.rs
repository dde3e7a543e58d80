//! The command line and the settings.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use common::config::ServerConfig;
use url::Url;

pub(crate) const DEFAULT_PORT: &str = "5444";

/// The setting [`Config::ca_file`], for messages.
pub(crate) const CA_FILE: &str = "DEMO_ACQUIRER_CA_FILE (--ca-file)";

/// The secret that signs requests, answers and notifications.
pub(crate) const SECRET: &str = "ACQUIRER_SECRET";

/// The end of `--help`: secrets have no flags, so clap does not list them.
const SECRETS_HELP: &str = "Secrets (no flag: set NAME, or NAME_FILE to a file with the secret):\n  \
     ACQUIRER_SECRET  HMAC key that this program shares with payments-svc; required";

/// A stand-in for the acquirer of live merchants, over TLS, with test cards
#[derive(Debug, Parser)]
#[command(name = "demo-acquirer", version, after_help = SECRETS_HELP)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) config: Config,
}

/// Without a subcommand, the acquirer starts.
#[derive(Debug, Clone, Copy, Subcommand)]
pub(crate) enum Command {
    /// Calls the running acquirer, trusting only the CA file; exits 0 if it answers
    Healthcheck,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct Config {
    #[command(flatten)]
    pub(crate) server: ServerConfig,

    /// File to which the acquirer writes its CA certificate at start; its key is in a file beside
    /// it, with .key at the end
    #[arg(long, env = "DEMO_ACQUIRER_CA_FILE")]
    pub(crate) ca_file: Option<PathBuf>,

    /// Host names and addresses in the certificate, in addition to localhost, separated by commas
    #[arg(long, env = "DEMO_ACQUIRER_NAMES", value_delimiter = ',')]
    pub(crate) names: Vec<String>,

    /// URL at which the browsers of customers reach the page for 3-D Secure; unset:
    /// localhost and the port
    #[arg(long, env = "DEMO_ACQUIRER_URL")]
    pub(crate) url: Option<Url>,

    /// URL of payments-svc for notifications, with the path /acquirer/events; without it,
    /// payments-svc asks for them
    #[arg(long, env = "DEMO_ACQUIRER_EVENTS_URL")]
    pub(crate) events_url: Option<Url>,

    /// PEM file with further CA certificates for that URL
    #[arg(long, env = "DEMO_ACQUIRER_EVENTS_CA_FILE")]
    pub(crate) events_ca_file: Option<PathBuf>,

    /// Port of the control interface, without TLS, whose callers can break every payment
    #[arg(long, env = "DEMO_ACQUIRER_CONTROL_PORT", default_value = "5445")]
    pub(crate) control_port: u16,

    /// Start of the random numbers that decide about rules with a probability
    #[arg(long, env = "DEMO_ACQUIRER_SEED", default_value = "0")]
    pub(crate) seed: u64,
}
