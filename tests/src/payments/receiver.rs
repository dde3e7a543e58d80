//! A receiver of webhooks: an HTTPS server with a certificate of its own CA.

use std::{
    collections::BTreeMap,
    future::pending,
    io,
    net::SocketAddr,
    sync::{
        Arc, Mutex, PoisonError, RwLock,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use http_body_util::{BodyExt as _, Empty};
use hyper::{
    Request, Response,
    body::{Bytes, Incoming},
    header::{LOCATION, RETRY_AFTER},
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::{
    ServerConfig,
    pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer},
};
use serde_json::Value;
use tempfile::NamedTempFile;
use tokio::{
    net::{TcpListener, TcpSocket, TcpStream},
    sync::watch,
    task::JoinSet,
    time::{sleep, timeout},
};
use tokio_rustls::TlsAcceptor;

use crate::process::DEADLINE;

/// Connections that wait until a receiver accepts them.
const BACKLOG: u32 = 1024;

/// A request that a receiver got.
#[derive(Debug, Clone)]
pub struct Received {
    pub path: String,
    /// By name in lower case.
    pub headers: BTreeMap<String, String>,
    pub body: String,
    /// When its body had arrived.
    pub at: Instant,
    /// The receiver's answer.
    pub reply: Reply,
}

impl Received {
    /// The id of the event.
    pub fn id(&self) -> &str {
        &self.headers["webhook-id"]
    }

    /// The event in its body.
    pub fn event(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    /// Whether the receiver accepted it.
    pub fn is_accepted(&self) -> bool {
        matches!(self.reply, Reply::Status(200..300) | Reply::Slow(_))
    }
}

/// How a receiver answers a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reply {
    /// At once, with this status.
    Status(u16),
    /// At once, with this status and this `Retry-After`.
    Later(u16, &'static str),
    /// With 204, after a delay.
    Slow(Duration),
    /// Not at all. The connection stays open.
    Never,
    /// Not at all. The connection is closed.
    Close,
}

/// Decides how to answer a request, by the id and the body.
type Rule = Box<dyn Fn(&str, &str) -> Reply + Send + Sync>;

/// A server that keeps all requests, and answers them as the test says.
pub struct Receiver {
    address: SocketAddr,
    authority: Arc<Authority>,
    state: Arc<State>,
    /// Keeps the port for this receiver while it is closed.
    _reserved: TcpSocket,
    /// Dropping it ends the server and its connections.
    serving: JoinSet<()>,
}

struct State {
    rule: RwLock<Rule>,
    connections: AtomicUsize,
    received: Mutex<Vec<Received>>,
    /// The number of requests.
    count: watch::Sender<usize>,
}

impl Receiver {
    /// A receiver on `localhost` that answers with 204.
    pub async fn new() -> Self {
        Self::certified_by(Arc::new(Authority::new()))
    }

    /// Another receiver. The same setting trusts it.
    pub fn another(&self) -> Self {
        Self::certified_by(Arc::clone(&self.authority))
    }

    fn certified_by(authority: Arc<Authority>) -> Self {
        let reserved = socket(SocketAddr::from(([127, 0, 0, 1], 0)));
        let address = reserved.local_addr().expect("it is bound");
        let state = Arc::new(State {
            rule: RwLock::new(Box::new(|_, _| Reply::Status(204))),
            connections: AtomicUsize::new(0),
            received: Mutex::default(),
            count: watch::Sender::new(0),
        });
        let serving = JoinSet::new();
        let mut receiver = Self { address, authority, state, _reserved: reserved, serving };
        receiver.open();
        receiver
    }

    pub fn url(&self, path: &str) -> String {
        format!("https://localhost:{}{path}", self.address.port())
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// The setting that trusts the CA of this receiver.
    pub fn trust(&self) -> (&str, &str) {
        let file = self.authority.file.path();
        ("PAYMENTS_WEBHOOK_CA_FILE", file.to_str().expect("a plain path"))
    }

    /// Answers later requests with this status.
    pub fn answer(&self, status: u16) {
        self.reply(Reply::Status(status));
    }

    /// Answers later requests like this.
    pub fn reply(&self, reply: Reply) {
        self.reply_by(move |_, _| reply);
    }

    /// Answers each later request as this function says for its id and its body.
    pub fn reply_by(&self, rule: impl Fn(&str, &str) -> Reply + Send + Sync + 'static) {
        *self.state.rule.write().unwrap_or_else(PoisonError::into_inner) = Box::new(rule);
    }

    /// Closes the port and all connections, as if the receiver was killed.
    pub async fn close(&mut self) {
        self.serving.shutdown().await;
    }

    /// Opens the port again after [`Self::close`].
    pub fn open(&mut self) {
        let listener = socket(self.address).listen(BACKLOG).expect("the port is reserved");
        let tls = TlsAcceptor::from(Arc::clone(&self.authority.config));
        self.serving.spawn(serve(listener, tls, Arc::clone(&self.state)));
    }

    /// The number of connections so far.
    pub fn connections(&self) -> usize {
        self.state.connections.load(Ordering::SeqCst)
    }

    /// The requests so far, in their order.
    pub fn received(&self) -> Vec<Received> {
        self.state.received.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits until the requests satisfy a condition, and returns them.
    pub async fn until(&self, is_enough: impl Fn(&[Received]) -> bool) -> Vec<Received> {
        let mut count = self.state.count.subscribe();
        let requests = || self.state.received.lock().unwrap_or_else(PoisonError::into_inner);
        let enough = count.wait_for(|_| is_enough(&requests()));
        if !timeout(DEADLINE, enough).await.is_ok_and(|waited| waited.is_ok()) {
            let received = self.received();
            let last = received.iter().rev().take(5).collect::<Vec<_>>();
            panic!("still not enough after {} requests; the last ones: {last:#?}", received.len());
        }
        self.received()
    }
}

/// A socket at this address. Another one may have the same address, until one of them listens.
fn socket(address: SocketAddr) -> TcpSocket {
    let socket = TcpSocket::new_v4().expect("a socket can be made");
    socket.set_reuseaddr(true).expect("is an option of sockets");
    socket.bind(address).expect("the port is free");
    socket
}

/// A CA, and a server certificate that it signed.
struct Authority {
    file: NamedTempFile,
    config: Arc<ServerConfig>,
}

impl Authority {
    fn new() -> Self {
        let (pem, config) = certificate();
        let file = NamedTempFile::new().expect("a file can be made");
        std::fs::write(file.path(), pem).expect("the file can be written");
        Self { file, config: Arc::new(config) }
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
    let service = service_fn(|request| answer(request, &state));
    let connection = hyper::server::conn::http1::Builder::new();
    // The sender may close the connection at any time.
    let _ = connection.serve_connection(TokioIo::new(stream), service).await;
}

/// An error closes the connection.
async fn answer(request: Request<Incoming>, state: &State) -> io::Result<Response<Empty<Bytes>>> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let headers = head.headers.iter();
    let headers: BTreeMap<_, _> =
        headers.map(|(name, value)| (name.to_string(), text(value.as_bytes()))).collect();
    let (path, body, at) = (head.uri.to_string(), text(&body), Instant::now());
    let id = headers.get("webhook-id").map_or("", String::as_str);
    let reply = state.rule.read().unwrap_or_else(PoisonError::into_inner)(id, &body);
    let received = Received { path, headers, body, at, reply };
    state.received.lock().unwrap_or_else(PoisonError::into_inner).push(received);
    state.count.send_modify(|count| *count += 1);
    let answer = Response::builder().header(LOCATION, "/elsewhere");
    let answer = match reply {
        Reply::Status(status) => answer.status(status),
        Reply::Later(status, retry_after) => answer.status(status).header(RETRY_AFTER, retry_after),
        Reply::Slow(delay) => {
            sleep(delay).await;
            answer.status(204)
        }
        Reply::Never => pending().await,
        Reply::Close => return Err(io::ErrorKind::ConnectionAborted.into()),
    };
    Ok(answer.body(Empty::new()).expect("an answer can be made"))
}
