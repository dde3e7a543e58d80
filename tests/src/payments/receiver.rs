//! A receiver of webhooks: an HTTPS server with a certificate of its own CA.

use std::{
    collections::BTreeMap,
    convert::Infallible,
    net::SocketAddr,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU16, AtomicUsize, Ordering},
    },
};

use http_body_util::{BodyExt as _, Empty};
use hyper::{Request, Response, body::Bytes, header::LOCATION, service::service_fn};
use hyper_util::rt::TokioIo;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::{
    ServerConfig,
    pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer},
};
use tempfile::NamedTempFile;
use tokio::{
    net::{TcpListener, TcpStream},
    task::JoinSet,
};
use tokio_rustls::TlsAcceptor;

/// A request that a receiver got.
#[derive(Debug, Clone)]
pub struct Received {
    pub path: String,
    /// By name in lower case.
    pub headers: BTreeMap<String, String>,
    pub body: String,
}

/// Answers every request with one status, and keeps connections open.
pub struct Receiver {
    address: SocketAddr,
    ca_file: NamedTempFile,
    state: Arc<State>,
    /// Dropping it ends the server.
    _serving: JoinSet<()>,
}

struct State {
    status: AtomicU16,
    connections: AtomicUsize,
    received: Mutex<Vec<Received>>,
}

impl Receiver {
    /// A receiver on `localhost` that answers with 204.
    pub async fn new() -> Self {
        let (ca_pem, config) = certificate();
        let ca_file = NamedTempFile::new().expect("a file can be made");
        std::fs::write(ca_file.path(), ca_pem).expect("the file can be written");
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
        let address = listener.local_addr().expect("it is bound");
        let state = Arc::new(State {
            status: AtomicU16::new(204),
            connections: AtomicUsize::new(0),
            received: Mutex::default(),
        });
        let mut serving = JoinSet::new();
        serving.spawn(serve(listener, TlsAcceptor::from(Arc::new(config)), Arc::clone(&state)));
        Self { address, ca_file, state, _serving: serving }
    }

    pub fn url(&self, path: &str) -> String {
        format!("https://localhost:{}{path}", self.address.port())
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// The setting that trusts the CA of this receiver.
    pub fn trust(&self) -> (&str, &str) {
        ("PAYMENTS_WEBHOOK_CA_FILE", self.ca_file.path().to_str().expect("a plain path"))
    }

    /// Answers later requests with this status.
    pub fn answer(&self, status: u16) {
        self.state.status.store(status, Ordering::SeqCst);
    }

    /// The number of connections so far.
    pub fn connections(&self) -> usize {
        self.state.connections.load(Ordering::SeqCst)
    }

    /// The requests so far, in their order.
    pub fn received(&self) -> Vec<Received> {
        self.state.received.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// A CA as PEM, and the settings of a server with a certificate that it signed.
fn certificate() -> (String, ServerConfig) {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = || KeyPair::generate().expect("a key can be made");
    let issuer = CertifiedIssuer::self_signed(params, key()).expect("a CA can be made");
    let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
    let own = key();
    let certificate = CertificateParams::new(names).and_then(|it| it.signed_by(&own, &issuer));
    let certificate = certificate.expect("a certificate can be made").der().clone();
    let own = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(own.serialize_der()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("the provider has them")
        .with_no_client_auth()
        .with_single_cert(vec![certificate], own)
        .expect("the key fits");
    (issuer.pem(), config)
}

async fn serve(listener: TcpListener, tls: TlsAcceptor, state: Arc<State>) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        state.connections.fetch_add(1, Ordering::SeqCst);
        connections.spawn(answer_all(stream, tls.clone(), Arc::clone(&state)));
    }
}

async fn answer_all(stream: TcpStream, tls: TlsAcceptor, state: Arc<State>) {
    let Ok(stream) = tls.accept(stream).await else { return };
    let service = service_fn(|request: Request<_>| {
        let state = Arc::clone(&state);
        async move { answer(request, &state).await }
    });
    let connection = hyper::server::conn::http1::Builder::new();
    // The sender may close the connection at any time.
    let _ = connection.serve_connection(TokioIo::new(stream), service).await;
}

async fn answer(
    request: Request<hyper::body::Incoming>,
    state: &State,
) -> Result<Response<Empty<Bytes>>, Infallible> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let headers = head.headers.iter();
    let headers = headers.map(|(name, value)| (name.to_string(), text(value.as_bytes())));
    let received =
        Received { path: head.uri.to_string(), headers: headers.collect(), body: text(&body) };
    state.received.lock().unwrap_or_else(PoisonError::into_inner).push(received);
    let answer = Response::builder().status(state.status.load(Ordering::SeqCst));
    let answer = answer.header(LOCATION, "/elsewhere").body(Empty::new());
    Ok(answer.expect("an answer can be made"))
}
