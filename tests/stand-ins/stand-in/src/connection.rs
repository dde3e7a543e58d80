//! Accepts connections, and serves HTTP/1.1 requests on them.

use std::{error::Error, io, net::SocketAddr, sync::Arc, time::Duration};

use axum::body::Body;
use common::serve;
use hyper::{Request, Response, body::Incoming, server::conn::http1, service::Service};
use hyper_util::rt::{TokioIo, TokioTimer};
use rustls::ServerConfig;
use tokio::{
    net::{TcpListener, TcpStream},
    time::{sleep, timeout},
};
use tokio_rustls::{TlsAcceptor, server::TlsStream};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// Timeout for the handshake, and for reading the head of a request.
const CLIENT_TIMEOUT: Duration = Duration::from_secs(30);

/// Pause after a failed accept, so that the loop does not spin while, for example, no file
/// descriptor is free.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// A stand-in cannot listen on an address, for example because the port is in use.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {address}: {source}")]
pub struct ListenError {
    /// The address of the stand-in or of its control interface.
    pub address: SocketAddr,
    /// Error of the operating system.
    pub source: io::Error,
}

/// Listens on an address, and returns it with the actual port.
pub fn listen(address: SocketAddr) -> Result<(TcpListener, SocketAddr), ListenError> {
    let bound = serve::bind(address).and_then(|listener| {
        let address = listener.local_addr()?;
        Ok((listener, address))
    });
    bound.map_err(|source| ListenError { address, source })
}

/// Passes each connection to `serve` until `shutdown`, then waits up to `drain` for the tasks of
/// `serve`. Dropping the runtime ends those that still run.
pub async fn accept<F: Future<Output = ()> + Send + 'static>(
    listener: TcpListener,
    shutdown: CancellationToken,
    drain: Duration,
    serve: impl Fn(TcpStream) -> F,
) {
    let connections = TaskTracker::new();
    while let Some(accepted) = shutdown.run_until_cancelled(listener.accept()).await {
        match accepted {
            Ok((stream, _)) => {
                connections.spawn(serve(stream));
            }
            Err(error) => {
                tracing::warn!(cause = %error, "connection not accepted");
                sleep(ACCEPT_PAUSE).await;
            }
        }
    }
    drop(listener);
    connections.close();
    let _ = timeout(drain, connections.wait()).await;
}

/// Performs the handshake. Returns `None` if it fails or takes too long.
pub async fn handshake(
    stream: TcpStream,
    config: Arc<ServerConfig>,
) -> Option<TlsStream<TcpStream>> {
    // Without TCP_NODELAY, the first answer waits until the client acknowledges the session
    // tickets, which takes 40 ms. If the option cannot be set, the answer is only late.
    let _ = stream.set_nodelay(true);
    timeout(CLIENT_TIMEOUT, TlsAcceptor::from(config).accept(stream)).await.ok()?.ok()
}

/// Answers the requests of a connection. After `shutdown`, it answers the one in flight. Returns
/// the connection if `service` or the client has failed, so that the caller can choose how it ends.
pub async fn serve_requests<S>(
    stream: TlsStream<TcpStream>,
    service: S,
    shutdown: &CancellationToken,
) -> Option<TlsStream<TcpStream>>
where
    S: Service<Request<Incoming>, Response = Response<Body>>,
    S::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let mut serving = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(CLIENT_TIMEOUT)
        .serve_connection(TokioIo::new(stream), service);
    let ended = tokio::select! {
        ended = &mut serving => ended,
        () = shutdown.cancelled() => {
            std::pin::Pin::new(&mut serving).graceful_shutdown();
            (&mut serving).await
        }
    };
    ended.is_err().then(|| serving.into_parts().io.into_inner())
}
