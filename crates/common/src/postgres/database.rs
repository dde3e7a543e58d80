//! Where the database is, and how it is reached.

use std::{future::poll_fn, path::PathBuf, time::Duration};

use deadpool_postgres::{BuildError, ClientWrapper};
use refinery::{Runner, error::Kind};
use secrecy::{ExposeSecret as _, SecretString};
use tokio::time::{sleep, timeout};
use tokio_postgres::{AsyncMessage, Config, Notification, error::SqlState};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::pool::{OPEN, settle};
use crate::{
    error::reason,
    migration::MigrationError,
    tls::{self, TlsError},
};

/// How long it may take to connect.
const CONNECT: Duration = Duration::from_secs(3);

/// After how long without a word, and how often from then on, a peer is asked whether it is there.
const KEEPALIVE: Duration = Duration::from_secs(5);

/// How long a peer may leave unacknowledged what was sent.
const UNACKNOWLEDGED: Duration = Duration::from_secs(10);

/// How often, and how many times, a migration is tried that does not have its locks.
const MIGRATE_AGAIN: Duration = Duration::from_secs(1);
const MIGRATION_ATTEMPTS: u32 = 120;

/// A database of other machines, too, and the settings that say so.
#[derive(Debug, Clone)]
pub struct DatabaseConfig {
    /// The service, as the database is told unless the URL says otherwise.
    pub service: &'static str,
    /// Where the database is.
    pub url: SecretString,
    /// The setting that says so.
    pub url_setting: &'static str,
    /// The roots its certificate may come from beside the usual ones.
    pub ca_file: Option<PathBuf>,
    /// The setting that names them.
    pub ca_setting: &'static str,
    /// The most sessions with it.
    pub connections: usize,
}

/// Why a database could not be used.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The setting is no URL of a database. It is not told, since it may hold a password.
    #[error("{setting} is not usable: {reason}")]
    Url {
        /// The setting.
        setting: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// There is no connection to be had, or none any more.
    #[error("the database of {setting} cannot be reached: {}", reason(.source))]
    Connect {
        /// The setting that says where it is.
        setting: &'static str,
        /// What the database or the system said.
        source: tokio_postgres::Error,
    },
    /// There is somebody, who does not answer.
    #[error("the database of {setting} does not answer")]
    Silent {
        /// The setting that says where it is.
        setting: &'static str,
    },
    /// Connections cannot be secured.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// Pool cannot be kept.
    #[error(transparent)]
    Pool(#[from] BuildError),
    /// The database cannot be brought to this version's shape.
    #[error("{setting}: {source}")]
    Migration {
        /// The setting that says where it is.
        setting: &'static str,
        /// Why not.
        source: MigrationError,
    },
}

/// Where a database is, and how it is reached.
#[derive(Clone)]
pub struct Database {
    pub(super) config: Config,
    pub(super) tls: MakeRustlsConnect,
    service: &'static str,
    setting: &'static str,
}

impl Database {
    /// The database of these settings. Where its URL is refused, the reason tells nothing of it,
    /// since it may hold a password. Whoever is spoken to with TLS has proved its name, whatever the
    /// `sslmode`.
    pub fn of(settings: &DatabaseConfig) -> Result<Self, OpenError> {
        let DatabaseConfig { service, url, url_setting: setting, .. } = settings;
        let url = url.expose_secret();
        let refused = |reason| OpenError::Url { setting, reason };
        if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
            return Err(refused("must begin with postgres://".to_owned()));
        }
        let mut config: Config = url.parse().map_err(|error| refused(reason(&error)))?;
        if config.get_application_name().is_none() {
            config.application_name(*service);
        }
        config
            .connect_timeout(CONNECT)
            .keepalives(true)
            .keepalives_idle(KEEPALIVE)
            .keepalives_interval(KEEPALIVE)
            .keepalives_retries(3)
            .tcp_user_timeout(UNACKNOWLEDGED);
        let tls = tls::client_config(settings.ca_file.as_deref(), settings.ca_setting)?;
        Ok(Self { config, tls: MakeRustlsConnect::new(tls), service, setting })
    }

    /// A session of one's own, without the settings of the others.
    pub async fn connect(&self) -> Result<ClientWrapper, OpenError> {
        self.open(drop).await
    }

    /// A session of one's own, with these settings beside those all have, which passes on the
    /// notifications that it is sent. The listener is dropped with the connection.
    pub async fn listen(
        &self,
        settings: &str,
        listener: impl FnMut(Notification) + Send + 'static,
    ) -> Result<ClientWrapper, OpenError> {
        let session = self.open(listener).await?;
        let settled = timeout(OPEN, settle(&session, settings)).await;
        let settled = settled.map_err(|_| OpenError::Silent { setting: self.setting })?;
        settled.map_err(|error| self.failed(error))?;
        Ok(session)
    }

    async fn open(
        &self,
        mut listener: impl FnMut(Notification) + Send + 'static,
    ) -> Result<ClientWrapper, OpenError> {
        let connected = timeout(OPEN, self.config.connect(self.tls.clone())).await;
        let connected = connected.map_err(|_| OpenError::Silent { setting: self.setting })?;
        let (session, mut connection) = connected.map_err(|error| self.failed(error))?;
        let conversation = tokio::spawn(async move {
            while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await
            {
                if let AsyncMessage::Notification(notification) = message {
                    listener(notification);
                }
            }
        });
        Ok(ClientWrapper::new(session, conversation))
    }

    /// Brings the database to this version's shape. Replicas that start at the same time take turns.
    /// A migration whose statements do not wait long for locks is tried again for two minutes.
    pub async fn migrate(&self, migrations: Runner) -> Result<(), OpenError> {
        let mut session = self.connect().await?;
        let turn = format!("SELECT pg_advisory_lock(hashtext('{} migrations'))", self.service);
        session.batch_execute(&turn).await.map_err(|error| self.failed(error))?;
        let mut attempts = 1;
        loop {
            let migrated = migrations.run_async(&mut *session).await;
            let Err(error) = migrated else { return Ok(()) };
            if !is_locked(&error) || attempts >= MIGRATION_ATTEMPTS {
                return Err(OpenError::Migration { setting: self.setting, source: error.into() });
            }
            tracing::info!(attempts, "the database is in use, the migration is tried again");
            attempts += 1;
            sleep(MIGRATE_AGAIN).await;
        }
    }

    /// What a session of one's own failed with, as an error that names the setting.
    pub fn failed(&self, source: tokio_postgres::Error) -> OpenError {
        OpenError::Connect { setting: self.setting, source }
    }
}

/// Whether a migration did not have a lock in time.
fn is_locked(error: &refinery::Error) -> bool {
    let Kind::Connection(_, source) = error.kind() else { return false };
    let error = source.downcast_ref::<tokio_postgres::Error>();
    error.and_then(tokio_postgres::Error::code) == Some(&SqlState::LOCK_NOT_AVAILABLE)
}
