//! The settings of the service. The doc comments of settings are the text of `--help`.

use std::{num::NonZeroUsize, path::PathBuf, time::Duration};

use bytesize::ByteSize;
use clap::{Args, Parser, Subcommand, ValueEnum};
use common::{
    config::{ClientsConfig, SECRETS_HELP, SecretError, ServerConfig, duration, secret},
    limits::Rate,
    postgres::DatabaseConfig,
};

use crate::{
    domain::{ClientId, Lifetime, OwnerRule},
    store::StoreConfig,
};

/// The default of `PORT`.
pub(crate) const DEFAULT_PORT: &str = "5001";

/// The secrets, as the last part of `--help`.
fn secrets() -> String {
    let database = "OBJSTORE_DATABASE_URL  postgres:// URL of the store; SQLite if unset or empty";
    format!("{SECRETS_HELP}\n  {database}")
}

/// JSON objects under three-part keys, with changes pushed over a websocket
#[derive(Debug, Parser)]
#[command(name = "objstore-svc", version, after_help = secrets())]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) config: Config,
}

/// Without a subcommand, the binary runs the service.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Requests /health of the running service; exits 0 if it returns 200
    Healthcheck,
    /// Copies the SQLite store to a new file, also while the service runs
    Backup {
        /// File to create
        #[arg(long)]
        to: PathBuf,
    },
    /// Copies the SQLite store of a stopped service into an empty PostgreSQL database
    Import {
        /// Data directory of the SQLite store
        #[arg(long)]
        from: PathBuf,
    },
    /// Lets the service delete by time again after a jump of the clock: the clock is right now
    ConfirmClock,
    /// Ends all sessions of a client; it can register again
    EndSessions {
        /// ID of the client
        #[arg(value_parser = ClientId::parse)]
        client: ClientId,
    },
    /// Begins a new epoch after a restore that the service cannot notice: clients get current values
    NewEpoch,
}

#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Objects")]
pub(crate) struct Config {
    #[command(flatten)]
    pub(crate) server: ServerConfig,

    #[command(flatten)]
    pub(crate) clients: ClientsConfig,

    /// Directory of the SQLite files; not used with PostgreSQL
    #[arg(long, env = "OBJSTORE_DATA_DIR", default_value = "./data/objstore")]
    pub(crate) data_dir: PathBuf,

    /// PEM file with additional CA certificates for PostgreSQL
    #[arg(long, env = "OBJSTORE_DATABASE_CA_FILE")]
    pub(crate) database_ca_file: Option<PathBuf>,

    /// Maximum number of PostgreSQL connections for reads; the service opens three more (for
    /// writes, the change log and the health check)
    #[arg(long, env = "OBJSTORE_DATABASE_CONNECTIONS", default_value = "16")]
    pub(crate) database_connections: NonZeroUsize,

    /// How long a session stays valid after its last use, at least 1s
    #[arg(long, env = "OBJSTORE_SESSION_TTL", default_value = "30d", value_parser = from_1s)]
    pub(crate) session_ttl: Duration,

    /// How long presence objects stay after the last stream of their client has closed, at least 1s
    #[arg(long, env = "OBJSTORE_PRESENCE_GRACE", default_value = "10s", value_parser = from_1s)]
    pub(crate) presence_grace: Duration,

    /// Add Secure to the session cookie; set to true if clients connect over HTTPS
    #[arg(long, env = "OBJSTORE_COOKIE_SECURE", default_value = "false", num_args = 0..=1,
          default_missing_value = "true", action = clap::ArgAction::Set)]
    pub(crate) cookie_secure: bool,

    /// SameSite of the session cookie
    #[arg(long, env = "OBJSTORE_COOKIE_SAME_SITE", default_value = "lax")]
    pub(crate) cookie_same_site: CookieSameSite,

    /// Serve the console, a page to try the API, at /
    #[arg(long, env = "OBJSTORE_CONSOLE", default_value = "true", num_args = 0..=1,
          default_missing_value = "true", action = clap::ArgAction::Set)]
    pub(crate) console: bool,

    /// Whether the Owner of an object must be the ID of the client
    #[arg(long, env = "OBJSTORE_OWNER", default_value = "free")]
    pub(crate) owner: OwnerCheck,

    /// File with the IDs that may register, one per line, each alone or with sha256: and the digest
    /// of its secret, # for comments, read again when it changes; without it, any ID may
    #[arg(long, env = "OBJSTORE_CLIENTS_FILE")]
    pub(crate) clients_file: Option<PathBuf>,

    /// File with the access rules, read again when it changes; without it, everything is allowed
    #[arg(long, env = "OBJSTORE_RULES_FILE")]
    pub(crate) rules_file: Option<PathBuf>,

    /// Maximum registrations from one client address, such as 600/1m; off for no limit
    #[arg(long, env = "OBJSTORE_REGISTER_LIMIT", default_value = "600/1m")]
    pub(crate) register_limit: Rate,

    /// Maximum number of registered clients
    #[arg(long, env = "OBJSTORE_MAX_CLIENTS", default_value_t = 100_000)]
    pub(crate) max_clients: usize,

    /// Origins whose pages may use the API in addition to the service's own, separated by commas
    #[arg(long, env = "OBJSTORE_ORIGINS", value_delimiter = ',')]
    pub(crate) origins: Vec<String>,

    /// Maximum size of a request body
    #[arg(long, env = "OBJSTORE_MAX_BODY", default_value = "1MiB")]
    pub(crate) max_body: ByteSize,

    /// Maximum number of watches of one client
    #[arg(long, env = "OBJSTORE_MAX_WATCHES", default_value_t = 10_000)]
    pub(crate) max_watches: usize,

    /// How long the change log keeps a change for disconnected clients
    #[arg(long, env = "OBJSTORE_LOG_RETENTION", default_value = "1d", value_parser = duration)]
    pub(crate) log_retention: Duration,

    /// Maximum size of the change log
    #[arg(long, env = "OBJSTORE_LOG_SIZE", default_value = "1GiB")]
    pub(crate) log_size: ByteSize,

    /// Maximum memory for objects that were read; 0 for none; not used with PostgreSQL
    #[arg(long, env = "OBJSTORE_CACHE", default_value = "64MiB")]
    pub(crate) cache: ByteSize,
}

impl Config {
    /// The settings of the store. If the secret `OBJSTORE_DATABASE_URL` is set, the store is on
    /// PostgreSQL.
    pub(crate) fn store(&self) -> Result<StoreConfig, SecretError> {
        let database = secret("OBJSTORE_DATABASE_URL")?.map(|_| DatabaseConfig {
            service: "objstore-svc",
            url_setting: "OBJSTORE_DATABASE_URL",
            ca_file: self.database_ca_file.clone(),
            ca_setting: "OBJSTORE_DATABASE_CA_FILE (--database-ca-file)",
            connections: self.database_connections.get(),
        });
        Ok(StoreConfig {
            data_dir: self.data_dir.clone(),
            database,
            lifetime: Lifetime::new(self.session_ttl),
            presence_grace: self.presence_grace,
            owner: match self.owner {
                OwnerCheck::Free => OwnerRule::Free,
                OwnerCheck::Match => OwnerRule::Match,
            },
            max_clients: self.max_clients,
            max_watches: self.max_watches,
            log_retention: self.log_retention,
            log_size: self.log_size.as_u64(),
            cache: self.cache.as_u64(),
        })
    }
}

/// The values of `OBJSTORE_COOKIE_SAME_SITE`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CookieSameSite {
    /// Browsers send the cookie only for pages of the same site
    Lax,
    /// Browsers send it for pages of all sites; needs OBJSTORE_COOKIE_SECURE=true
    None,
}

/// The values of `OBJSTORE_OWNER`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OwnerCheck {
    /// Owner is not checked
    Free,
    /// set requires the client's ID in the sent Owner, delete in the stored Owner
    Match,
}

/// `Max-Age` of a cookie counts whole seconds, and replicas extend presences a few times a second.
fn from_1s(text: &str) -> Result<Duration, String> {
    match duration(text) {
        Ok(duration) if duration >= Duration::from_secs(1) => Ok(duration),
        Ok(_) => Err("must be at least 1s".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}
