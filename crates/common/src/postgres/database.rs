//! Settings of a database, connections outside the pool, and migrations.

use std::{path::PathBuf, pin::pin, sync::OnceLock, time::Duration};

use deadpool_postgres::{BuildError, ClientWrapper};
use refinery::{Runner, error::Kind};
use secrecy::{ExposeSecret as _, SecretString};
use tokio::time::{sleep, timeout};
use tokio_postgres::{CancelToken, Config, Notification, error::SqlState};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::{
    Error,
    hosts::{Hosts, configs},
    pool::{LOST_CLIENT, OPEN, apply_settings},
    timelines::Timelines,
    verification::translate,
};
use crate::{
    config::SecretError,
    error::reason,
    files::Files,
    migration::{MigrationError, check},
    progress::{Interrupted, Progress},
    tls::{self, TlsError},
};

/// Pause before a migration that did not get a lock is retried.
const MIGRATE_AGAIN: Duration = Duration::from_secs(1);

/// Interval of the warning that another process migrates the schema.
const REPORT_TURN: Duration = Duration::from_secs(60);

/// Maximum number of attempts of a migration that does not get a lock.
const MIGRATION_ATTEMPTS: u32 = 120;

/// Maximum number of attempts to open a connection that no request waits for.
const PATIENT_ATTEMPTS: u32 = 6;

/// How to reach a database. Holds the names of its settings, too, for error messages.
#[derive(Debug, Clone)]
pub struct DatabaseConfig {
    /// Name of the service. It is the `application_name` unless the URL has one.
    pub service: &'static str,
    /// The secret setting with the URL. The URL begins with `postgres://`, and may contain a
    /// password.
    pub url_setting: &'static str,
    /// PEM file of additional CA certificates to trust.
    pub ca_file: Option<PathBuf>,
    /// The setting that `ca_file` comes from.
    pub ca_setting: &'static str,
    /// Maximum number of connections in the pool.
    pub connections: usize,
}

/// Why a database could not be used.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The URL cannot be read.
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// The setting is not the URL of a database. The error does not contain the URL, because it may
    /// contain a password.
    #[error("{setting} is not usable: {reason}")]
    Url {
        /// The setting that the URL comes from.
        setting: &'static str,
        /// The rule that the URL breaks.
        reason: String,
    },
    /// The database returned an error to a statement or while connecting.
    #[error("the database of {setting} returned an error: {}", reason(.source))]
    Database {
        /// The setting that the URL comes from.
        setting: &'static str,
        /// Contains the message and the code of the database.
        source: tokio_postgres::Error,
    },
    /// Connecting failed, or the connection was lost.
    #[error("the database of {setting} cannot be reached: {}", reason(.source))]
    Connect {
        /// The setting that the URL comes from.
        setting: &'static str,
        /// The error of the operating system, of TLS or of the protocol.
        source: tokio_postgres::Error,
    },
    /// The server must not be used.
    #[error("the database of {setting} cannot be used: {source}")]
    Refused {
        /// The setting that the URL comes from.
        setting: &'static str,
        /// The reason.
        source: Box<Error>,
    },
    /// The server accepted the connection, but did not answer in time.
    #[error("no answer from the database of {setting} within the timeout")]
    Silent {
        /// The setting that the URL comes from.
        setting: &'static str,
    },
    /// TLS cannot be set up.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The pool cannot be built.
    #[error(transparent)]
    Pool(#[from] BuildError),
    /// The schema cannot be migrated.
    #[error("{setting}: {source}")]
    Migration {
        /// The setting that the URL comes from.
        setting: &'static str,
        /// The error of the migration.
        source: MigrationError,
    },
}

/// Opens connections to a database.
#[derive(Clone)]
pub struct Database {
    pub(super) hosts: Hosts,
    pub(super) timelines: Timelines,
    service: &'static str,
    setting: &'static str,
}

impl Database {
    /// Reads and checks the settings once: see [`Self::following`].
    pub fn of(settings: &DatabaseConfig) -> Result<Self, OpenError> {
        Self::following(settings, &mut Files::default())
    }

    /// Reads and checks the settings. When `files` reads them again, new connections use another
    /// user, password and CA certificates. Open connections stay.
    ///
    /// An error about the URL does not contain it, because it may contain a password. With TLS, the
    /// certificate and the name of the server are always verified, with every `sslmode`.
    pub fn following(settings: &DatabaseConfig, files: &mut Files) -> Result<Self, OpenError> {
        let DatabaseConfig { service, url_setting: setting, ca_setting, .. } = *settings;
        let first = OnceLock::new();
        let configs = files.secret(setting, move |url| {
            let rejected = |reason| OpenError::Url { setting, reason };
            let url = parse(url, service, ca_setting).map_err(rejected)?;
            match without_login(first.get_or_init(|| url.clone())) == without_login(&url) {
                true => Ok(configs(&url)),
                false => Err(rejected("all but user and password need a restart".to_owned())),
            }
        })?;
        let configs = configs.ok_or(SecretError::Empty(setting))?;
        let tls = files.read(ca_setting, settings.ca_file.clone(), move |path| {
            tls::client_config(path, ca_setting).map(MakeRustlsConnect::new)
        })?;
        let (hosts, timelines) = (Hosts::new(configs, tls), Timelines::default());
        Ok(Self { hosts, timelines, service, setting })
    }

    /// How often a new connection found another timeline of the database than the one before: a
    /// failover, or a recovery to a point in time. Values that were read before a change may be
    /// lost, so caches must not return them. `Database` values that were cloned count together.
    pub fn timeline_changes(&self) -> u64 {
        self.timelines.changes()
    }

    /// Opens a connection outside the pool, without the settings of the pool.
    pub async fn connect(&self) -> Result<ClientWrapper, OpenError> {
        self.open(drop).await
    }

    /// Opens a connection outside the pool for what no request waits for: tries again if the server
    /// does not answer in time.
    pub async fn connect_patiently(&self) -> Result<ClientWrapper, OpenError> {
        for _ in 1..PATIENT_ATTEMPTS {
            match self.connect().await {
                Err(OpenError::Silent { .. }) => {}
                opened => return opened,
            }
        }
        self.connect().await
    }

    /// Opens a connection outside the pool, with [`SETTINGS`](super::SETTINGS) and these
    /// `settings`. It passes notifications to `listener`, which is dropped with the connection.
    pub async fn listen(
        &self,
        settings: &str,
        listener: impl FnMut(Notification) + Send + 'static,
    ) -> Result<ClientWrapper, OpenError> {
        let client = self.open(listener).await?;
        let applied = apply_settings(&client, settings, self).await;
        applied.map_err(|error| self.unusable(error))?;
        Ok(client)
    }

    /// Fails if the timeline of this connection is older than that of another one.
    pub(super) async fn check_timeline(&self, client: &ClientWrapper) -> Result<(), OpenError> {
        let checked = self.look(self.timelines.check(client)).await;
        checked.map_err(|error| self.unusable(error))
    }

    /// Looks at a new connection for at most [`OPEN`]: a server can be silent after the login, too.
    /// After an old timeline, the next attempt to connect begins with another host.
    pub(super) async fn look(
        &self,
        look: impl Future<Output = Result<(), Error>>,
    ) -> Result<(), Error> {
        let looked = timeout(OPEN, look).await.unwrap_or(Err(Error::Silent));
        if matches!(looked, Err(Error::OldTimeline)) {
            self.hosts.skip();
        }
        looked
    }

    fn unusable(&self, error: Error) -> OpenError {
        match error {
            Error::Database(source) => self.failed(source),
            Error::Silent => OpenError::Silent { setting: self.setting },
            source => OpenError::Refused { setting: self.setting, source: Box::new(source) },
        }
    }

    async fn open(
        &self,
        listener: impl FnMut(Notification) + Send + 'static,
    ) -> Result<ClientWrapper, OpenError> {
        let opened = timeout(OPEN, self.hosts.open(listener)).await;
        let opened = opened.map_err(|_| OpenError::Silent { setting: self.setting })?;
        let (client, task) = opened.map_err(|error| self.failed(error))?;
        Ok(ClientWrapper::new(client, task))
    }

    /// Migrates the schema, in one transaction with the records of the migrations. Otherwise, a
    /// crash between a migration and its record would make every later start fail. Replicas that
    /// start at the same time take turns. A migration that does not get a lock within its
    /// `lock_timeout` is retried with a pause of one second, up to 120 attempts. Fails behind a pooler
    /// in transaction mode.
    pub async fn migrate(&self, migrations: Runner) -> Result<(), OpenError> {
        let migrations = migrations.set_grouped(true).set_abort_missing(false);
        let failed = |source| OpenError::Migration { setting: self.setting, source };
        self.check_sessions().await?;
        let mut client = self.connect().await?;
        let lock = format!(
            "{LOST_CLIENT}; SELECT pg_advisory_lock(hashtext('{} migrations'))",
            self.service
        );
        take_turn(client.batch_execute(&lock)).await.map_err(|error| self.failed(error))?;
        let mut attempts = 1;
        loop {
            let migrated = migrations.run_async(&mut *client).await;
            let Err(error) = migrated else { break };
            if !is_locked(&error) || attempts >= MIGRATION_ATTEMPTS {
                return Err(failed(error.into()));
            }
            tracing::info!(attempts, "a migration did not get its lock, retrying");
            attempts += 1;
            sleep(MIGRATE_AGAIN).await;
        }
        let applied = migrations.get_applied_migrations_async(&mut *client).await;
        let applied = applied.map_err(|error| failed(error.into()))?;
        check(migrations.get_migrations(), &applied).map_err(failed)
    }

    /// The setting that the URL comes from.
    pub fn setting(&self) -> &'static str {
        self.setting
    }

    /// Runs `work` on a connection until the command is asked to stop. Then cancels the statement
    /// that runs, because the server would otherwise finish it.
    pub async fn unless_stopped<T>(
        &self,
        progress: &Progress,
        cancel: CancelToken,
        work: impl Future<Output = T>,
    ) -> Result<T, Interrupted> {
        let ended = progress.unless_stopped(work).await;
        if ended.is_err() {
            // If this fails, the server notices the closed connection after the statement.
            let _ = timeout(OPEN, cancel.cancel_query(self.hosts.tls())).await;
        }
        ended
    }

    /// Wraps an error of a connection outside the pool in one that names the setting.
    pub fn failed(&self, source: tokio_postgres::Error) -> OpenError {
        let setting = self.setting;
        match source.as_db_error() {
            Some(_) => OpenError::Database { setting, source },
            None => OpenError::Connect { setting, source },
        }
    }
}

/// Waits for `lock`. Logs each minute that another process has it.
async fn take_turn<T>(lock: impl Future<Output = T>) -> T {
    let mut lock = pin!(lock);
    loop {
        if let Ok(locked) = timeout(REPORT_TURN, &mut lock).await {
            return locked;
        }
        tracing::warn!("waiting until another process has migrated the schema");
    }
}

/// Parses a URL. The error does not contain it.
fn parse(url: &SecretString, service: &str, ca_setting: &str) -> Result<Config, String> {
    let url = url.expose_secret();
    if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
        return Err("must begin with postgres://".to_owned());
    }
    let mut config: Config = translate(url, ca_setting)?.parse().map_err(|error| reason(&error))?;
    if config.get_application_name().is_none() {
        config.application_name(service);
    }
    Ok(config)
}

/// The URL without user and password. It must not change while a service runs: a part of its
/// connections would use another database.
fn without_login(url: &Config) -> Config {
    let mut url = url.clone();
    url.user("").password("");
    url
}

/// Whether a migration did not get a lock in time.
fn is_locked(error: &refinery::Error) -> bool {
    let Kind::Connection(_, source) = error.kind() else { return false };
    let error = source.downcast_ref::<tokio_postgres::Error>();
    error.and_then(tokio_postgres::Error::code) == Some(&SqlState::LOCK_NOT_AVAILABLE)
}
