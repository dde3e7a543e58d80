//! The accept loop: connections with time-outs and a cap, drained when the service stops.
//!
//! `axum::serve` has neither, so this drives hyper itself. HTTP/1.1 only: the services speak to
//! programs and proxies, and a websocket needs nothing newer.

use std::{convert::Infallible, io, net::SocketAddr, sync::Arc, time::Duration};

use axum::{
    Router,
    extract::Request,
    http::{HeaderValue, header},
};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    net::{TcpListener, TcpSocket, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
    task::JoinSet,
    time::{sleep, timeout},
};
use tokio_io_timeout::TimeoutStream;
use tokio_util::{
    sync::CancellationToken,
    task::{TaskTracker, task_tracker::TaskTrackerToken},
};
use tower::Service as _;

use crate::body;

const CLOSE: HeaderValue = HeaderValue::from_static("close");

/// How long a client may take to send the head of a request, and a connection may stay idle.
pub const HEAD_TIMEOUT: Duration = Duration::from_secs(60);

/// How long a client may refuse to take what is written to it.
pub const WRITE_TIMEOUT: Duration = Duration::from_secs(30);

/// Connections the kernel may hold while the service has no place for them.
const BACKLOG: u32 = 4096;

/// Bytes the head of a request may have.
const MAX_HEAD: usize = 64 * 1024;

/// Files kept free of connections: for the store, the log and the listener.
const RESERVED_FILES: u64 = 128;

/// Pause after an accept that failed for want of something, so that the loop does not spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// A connection's place under the cap, found in the extensions of its requests. Who upgrades a
/// connection keeps this for as long: [`serve`] then counts it, and waits for it at the end.
#[derive(Clone)]
pub struct Place {
    _held: Arc<(OwnedSemaphorePermit, TaskTrackerToken)>,
}

/// Raises the soft limit of open files to the hard one and says how many connections that allows,
/// when each needs so many files, its own included.
fn max_connections(files_each: u64) -> usize {
    let files = rlimit::increase_nofile_limit(u64::MAX).unwrap_or(1024);
    let connections = (files.saturating_sub(RESERVED_FILES) / files_each.max(1)).max(1);
    usize::try_from(connections).unwrap_or(usize::MAX).min(Semaphore::MAX_PERMITS)
}

/// Binds the address a service listens on.
pub fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// What a service allows its connections.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Files that one needs, its own included.
    pub files_each: u64,
    /// How long they may take to finish when the service stops.
    pub drain: Duration,
}

/// Serves `router` until `shutdown`, then lets requests in flight and upgraded connections finish.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    shutdown: CancellationToken,
    limits: Limits,
) {
    let Limits { files_each, drain } = limits;
    let places = Arc::new(Semaphore::new(max_connections(files_each)));
    let connections = TaskTracker::new();
    // Dropped, it ends what is still in it.
    let mut tasks = JoinSet::new();
    loop {
        while tasks.try_join_next().is_some() {}
        let accepted = tokio::select! {
            biased;
            () = shutdown.cancelled() => break,
            accepted = accept(&listener, &places) => accepted,
        };
        match accepted {
            Ok((stream, permit)) => {
                let place = Place { _held: Arc::new((permit, connections.token())) };
                let connection = connection(stream, router.clone(), place, shutdown.clone());
                tasks.spawn(connection);
            }
            Err(error) => {
                tracing::warn!(cause = %error, "connection not accepted");
                sleep(ACCEPT_PAUSE).await;
            }
        }
    }
    drop(listener);
    connections.close();
    if timeout(drain, connections.wait()).await.is_err() {
        tracing::warn!(
            connections = connections.len(),
            "connections cut off after the drain time-out"
        );
    }
}

/// Waits for a place first: beyond the cap, connections wait in the kernel.
async fn accept(
    listener: &TcpListener,
    places: &Arc<Semaphore>,
) -> io::Result<(TcpStream, OwnedSemaphorePermit)> {
    let place = Arc::clone(places).acquire_owned().await.map_err(io::Error::other)?;
    let (stream, _) = listener.accept().await?;
    stream.set_nodelay(true)?;
    Ok((stream, place))
}

async fn connection(stream: TcpStream, router: Router, place: Place, shutdown: CancellationToken) {
    let service = service_fn(move |request: Request<Incoming>| {
        let (mut head, body) = request.into_parts();
        head.extensions.insert(place.clone());
        let (body, leftover) = body::lend(body);
        let answer = router.clone().call(Request::from_parts(head, body));
        async move {
            let mut response = answer.await?;
            if !leftover.drain().await {
                response.headers_mut().insert(header::CONNECTION, CLOSE);
            }
            Ok::<_, Infallible>(response)
        }
    });
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(WRITE_TIMEOUT));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(MAX_HEAD)
        .serve_connection(TokioIo::new(Box::pin(stream)), service)
        .with_upgrades();
    tokio::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = shutdown.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(cause = %error, "connection broken");
    }
}
