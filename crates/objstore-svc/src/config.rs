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
    let database = "OBJSTORE_DATABASE_URL  postgres:// URL of the store, which several replicas can share; unset: SQLite";
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

    /// Directory of the SQLite files, for one process at a time; not used with PostgreSQL
    #[arg(long, env = "OBJSTORE_DATA_DIR", default_value = "./data/objstore")]
    pub(crate) data_dir: PathBuf,

    /// PEM file with further CA certificates for PostgreSQL
    #[arg(long, env = "OBJSTORE_DATABASE_CA_FILE")]
    pub(crate) database_ca_file: Option<PathBuf>,

    /// Database connections for reads, per replica, which opens three more; PostgreSQL only
    #[arg(long, env = "OBJSTORE_DATABASE_CONNECTIONS", default_value = "16")]
    pub(crate) database_connections: NonZeroUsize,

    /// A session ends this long after its last use, and a client without a session and a socket is
    /// deleted with its watches; at least 1s
    #[arg(long, env = "OBJSTORE_SESSION_TTL", default_value = "30d", value_parser = from_1s)]
    pub(crate) session_ttl: Duration,

    /// An object with presence=true is deleted this long after the last socket or live stream of
    /// its client has closed; at least 1s
    #[arg(long, env = "OBJSTORE_PRESENCE_GRACE", default_value = "10s", value_parser = from_1s)]
    pub(crate) presence_grace: Duration,

    /// Add Secure to the session cookie: set it behind TLS; on plain HTTP, clients then do not send
    /// the cookie back
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

    /// Whether the Owner of an object must be the client's ID
    #[arg(long, env = "OBJSTORE_OWNER", default_value = "free")]
    pub(crate) owner: OwnerCheck,

    /// File with the IDs that may register, one per line, each with or without sha256: and the
    /// digest of its secret, # for comments; without it, everyone can register
    #[arg(long, env = "OBJSTORE_CLIENTS_FILE")]
    pub(crate) clients_file: Option<PathBuf>,

    /// File with the access rules; without it, every client can do everything
    #[arg(long, env = "OBJSTORE_RULES_FILE")]
    pub(crate) rules_file: Option<PathBuf>,

    /// Registrations from one client address
    #[arg(long, env = "OBJSTORE_REGISTER_LIMIT", default_value = "600/1m")]
    pub(crate) register_limit: Rate,

    /// Registered clients; one more gets 422
    #[arg(long, env = "OBJSTORE_MAX_CLIENTS", default_value_t = 100_000)]
    pub(crate) max_clients: usize,

    /// Origins whose pages may use the API in addition to the service's own, separated by commas
    #[arg(long, env = "OBJSTORE_ORIGINS", value_delimiter = ',', value_parser = origin)]
    pub(crate) origins: Vec<String>,

    /// Maximum size of a request body, for /batch eight times as much; a larger one gets 413
    #[arg(long, env = "OBJSTORE_MAX_BODY", default_value = "1MiB")]
    pub(crate) max_body: ByteSize,

    /// Watches of one client; one more gets 422
    #[arg(long, env = "OBJSTORE_MAX_WATCHES", default_value_t = 10_000)]
    pub(crate) max_watches: usize,

    /// How long the change log keeps a change; a client that is away for longer gets current values
    /// only
    #[arg(long, env = "OBJSTORE_LOG_RETENTION", default_value = "1d", value_parser = duration)]
    pub(crate) log_retention: Duration,

    /// Maximum size of the change log; the oldest changes are deleted when the age or the size is
    /// exceeded
    #[arg(long, env = "OBJSTORE_LOG_SIZE", default_value = "1GiB")]
    pub(crate) log_size: ByteSize,

    /// Memory for objects that get has read; 0 for none; not used with PostgreSQL
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
    /// Only pages of the same site can use the API, also those in OBJSTORE_ORIGINS
    Lax,
    /// Pages of other sites in OBJSTORE_ORIGINS can, too; needs OBJSTORE_COOKIE_SECURE=true
    None,
}

/// The values of `OBJSTORE_OWNER`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OwnerCheck {
    /// Every client can change and delete every object
    Free,
    /// set requires the client's ID in the sent Owner, delete in the stored Owner; a set can still
    /// replace an object of another owner
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

/// Parses an origin, such as `https://app.example`, or only its host and port. The result is as a
/// browser sends it; empty if nothing stands between two commas.
fn origin(text: &str) -> Result<String, &'static str> {
    let text = text.trim().to_ascii_lowercase();
    let origin = text.strip_suffix('/').unwrap_or(&text);
    let (scheme, host) = origin.split_once("://").unwrap_or(("", origin));
    let port = host.rsplit_once(':').filter(|_| !host.ends_with(']'));
    let name = port.map_or(host, |(name, _)| name);
    let is_number = |port: &str| port.parse::<u16>().is_ok();
    let is_host = match name.strip_prefix('[').and_then(|name| name.strip_suffix(']')) {
        Some(address) => address.chars().all(|c| c.is_ascii_hexdigit() || ":.".contains(c)),
        None => name.chars().all(|c| c.is_ascii_alphanumeric() || "-._".contains(c)),
    };
    if text.is_empty() {
        return Ok(text);
    }
    if name.is_empty() || !is_host || port.is_some_and(|(_, port)| !is_number(port)) {
        return Err("must be an origin such as https://app.example, without a path or a wildcard");
    }
    let default_port = match scheme {
        "https" => ":443",
        "http" => ":80",
        _ => return Ok(origin.to_owned()),
    };
    Ok(origin.strip_suffix(default_port).unwrap_or(origin).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_are_kept_as_browsers_send_them() {
        for (text, expected) in [
            ("https://app.example", "https://app.example"),
            (" https://APP.example/ ", "https://app.example"),
            ("https://app.example:443", "https://app.example"),
            ("http://app.example:80", "http://app.example"),
            ("http://app.example:443", "http://app.example:443"),
            ("http://[::1]:3000", "http://[::1]:3000"),
            ("localhost:3000", "localhost:3000"),
            ("", ""),
        ] {
            assert_eq!(origin(text), Ok(expected.to_owned()), "{text}");
        }
    }

    #[test]
    fn what_no_browser_sends_is_no_origin() {
        for text in [
            "https://",
            "https:app.example",
            "https://app.example:",
            "*",
            "https://*.example",
            "https://app.example/page",
            "app.example/page",
            "https://me@app.example",
            "https://app.example?a",
            "https://b\u{fc}cher.example",
            "https://app.example https://other.example",
        ] {
            assert!(origin(text).is_err(), "{text}");
        }
    }
}
