//! Starts and stops the service.

use std::{io, net::SocketAddr, sync::Arc};

use common::{
    bearer::BearerToken,
    config::SecretError,
    edge::Edge,
    exit::Fatal,
    files::Files,
    process,
    serve::{self, Connections, Server},
    tls::TlsError,
};
use tokio::task::JoinHandle;
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

use crate::{
    config::Config,
    http::{self, App},
    limits::SignInLimits,
    metrics::{Metering, Metrics},
    portal::{Portal, PortalConfig},
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
    #[error("signals cannot be received: {0}")]
    Signals(#[source] io::Error),
}

impl Fatal for StartError {
    fn exit_code(&self) -> u8 {
        match self {
            Self::Listen { source, .. } | Self::Signals(source) => source.exit_code(),
            Self::Tls(error) => error.exit_code(),
            Self::Secret(error) => error.exit_code(),
        }
    }
}

pub(crate) struct Running {
    metrics: Arc<Metrics>,
    shutdown: CancellationToken,
    serving: JoinHandle<()>,
    /// Reads the certificates of the portal again.
    _files: AbortOnDropHandle<()>,
}

/// The portal of these settings.
pub(crate) fn portal(config: &Config, files: &mut Files) -> Result<Portal, TlsError> {
    let portal = PortalConfig {
        url: config.portal_url.clone(),
        timeout: config.portal_timeout,
        max_response: config.portal_max_response.as_u64(),
        institutes: config.portal_institutes.clone(),
        campuses: config.portal_campuses.clone(),
        sends_trace: config.portal_traceparent,
    };
    Portal::new(portal, config.portal_ca_file.clone(), files)
}

/// Reads secrets and certificates, and starts to listen.
pub(crate) async fn start(config: Config) -> Result<Running, StartError> {
    let metrics_token = BearerToken::configured("METRICS_TOKEN")?;
    let hangup = process::hangup().map_err(StartError::Signals)?;
    let mut files = Files::default();
    let portal = portal(&config, &mut files)?;
    if config.portal_url.is_none() {
        tracing::warn!("PORTAL_URL is not set: nobody can sign in");
    }
    let metrics = Arc::new(Metrics::start());
    // Files per connection: its own socket, and the one to the portal.
    let connections = Connections::new(&config.clients, 2);
    let app = App {
        portal,
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
    let router = http::router(Arc::new(app), Edge::new(config.clients.allowed_hosts));
    metrics.startup();
    let meter = Arc::new(Metering(Arc::clone(&metrics)));
    let server = Server { listener, router, meter, connections };
    let serving = tokio::spawn(server.run(shutdown.clone(), config.server.drain_timeout));
    tracing::info!(server.address = %address, "listening");
    Ok(Running { metrics, shutdown, serving, _files: files.follow(hangup) })
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
