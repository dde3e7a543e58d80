//! The accept loop: connections with timeouts and limits, drained when the service stops.
//!
//! `axum::serve` has neither timeouts nor limits, so this module drives hyper itself. HTTP/1.1
//! only: the callers are programs and proxies, and a websocket needs nothing newer.
//! `docs/decisions/own-accept-loop.md` has the reasons at length.
//!
//! Before a change, know:
//! 1. At the limit, a new connection closes the one that has been idle longest: see
//!    [`Connections`]. A listener stops accepting only while a handler runs for every connection.
//! 2. A connection is idle while it waits for its client: between requests, in a head, in a body,
//!    and while a response is written. It is busy while a handler runs and does not wait for the
//!    body.
//! 3. A connection can hold little memory before its request is authenticated: hyper reads in steps
//!    of `READ_STEP`, heads end at `MAX_HEAD`, and bodies take memory from a budget.
//! 4. The library does not notice a disconnect while unread bytes follow a request. [`Connections`]
//!    checks for it, and for connections that are idle for too long: one scan four times a second
//!    costs less than a timer for each request.

use std::{
    convert::Infallible,
    io,
    net::{Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use axum::{
    Router,
    extract::Request,
    http::{HeaderValue, StatusCode, header},
    response::Response,
};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use rustix::io::Errno;
use socket2::SockRef;
use tokio::{
    net::{TcpListener, TcpSocket},
    task::JoinSet,
    time::{Instant, sleep, timeout, timeout_at},
};
use tokio_io_timeout::TimeoutStream;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tower::Service as _;

use crate::{body, outage::Outage, telemetry::Meter};

mod connections;
mod date;
mod handshakes;
mod stream;

pub use connections::{Connection, Connections, KeptOpen};

use stream::Stream;

const CLOSE: HeaderValue = HeaderValue::from_static("close");

/// Timeout for the head of a request, and for an idle connection.
pub const HEAD_TIMEOUT: Duration = Duration::from_secs(60);

/// Timeout for a client that does not read what is written to it.
pub const WRITE_TIMEOUT: Duration = Duration::from_secs(30);

/// Connections that the kernel queues until the service accepts them.
const BACKLOG: u32 = 4096;

/// Limit of the head of a request, in bytes.
const MAX_HEAD: usize = 64 * 1024;

/// Pause after a failed accept, for example without free file descriptors, so that the loop does
/// not spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Time for the handshakes that have begun when the service stops.
const HANDSHAKES: Duration = Duration::from_millis(20);

/// While the service stops, its connections are asked so often whether they may close.
const CLOSE_EVERY: Duration = Duration::from_millis(50);

/// Binds `address` and listens on it. `::` is every address of IPv6 and IPv4; without IPv6, it is
/// every address of IPv4.
pub fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let is_any = address.ip() == Ipv6Addr::UNSPECIFIED;
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() };
    let socket = match socket {
        Err(error) if is_any && Errno::from_io_error(&error) == Some(Errno::AFNOSUPPORT) => {
            return bind((Ipv4Addr::UNSPECIFIED, address.port()).into());
        }
        socket => socket?,
    };
    if is_any {
        SockRef::from(&socket).set_only_v6(false)?;
    }
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// A listener with all that its connections need.
pub struct Server<M> {
    /// A socket from [`bind`].
    pub listener: TcpListener,
    /// Answers the requests.
    pub router: Router,
    /// Counts the requests that the HTTP library rejects by itself.
    pub meter: Arc<M>,
    /// The limits of the process, which all its listeners share.
    pub connections: Arc<Connections>,
}

impl<M: Meter> Server<M> {
    /// Serves until `shutdown`, then lets requests in flight and upgraded connections finish, for
    /// at most `drain`.
    pub async fn run(self, shutdown: CancellationToken, drain: Duration) {
        let connections = Arc::clone(&self.connections);
        let open = TaskTracker::new();
        // Dropping it aborts the tasks that are still in it.
        let (mut tasks, outage) = (JoinSet::new(), Outage::of("accepting connections"));
        while let Some(accepted) = shutdown.run_until_cancelled(self.accept(&open)).await {
            self.serve(accepted, &mut tasks, &outage).await;
        }
        connections.stop();
        // A proxy repeats a request whose connection is refused, but not one that was sent on a
        // connection in the queue of a listener that closes.
        handshakes::refuse(&self.listener);
        let end = Instant::now() + HANDSHAKES;
        for _ in 0..BACKLOG {
            let Ok(accepted) = timeout_at(end, self.accept(&open)).await else { break };
            self.serve(accepted, &mut tasks, &outage).await;
        }
        drop(self);
        open.close();
        let closed = async {
            connections.wake_all();
            while timeout(CLOSE_EVERY, open.wait()).await.is_err() {
                connections.wake_all();
            }
        };
        if timeout(drain, closed).await.is_err() {
            tracing::warn!(connections = open.len(), "closed connections after the drain timeout");
        }
    }

    /// Accepts the next connection. `None` if the client has too many connections: the new one is
    /// closed.
    async fn accept(&self, open: &TaskTracker) -> io::Result<Option<Stream>> {
        let (stream, peer) = self.listener.accept().await?;
        stream.set_nodelay(true)?;
        let (read, write) = stream.into_split();
        let write = Arc::new(write);
        let connection = self.connections.admit(&write, peer.ip(), open.token()).await;
        Ok(connection.map(|connection| Stream::new(read, write, connection)))
    }

    async fn serve(
        &self,
        accepted: io::Result<Option<Stream>>,
        tasks: &mut JoinSet<()>,
        outage: &Outage,
    ) {
        while tasks.try_join_next().is_some() {}
        match outage.observe(accepted) {
            Some(Some(stream)) => {
                let (router, meter) = (self.router.clone(), Arc::clone(&self.meter));
                tasks.spawn(serve_connection(stream, router, meter));
            }
            Some(None) => {}
            None => sleep(ACCEPT_PAUSE).await,
        }
    }
}

async fn serve_connection(stream: Stream, router: Router, meter: Arc<impl Meter>) {
    let connection = stream.connection().clone();
    let mut io = TimeoutStream::new(stream);
    io.set_write_timeout(Some(WRITE_TIMEOUT));
    let served = connection.clone();
    let service = service_fn(move |request| {
        let (router, connection) = (router.clone(), served.clone());
        async move {
            connection.request_started();
            let Ok(mut response) = answer(request, router, &connection).await;
            if response.status() == StatusCode::SWITCHING_PROTOCOLS {
                connection.socket_opened();
            } else {
                if connection.is_stopping() {
                    response.headers_mut().insert(header::CONNECTION, CLOSE);
                }
                connection.request_finished();
            }
            Ok::<_, Infallible>(response)
        }
    });
    let http = http1::Builder::new()
        .header_read_timeout(None)
        .max_header_size(MAX_HEAD)
        .max_buf_size(MAX_HEAD)
        .serve_connection(TokioIo::new(Box::pin(io)), service)
        .with_upgrades();
    tokio::pin!(http);
    let ended = loop {
        tokio::select! {
            // In this order, because a poll of a body that is not complete begins a new idle time.
            biased;
            () = connection.woken() => {}
            ended = http.as_mut() => break ended,
        }
        if connection.must_close() {
            break Ok(());
        }
        if connection.is_stopping() && !connection.awaits_proxy() {
            http.as_mut().graceful_shutdown();
        }
    };
    if let Err(error) = ended {
        if error.is_parse() {
            meter.refused(status_of(&error));
        }
        tracing::debug!(cause = %error, "connection ended with an error");
    }
}

/// The status with which the HTTP library has rejected a request that it could not parse.
fn status_of(error: &hyper::Error) -> StatusCode {
    if error.is_parse_too_large() {
        StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE
    } else {
        StatusCode::BAD_REQUEST
    }
}

async fn answer(
    request: Request<Incoming>,
    mut router: Router,
    connection: &Connection,
) -> Result<Response, Infallible> {
    let (mut head, body) = request.into_parts();
    let expects_continue = head.headers.contains_key(header::EXPECT);
    head.extensions.insert(connection.clone());
    let (body, remainder) = body::track(body, connection, expects_continue);
    let mut response = router.call(Request::from_parts(head, body)).await?;
    if !remainder.discard().await {
        response.headers_mut().insert(header::CONNECTION, CLOSE);
    }
    response.headers_mut().extend(date::now().map(|date| (header::DATE, date)));
    Ok(response)
}
