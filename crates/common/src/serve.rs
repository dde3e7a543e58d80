//! The accept loop: connections with time-outs and limits, drained when the service stops.
//!
//! `axum::serve` has neither time-outs nor limits, so this drives hyper itself. HTTP/1.1 only: the services speak to
//! programs and proxies, and a websocket needs nothing newer.
//!
//! To know before a change:
//! 1. At the cap, the connection that has waited longest for its client is closed to make room; see
//!    [`Connections`]. A listener stops accepting only while a handler works for every connection.
//! 2. A connection waits for its client between requests, in a head, in a body, and while a
//!    response is written. It works while a handler runs and does not wait for the body.
//! 3. Memory that a connection may hold before its caller is known is small: hyper reads in steps
//!    of `READ_STEP`, heads end at `MAX_HEAD`, bodies draw on a budget.
//! 4. The library does not look for the end of a connection while unread bytes follow a request.
//!    [`Connections`] looks for it.

use std::{convert::Infallible, io, net::SocketAddr, sync::Arc, time::Duration};

use axum::{
    Router,
    extract::Request,
    http::{HeaderValue, StatusCode, header},
    response::Response,
};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    net::{TcpListener, TcpSocket},
    task::JoinSet,
    time::{sleep, timeout},
};
use tokio_io_timeout::TimeoutStream;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tower::Service as _;

use crate::{body, telemetry::Meter};

mod connections;
mod stream;

pub use connections::{Connection, Connections};

use stream::Stream;

const CLOSE: HeaderValue = HeaderValue::from_static("close");

/// How long a client may take to send the head of a request, and a connection may stay idle.
pub const HEAD_TIMEOUT: Duration = Duration::from_secs(60);

/// How long a client may refuse to take what is written to it.
pub const WRITE_TIMEOUT: Duration = Duration::from_secs(30);

/// Connections that the kernel may hold until the service accepts them.
const BACKLOG: u32 = 4096;

/// Bytes that the head of a request may have.
const MAX_HEAD: usize = 64 * 1024;

/// Pause after an accept that failed for want of something, so that the loop does not spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Binds the address a service listens on.
pub fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// A listener and what serves its requests.
pub struct Server<M> {
    /// Where clients connect.
    pub listener: TcpListener,
    /// The handlers.
    pub router: Router,
    /// Counts what the HTTP library refuses by itself.
    pub meter: Arc<M>,
    /// The connections of the process, which its listeners share.
    pub connections: Arc<Connections>,
}

impl<M: Meter> Server<M> {
    /// Serves until `shutdown`, then lets requests in flight and upgraded connections finish, for
    /// at most `drain`.
    pub async fn run(self, shutdown: CancellationToken, drain: Duration) {
        let Self { listener, router, meter, connections } = self;
        let open = TaskTracker::new();
        // Dropped, it ends what is still in it.
        let mut tasks = JoinSet::new();
        loop {
            while tasks.try_join_next().is_some() {}
            let accepted = tokio::select! {
                biased;
                () = shutdown.cancelled() => break,
                accepted = accept(&listener, &connections, &open) => accepted,
            };
            match accepted {
                Ok(Some(stream)) => {
                    let (router, meter) = (router.clone(), Arc::clone(&meter));
                    tasks.spawn(converse(stream, router, meter, shutdown.clone()));
                }
                Ok(None) => {}
                Err(error) => {
                    tracing::warn!(cause = %error, "connection not accepted");
                    sleep(ACCEPT_PAUSE).await;
                }
            }
        }
        drop(listener);
        open.close();
        if timeout(drain, open.wait()).await.is_err() {
            tracing::warn!(
                connections = open.len(),
                "connections cut off after the drain time-out"
            );
        }
    }
}

/// The next connection. `None` when its client has too many already: it is closed.
async fn accept(
    listener: &TcpListener,
    connections: &Arc<Connections>,
    open: &TaskTracker,
) -> io::Result<Option<Stream>> {
    let (stream, peer) = listener.accept().await?;
    stream.set_nodelay(true)?;
    let (read, write) = stream.into_split();
    let write = Arc::new(write);
    let connection = connections.admit(&write, peer.ip(), open.token()).await;
    Ok(connection.map(|connection| Stream::new(read, write, connection)))
}

async fn converse(
    stream: Stream,
    router: Router,
    meter: Arc<impl Meter>,
    shutdown: CancellationToken,
) {
    let connection = stream.connection().clone();
    let mut io = TimeoutStream::new(stream);
    io.set_write_timeout(Some(WRITE_TIMEOUT));
    let served = connection.clone();
    let service = service_fn(move |request| {
        let (router, connection) = (router.clone(), served.clone());
        async move {
            connection.request_started();
            let response = answer(request, router, &connection).await;
            connection.request_finished();
            response
        }
    });
    let http = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_header_size(MAX_HEAD)
        .max_buf_size(MAX_HEAD)
        .serve_connection(TokioIo::new(Box::pin(io)), service)
        .with_upgrades();
    tokio::pin!(http);
    let mut stops = false;
    let ended = loop {
        tokio::select! {
            biased;
            ended = http.as_mut() => break ended,
            () = shutdown.cancelled(), if !stops => {
                stops = true;
                http.as_mut().graceful_shutdown();
            }
            () = connection.cut_off() => break Ok(()),
        }
    };
    // A socket that was upgraded keeps its own copy of the connection.
    connection.leaves_http();
    if let Err(error) = ended {
        if error.is_parse() {
            meter.refused(refusal(&error));
        }
        tracing::debug!(cause = %error, "connection broken");
    }
}

/// The status that the HTTP library has answered a request with that it could not parse.
fn refusal(error: &hyper::Error) -> StatusCode {
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
    let expects = head.headers.contains_key(header::EXPECT);
    head.extensions.insert(connection.clone());
    let (body, remainder) = body::track(body, connection, expects);
    let mut response = router.call(Request::from_parts(head, body)).await?;
    if !remainder.discard().await {
        response.headers_mut().insert(header::CONNECTION, CLOSE);
    }
    Ok(response)
}
