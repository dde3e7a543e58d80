//! Starts and stops the acquirer.

use std::{
    future::pending,
    io,
    net::SocketAddr,
    path::PathBuf,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use axum::{Router, body::Body, http::Method, response::Response};
use common::{
    config::ServerConfig,
    exit::Fatal,
    process,
    telemetry::{Trace, trace},
};
use hmac::{Hmac, KeyInit as _, Mac as _};
use hyper::{Request, body::Incoming, service::service_fn};
use jiff::Timestamp;
use rcgen::{CertificateParams, KeyPair};
use rustls::ServerConfig as TlsConfig;
use serde_json::Value;
use sha2::Sha256;
use stand_in::{
    certificate::{Authority, KeyError, kept_key, names, publish},
    connection::{self, ListenError, listen},
};
use tokio::{
    io::AsyncWriteExt as _,
    net::{TcpListener, TcpStream},
    task::JoinSet,
    time::sleep,
};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

use crate::{
    book::{Book, Digest},
    challenge,
    config::{CA_FILE, Config},
    control,
    fault::{Faults, Kind},
    notification::{ClientError, Notifications},
    protocol::{self, Ending},
    request::DisputeAnswer,
    signature::{SignatureKey, SignatureKeyError},
};

/// Why the acquirer did not start. Displayed as one line. If a setting is wrong, the line names it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StartError {
    #[error(transparent)]
    Secret(#[from] SignatureKeyError),
    #[error(transparent)]
    Listen(#[from] ListenError),
    #[error("DEMO_ACQUIRER_NAMES (--names): cannot make a certificate: {0}")]
    Certificate(#[from] rcgen::Error),
    #[error("TLS cannot be set up: {0}")]
    Tls(#[from] rustls::Error),
    #[error("{CA_FILE}: {0}")]
    Key(#[from] KeyError),
    #[error("{CA_FILE} is {path:?}, which cannot be written: {source}")]
    CaFile { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Notifications(#[from] ClientError),
}

impl Fatal for StartError {}

/// The state that all requests share.
pub(crate) struct Acquirer {
    pub(crate) key: Arc<SignatureKey>,
    /// The base URL of the pages for customers, without a slash at the end.
    pub(crate) url: String,
    pub(crate) notifications: Arc<Notifications>,
    book: Mutex<Book>,
    faults: Mutex<Faults>,
    /// The member `capabilities` of later approvals.
    capabilities: Mutex<Option<Value>>,
    delay_ms: AtomicU64,
    /// Makes the digests of requests useless to others: a body can contain a card number.
    digest_key: [u8; 64],
}

// A std mutex suffices, because it is never held across an await.
impl Acquirer {
    pub(crate) fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn faults(&self) -> MutexGuard<'_, Faults> {
        self.faults.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn capabilities(&self) -> MutexGuard<'_, Option<Value>> {
        self.capabilities.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets how long each answer takes.
    pub(crate) fn set_delay(&self, ms: u64) {
        self.delay_ms.store(ms, Ordering::Relaxed);
    }

    pub(crate) async fn delay(&self) {
        sleep(Duration::from_millis(self.delay_ms.load(Ordering::Relaxed))).await;
    }

    /// Reports the decision of an answered dispute.
    pub(crate) fn decide(&self, answer: &DisputeAnswer) {
        let DisputeAnswer { dispute_id, transaction_id, decision: Some(kind) } = answer else {
            return;
        };
        let body = [("type", *kind), ("transactionId", transaction_id), ("disputeId", dispute_id)];
        let body = body.map(|(name, text)| (name.to_owned(), text.into())).into_iter().collect();
        let fault = self.faults().draw(Kind::Notification);
        if let Err(error) = self.notifications.add(body, fault, Timestamp::now()) {
            tracing::warn!(cause = %error, "decision not reported");
        }
    }

    /// The digest of a request, which is the same for an equal one.
    pub(crate) fn digest(&self, method: &Method, path: &str, body: &[u8]) -> Digest {
        Hmac::<Sha256>::new(&self.digest_key.into())
            .chain_update(format!("{method} {path}\n"))
            .chain_update(body)
            .finalize()
            .into_bytes()
            .into()
    }
}

/// An acquirer that accepts connections.
pub(crate) struct Running {
    shutdown: CancellationToken,
    serving: JoinSet<()>,
    sending: JoinSet<()>,
}

/// Makes the certificate, and accepts connections on both ports.
pub(crate) async fn start(config: Config) -> Result<Running, StartError> {
    let key = Arc::new(SignatureKey::from_environment()?);
    let notifications =
        Arc::new(Notifications::new(config.events_url, config.events_ca_file.as_deref())?);
    let authority_key = match &config.ca_file {
        Some(path) => kept_key(path)?,
        None => KeyPair::generate()?,
    };
    let authority = Authority::new("demo-acquirer authority", authority_key)?;
    let certificate = authority.sign(CertificateParams::new(names(&config.names))?)?;
    let tls = certificate.server_config()?;
    let ServerConfig { host, port, drain_timeout, .. } = config.server;
    let (listener, address) = listen(SocketAddr::new(host, port))?;
    let (control, control_address) = listen(SocketAddr::new(host, config.control_port))?;
    let url = config.url.map_or_else(
        || format!("https://localhost:{}", address.port()),
        |url| url.as_str().trim_end_matches('/').to_owned(),
    );
    if let Some(path) = config.ca_file {
        publish(&path, &authority.pem()).map_err(|source| StartError::CaFile { path, source })?;
    }
    let acquirer = Arc::new(Acquirer {
        key: Arc::clone(&key),
        url,
        notifications: Arc::clone(&notifications),
        book: Mutex::default(),
        faults: Mutex::new(Faults::new(config.seed)),
        capabilities: Mutex::default(),
        delay_ms: AtomicU64::new(0),
        digest_key: rand::random(),
    });

    let shutdown = CancellationToken::new();
    let mut serving = JoinSet::new();
    let router =
        protocol::router(Arc::clone(&acquirer)).merge(challenge::router(Arc::clone(&acquirer)));
    serving.spawn(serve(listener, router, tls, shutdown.clone(), drain_timeout));
    serving.spawn(serve_control(control, control::router(acquirer), shutdown.clone()));
    let mut sending = JoinSet::new();
    sending.spawn(notifications.send_all(key));
    tracing::info!(server.address = %address, control.address = %control_address, "listening");
    Ok(Running { shutdown, serving, sending })
}

impl process::Running for Running {
    async fn failed(&mut self) {
        let _ = self.serving.join_next().await;
    }

    /// Notifications that wait are lost.
    async fn stop(mut self) {
        tracing::info!("stopping");
        self.shutdown.cancel();
        while self.serving.join_next().await.is_some() {}
        self.sending.shutdown().await;
        tracing::info!("stopped");
    }
}

async fn serve(
    listener: TcpListener,
    router: Router,
    tls: Arc<TlsConfig>,
    shutdown: CancellationToken,
    drain: Duration,
) {
    connection::accept(listener, shutdown.clone(), drain, |stream| {
        serve_connection(stream, router.clone(), Arc::clone(&tls), shutdown.clone())
    })
    .await;
}

async fn serve_connection(
    stream: TcpStream,
    router: Router,
    tls: Arc<TlsConfig>,
    shutdown: CancellationToken,
) {
    let Some(stream) = connection::handshake(stream, tls).await else { return };
    let service = service_fn(|request| answer(router.clone(), request));
    if let Some(mut stream) = connection::serve_requests(stream, service, &shutdown).await {
        // An error means that the client has already disconnected.
        let _ = stream.shutdown().await;
    }
}

/// An error ends the connection.
async fn answer(router: Router, request: Request<Incoming>) -> io::Result<Response> {
    // An operation must go on if its client disconnects, so it has a task of its own.
    let trace = Trace::of(request.headers());
    let path = request.uri().path().to_owned();
    let answering = router.oneshot(request.map(Body::new));
    let answered = tokio::spawn(trace::scope(Some(trace), async move {
        let answered = answering.await;
        tracing::debug!(http.path = path, "request answered");
        answered
    }));
    let answered = answered.await;
    let response = answered.map_err(io::Error::other)?.map_err(io::Error::other)?;
    match response.extensions().get::<Ending>() {
        None => Ok(response),
        Some(Ending::Close) => Err(io::ErrorKind::ConnectionAborted.into()),
        Some(Ending::Hang) => pending().await,
    }
}

async fn serve_control(listener: TcpListener, router: Router, shutdown: CancellationToken) {
    let serving = axum::serve(listener, router).with_graceful_shutdown(shutdown.cancelled_owned());
    // It never returns an error.
    let _ = serving.await;
}
