//! The settings of the service.

use std::{collections::HashSet, fs, num::NonZeroUsize, path::PathBuf, time::Duration};

use bytesize::ByteSize;
use clap::{Args, Parser, Subcommand, ValueEnum};
use common::{
    config::{ClientsConfig, SECRETS_HELP, ServerConfig, duration},
    limits::Rate,
};

use crate::domain::{ClientId, Clients};

/// The port the service listens on unless it is told another.
pub(crate) const DEFAULT_PORT: &str = "5001";

/// The last part of `--help`.
fn secrets() -> String {
    let own = "OBJSTORE_DATABASE_URL  postgres:// URL of the store; embedded when unset or empty";
    format!("{SECRETS_HELP}\n  {own}")
}

/// JSON objects under three-part keys, with changes pushed over a websocket
#[derive(Debug, Parser)]
#[command(name = "objstore-svc", version, after_help = secrets())]
pub(crate) struct Cli {
    /// What to do instead of serving.
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    /// The settings.
    #[command(flatten)]
    pub(crate) config: Config,
}

/// What the binary does beside serving.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Asks the running service for its health; exits 0 when it is well
    Healthcheck,
    /// Copies the embedded store to a new file while the service runs
    Backup {
        /// The file to make
        #[arg(long)]
        to: PathBuf,
    },
    /// Moves an embedded store, which no service may be using, into an empty database
    Import {
        /// The data directory to read
        #[arg(long)]
        from: PathBuf,
    },
}

/// The settings of a service that is to be started.
#[derive(Debug, Clone, Args)]
pub(crate) struct Config {
    /// Those all services have.
    #[command(flatten)]
    pub(crate) server: ServerConfig,

    /// Settings of every service that strangers may connect to.
    #[command(flatten)]
    pub(crate) clients: ClientsConfig,

    /// Where the embedded store keeps its files
    #[arg(long, env = "OBJSTORE_DATA_DIR", default_value = "./data/objstore")]
    pub(crate) data_dir: PathBuf,

    /// PEM file of roots that the database's certificate may come from, beside the usual ones
    #[arg(long, env = "OBJSTORE_DATABASE_CA_FILE")]
    pub(crate) database_ca_file: Option<PathBuf>,

    /// The most sessions for reading from the database, where the store is in one
    #[arg(long, env = "OBJSTORE_DATABASE_CONNECTIONS", default_value = "16")]
    pub(crate) database_connections: NonZeroUsize,

    /// How long a session lives after its last use
    #[arg(long, env = "OBJSTORE_SESSION_TTL", default_value = "30d", value_parser = lifetime)]
    pub(crate) session_ttl: Duration,

    /// Send the session cookie with Secure, for service behind TLS
    #[arg(long, env = "OBJSTORE_COOKIE_SECURE", default_value = "false", num_args = 0..=1,
          default_missing_value = "true", action = clap::ArgAction::Set)]
    pub(crate) cookie_secure: bool,

    /// Whether Owner is free data or must match the registered ID on set and delete
    #[arg(long, env = "OBJSTORE_OWNER", default_value = "free")]
    pub(crate) owner: Owner,

    /// File of the IDs that may register, one a line, # for comments; any may without it
    #[arg(long, env = "OBJSTORE_CLIENTS_FILE")]
    pub(crate) clients_file: Option<PathBuf>,

    /// Registrations from one client address, such as 600/1m; off for any number
    #[arg(long, env = "OBJSTORE_REGISTER_LIMIT", default_value = "600/1m")]
    pub(crate) register_limit: Rate,

    /// Clients there may be
    #[arg(long, env = "OBJSTORE_MAX_CLIENTS", default_value_t = 100_000)]
    pub(crate) max_clients: usize,

    /// Origins that may open the websocket beside the service's own, separated by commas
    #[arg(long, env = "OBJSTORE_ORIGINS", value_delimiter = ',')]
    pub(crate) origins: Vec<String>,

    /// Largest request body
    #[arg(long, env = "OBJSTORE_MAX_BODY", default_value = "1MiB")]
    pub(crate) max_body: ByteSize,

    /// Watches a client may have
    #[arg(long, env = "OBJSTORE_MAX_WATCHES", default_value_t = 10_000)]
    pub(crate) max_watches: usize,

    /// How long the log keeps a change for clients that are away
    #[arg(long, env = "OBJSTORE_LOG_RETENTION", default_value = "1d", value_parser = duration)]
    pub(crate) log_retention: Duration,

    /// How much of the changes the log keeps
    #[arg(long, env = "OBJSTORE_LOG_SIZE", default_value = "1GiB")]
    pub(crate) log_size: ByteSize,
}

/// What an owner means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Owner {
    /// Data.
    Free,
    /// The registered ID of who may set and delete.
    Match,
}

/// A list of clients that cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ClientsFileError {
    /// The file cannot be read.
    #[error("OBJSTORE_CLIENTS_FILE (--clients-file) is {path:?}: {source}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A line of it is no identity.
    #[error("OBJSTORE_CLIENTS_FILE (--clients-file) is {path:?}: line {line}: {source}")]
    Invalid {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        source: crate::domain::InvalidId,
    },
}

impl Config {
    /// The identities that may register.
    pub(crate) fn clients(&self) -> Result<Clients, ClientsFileError> {
        let Some(path) = &self.clients_file else { return Ok(Clients::All) };
        let path = || path.clone();
        let text = fs::read_to_string(path())
            .map_err(|source| ClientsFileError::Unreadable { path: path(), source })?;
        let mut listed = HashSet::new();
        for (index, line) in text.lines().enumerate() {
            let id = line.split('#').next().unwrap_or_default().trim();
            if !id.is_empty() {
                let id = ClientId::parse(id).map_err(|source| ClientsFileError::Invalid {
                    path: path(),
                    line: index + 1,
                    source,
                })?;
                listed.insert(id);
            }
        }
        Ok(Clients::Listed(listed))
    }
}

/// A cookie counts whole seconds, so no session is shorter than one.
fn lifetime(text: &str) -> Result<Duration, String> {
    match duration(text) {
        Ok(lifetime) if lifetime >= Duration::from_secs(1) => Ok(lifetime),
        Ok(_) => Err("shorter than 1s".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}
