//! Starts and stops the service.

use std::{io, net::SocketAddr, sync::Arc};

use common::{
    bearer::BearerToken,
    config::{SecretError, secret},
    process,
    serve::{self, Connections, Server},
    tls::TlsError,
};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::{
    config::Config,
    http::{self, App},
    limits::SignInLimits,
    metrics::{Metering, Metrics},
    portal::{self, Portal, PortalConfig},
};

/// Why the service did not start, in one line that names the setting to fix.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StartError {
    /// TLS for the portal cannot be set up.
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// The service cannot listen on the address.
    #[error("HOST and PORT are {address}: {source}")]
    Listen { address: SocketAddr, source: io::Error },
}

pub(crate) struct Running {
    metrics: Arc<Metrics>,
    shutdown: CancellationToken,
    serving: JoinHandle<()>,
}

/// Reads secrets and certificates, and starts to listen.
pub(crate) async fn start(config: Config) -> Result<Running, StartError> {
    let metrics_token = secret("METRICS_TOKEN")?.map(|token| BearerToken::new(&token));
    let tls = portal::client_config(config.portal_ca_file.as_deref())?;
    if config.portal_url.is_none() {
        tracing::warn!("PORTAL_URL is not set: nobody can sign in");
    }
    let portal = PortalConfig {
        url: config.portal_url,
        timeout: config.portal_timeout,
        institutes: config.portal_institutes,
        campuses: config.portal_campuses,
    };
    let metrics = Arc::new(Metrics::start());
    // Files per connection: its own socket, the one to the portal, and one for the name look-up.
    let connections = Connections::new(&config.clients, 3);
    let app = App {
        portal: Portal::new(portal, tls),
        limits: SignInLimits::new(&config.limits, connections.long_lived_capacity()),
        metrics: Arc::clone(&metrics),
        metrics_token,
        readme_url: config.readme_url,
    };
    let address = SocketAddr::new(config.server.host, config.server.port);
    let listen = |source| StartError::Listen { address, source };
    let listener = serve::bind(address).map_err(listen)?;
    let address = listener.local_addr().map_err(listen)?;
    let shutdown = CancellationToken::new();
    let router = http::router(Arc::new(app));
    metrics.startup();
    let meter = Arc::new(Metering(Arc::clone(&metrics)));
    let server = Server { listener, router, meter, connections };
    let serving = tokio::spawn(server.run(shutdown.clone(), config.server.drain_timeout));
    tracing::info!(server.address = %address, "listening");
    Ok(Running { metrics, shutdown, serving })
}

impl process::Running for Running {
    async fn failed(&mut self) {
        let _ = (&mut self.serving).await;
        tracing::error!(part = "accept loop", "the service cannot go on");
    }

    async fn stop(self) {
        tracing::info!("stopping");
        self.metrics.shutdown();
        self.shutdown.cancel();
        // If the task has ended, `failed` has already awaited it. A second await would panic.
        if !self.serving.is_finished() {
            let _ = self.serving.await;
        }
        tracing::info!("stopped");
    }
}
