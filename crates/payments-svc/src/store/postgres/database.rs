//! Where the database is, and how it is reached.

use std::{error::Error, time::Duration};

use common::tls;
use deadpool_postgres::{ClientWrapper, ConfigConnectImpl, Connect as _};
use secrecy::ExposeSecret as _;
use tokio_postgres::{Config, error::DbError};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::{super::DatabaseConfig, OpenError};

/// How long it may take to connect.
const CONNECT: Duration = Duration::from_secs(3);

/// After how long without a word, and how often from then on, a peer is asked whether it is there.
const KEEPALIVE: Duration = Duration::from_secs(5);

/// How long a peer may leave unacknowledged what was sent.
const UNACKNOWLEDGED: Duration = Duration::from_secs(10);

/// Where a database is, and how it is reached.
#[derive(Clone)]
pub(super) struct Database {
    pub(super) config: Config,
    pub(super) tls: MakeRustlsConnect,
}

impl Database {
    /// The database of these settings. Where its URL is refused, the reason tells nothing of it,
    /// since it may hold a password. Whoever is spoken to with TLS has proved its name, whatever the
    /// `sslmode`.
    pub(super) fn of(settings: &DatabaseConfig) -> Result<Self, OpenError> {
        let url = settings.url.expose_secret();
        if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
            return Err(OpenError::Url("must begin with postgres://".to_owned()));
        }
        let mut config: Config = url.parse().map_err(|error| OpenError::Url(reason(&error)))?;
        if config.get_application_name().is_none() {
            config.application_name("payments-svc");
        }
        config
            .connect_timeout(CONNECT)
            .keepalives(true)
            .keepalives_idle(KEEPALIVE)
            .keepalives_interval(KEEPALIVE)
            .keepalives_retries(3)
            .tcp_user_timeout(UNACKNOWLEDGED);
        let setting = "PAYMENTS_DATABASE_CA_FILE (--database-ca-file)";
        let tls = tls::client_config(settings.ca_file.as_deref(), setting)?;
        Ok(Self { config, tls: MakeRustlsConnect::new(tls) })
    }

    /// A session of one's own, without the settings of the others.
    pub(super) async fn connect(&self) -> Result<ClientWrapper, tokio_postgres::Error> {
        let connect = ConfigConnectImpl { tls: self.tls.clone() };
        let (session, connection) = connect.connect(&self.config).await?;
        Ok(ClientWrapper::new(session, connection))
    }
}

/// What an error says, in one line, without the rows that the database quotes in its details.
pub(super) fn reason(error: &(dyn Error + 'static)) -> String {
    if let Some(error) = error.downcast_ref::<DbError>() {
        return format!("{} ({})", error.message(), error.code().code());
    }
    match error.source() {
        Some(source) => format!("{error}: {}", reason(source)),
        None => error.to_string(),
    }
}
