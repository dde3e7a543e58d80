//! Where the database is, and how it is reached.

use std::{sync::Arc, time::Duration};

use deadpool_postgres::{ClientWrapper, ConfigConnectImpl, Connect as _};
use rustls::{ClientConfig, RootCertStore, crypto::ring};
use secrecy::{ExposeSecret as _, SecretString};
use tokio_postgres::Config;
use tokio_postgres_rustls::MakeRustlsConnect;
use webpki_root_certs::TLS_SERVER_ROOT_CERTS;

use super::OpenError;

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
    /// The database at a URL. The reason why one is refused tells nothing of it, since it may hold a
    /// password.
    pub(super) fn at(url: &SecretString) -> Result<Self, OpenError> {
        let url = url.expose_secret();
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
        Ok(Self { config, tls: MakeRustlsConnect::new(client_config()?) })
    }

    /// A session of one's own, without the settings of the others.
    pub(super) async fn connect(&self) -> Result<ClientWrapper, tokio_postgres::Error> {
        let connect = ConfigConnectImpl { tls: self.tls.clone() };
        let (session, connection) = connect.connect(&self.config).await?;
        Ok(ClientWrapper::new(session, connection))
    }
}

/// Trusts the usual roots. Whoever asks for TLS gets a peer whose name is proved.
fn client_config() -> Result<ClientConfig, OpenError> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(TLS_SERVER_ROOT_CERTS.iter().cloned());
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(OpenError::Tls)?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}

/// What an error says, and what it comes from, in one line.
pub(super) fn reason(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {}", reason(source)),
        None => error.to_string(),
    }
}
