//! The certificates that the portal may have. The file of additional ones is read again when it
//! changes, so that a new certificate needs no restart.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::{PoisonError, RwLock},
    time::Duration,
};

use common::{
    error::Cause,
    tls::{self, TlsError},
};
use rustls::{ClientConfig, client::Resumption};
use tokio::{
    task::spawn_blocking,
    time::{MissedTickBehavior, interval},
};

/// How often the file is read.
const READ_EVERY: Duration = Duration::from_secs(1);

/// TLS settings: the trusted certificates, and no state of a sign-in.
#[derive(Debug)]
pub(crate) struct Trust {
    ca_file: Option<PathBuf>,
    /// The content of the file at the start.
    first: Option<Vec<u8>>,
    config: RwLock<ClientConfig>,
}

impl Trust {
    /// Trusts the usual root certificates and the ones in `ca_file`.
    pub(crate) fn read(ca_file: Option<PathBuf>) -> Result<Self, TlsError> {
        let first = ca_file.as_ref().and_then(|path| fs::read(path).ok());
        let config = RwLock::new(client_config(ca_file.as_deref())?);
        Ok(Self { ca_file, first, config })
    }

    pub(super) fn config(&self) -> ClientConfig {
        self.config.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Reads the file again and again. A file that cannot be used changes nothing.
    pub(crate) async fn follow(&self) {
        let Some(path) = &self.ca_file else { return };
        let mut ticks = interval(READ_EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut last = self.first.clone();
        loop {
            ticks.tick().await;
            let content = content(path).await.ok();
            if content == last {
                continue;
            }
            last = content;
            match client_config(Some(path)) {
                Ok(config) => {
                    *self.config.write().unwrap_or_else(PoisonError::into_inner) = config;
                    tracing::info!("PORTAL_CA_FILE has changed: its certificates are trusted now");
                }
                Err(error) => {
                    let cause = Cause::new(error);
                    tracing::warn!(%cause, "PORTAL_CA_FILE has changed, and is ignored");
                }
            }
        }
    }
}

/// Resumption is off, because a resumed TLS session would link two sign-ins.
fn client_config(ca_file: Option<&Path>) -> Result<ClientConfig, TlsError> {
    let mut config = tls::client_config(ca_file, "PORTAL_CA_FILE (--portal-ca-file)")?;
    config.resumption = Resumption::disabled();
    Ok(config)
}

async fn content(path: &Path) -> io::Result<Vec<u8>> {
    let path = path.to_owned();
    spawn_blocking(move || fs::read(path)).await.map_err(io::Error::other)?
}
