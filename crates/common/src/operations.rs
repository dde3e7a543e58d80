//! Routes for operators: `GET /health`, `GET /ready`, `GET /metrics`. The subcommand `healthcheck`
//! calls the first one.

use std::{
    io::{self, BufRead as _, BufReader, Write as _},
    net::{Ipv4Addr, SocketAddr, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use axum::{
    Json, Router,
    extract::State,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse as _, Response},
    routing::get,
};
use prometheus::{IntGauge, Opts, Registry, TextEncoder, process_collector::ProcessCollector};
use serde_json::json;

use crate::{
    ErrorBody,
    bearer::BearerToken,
    config::ServerConfig,
    error::Cause,
    telemetry::{Family, StatsCollector},
};

/// Timeout of `healthcheck` for connecting, and again for reading the answer.
const HEALTHCHECK_TIMEOUT: Duration = Duration::from_secs(3);

const FAMILIES: [Family<Readiness>; 1] =
    [Family::gauge("database_up", "Whether the database answers and takes writes.", |readiness| {
        (*readiness != Readiness::Down).into()
    })];

/// State of the routes for operators.
#[derive(Clone)]
pub struct Operations {
    registry: Registry,
    /// The metrics of the process, without the prefix of the service.
    process: Registry,
    /// `/metrics` requires it, if set.
    token: Option<BearerToken>,
    draining: Arc<AtomicBool>,
    readiness: Arc<dyn Fn() -> Readiness + Send + Sync>,
}

/// The requests that a service can serve at the moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readiness {
    /// Everything.
    Ready,
    /// All but writes, for this reason.
    ReadOnly(&'static str),
    /// Nothing, because its store is not available.
    Down,
}

impl Operations {
    /// `/metrics` renders `registry` and the metrics of the process, and requires `token` if set.
    /// `/ready` answers what `readiness` returns, and `database_up` is a metric of it.
    pub fn new(
        registry: Registry,
        token: Option<BearerToken>,
        readiness: impl Fn() -> Readiness + Send + Sync + Clone + 'static,
    ) -> prometheus::Result<Self> {
        registry.register(Box::new(StatsCollector::new(&FAMILIES, readiness.clone())))?;
        let build = Opts::new("build_info", "The version of the program. Always 1.");
        let build = IntGauge::with_opts(build.const_label("version", env!("CARGO_PKG_VERSION")))?;
        build.set(1);
        registry.register(Box::new(build))?;
        let process = Registry::new();
        process.register(Box::new(ProcessCollector::for_self()))?;
        let (draining, readiness) = (Arc::default(), Arc::new(readiness));
        Ok(Self { registry, process, token, draining, readiness })
    }

    /// Makes `/ready` return 503, because the service is stopping.
    pub fn drain(&self) {
        self.draining.store(true, Ordering::Relaxed);
    }

    /// The router of `GET /health`, `GET /ready` and `GET /metrics`.
    pub fn routes(self) -> Router {
        Router::new()
            .route("/health", get(health))
            .route("/ready", get(ready))
            .route("/metrics", get(metrics))
            .with_state(self)
    }
}

async fn health() -> Response {
    Json(json!({ "status": "ok" })).into_response()
}

async fn ready(State(operations): State<Operations>) -> Response {
    let not_ready =
        |why| ErrorBody::new("not_ready", why).response(StatusCode::SERVICE_UNAVAILABLE);
    if operations.draining.load(Ordering::Relaxed) {
        return not_ready("the service is stopping");
    }
    match (operations.readiness)() {
        Readiness::Ready => Json(json!({ "status": "ready", "writes": true })).into_response(),
        Readiness::ReadOnly(reason) => {
            Json(json!({ "status": "ready", "writes": false, "reason": reason })).into_response()
        }
        Readiness::Down => not_ready("the store is not available"),
    }
}

async fn metrics(State(operations): State<Operations>, headers: HeaderMap) -> Response {
    if operations.token.is_some_and(|token| !token.admits(&headers)) {
        let rejection = ErrorBody::new("unauthenticated", "the metrics token is missing or wrong");
        let challenge = [(header::WWW_AUTHENTICATE, "Bearer")];
        return (challenge, rejection.response(StatusCode::UNAUTHORIZED)).into_response();
    }
    let families = [operations.process.gather(), operations.registry.gather()].concat();
    match TextEncoder::new().encode_to_string(&families) {
        Ok(text) => ([(header::CONTENT_TYPE, prometheus::TEXT_FORMAT)], text).into_response(),
        Err(error) => {
            let mut response = ErrorBody::new("internal", "an internal error occurred")
                .response(StatusCode::INTERNAL_SERVER_ERROR);
            response.extensions_mut().insert(Cause::new(error));
            response
        }
    }
}

/// Calls `GET /health` of the service that `server` configures, and fails unless it returns 200.
/// The health check of a container uses this, because its image has no other HTTP client.
pub fn healthcheck(server: &ServerConfig) -> io::Result<()> {
    let any = server.host.is_unspecified();
    let host = if any { Ipv4Addr::LOCALHOST.into() } else { server.host };
    let address = SocketAddr::new(host, server.port);
    ask(address).map_err(|error| {
        io::Error::new(error.kind(), format!("GET http://{address}/health: {error}"))
    })
}

fn ask(address: SocketAddr) -> io::Result<()> {
    let mut stream = TcpStream::connect_timeout(&address, HEALTHCHECK_TIMEOUT)?;
    stream.set_read_timeout(Some(HEALTHCHECK_TIMEOUT))?;
    stream.write_all(b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
    let mut status_line = String::new();
    BufReader::new(stream).read_line(&mut status_line)?;
    if status_line.starts_with("HTTP/1.1 200 ") {
        Ok(())
    } else {
        Err(io::Error::other(format!("returned {:?}, not 200", status_line.trim_end())))
    }
}
