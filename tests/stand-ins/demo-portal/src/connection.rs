//! Accepts connections, performs the TLS handshake, answers calls, and ends connections as scripts
//! require.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use axum::{body::Body, response::Response};
use bytes::Bytes;
use futures_util::FutureExt as _;
use hyper::{Request, body::Incoming, service::service_fn};
use rustls::HandshakeKind;
use stand_in::connection::{handshake, serve_requests};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    time::sleep,
};
use tokio_rustls::server::TlsStream;
use tokio_util::sync::CancellationToken;

use crate::{
    call::Call,
    certificate::Certificates,
    controller::Controller,
    delivery::{BrokenOff, Reply},
    honest,
    script::{Content, Delivery, Tls},
};

/// A TLS record with the fatal alert `handshake_failure`.
const HANDSHAKE_FAILURE: [u8; 7] = [21, 3, 3, 0, 2, 2, 40];

/// Serves until `shutdown`, then waits up to `drain` for calls in flight.
pub(crate) async fn serve(
    listener: TcpListener,
    controller: Controller,
    certificates: Arc<Certificates>,
    shutdown: CancellationToken,
    drain: Duration,
) {
    stand_in::connection::accept(listener, shutdown.clone(), drain, |stream| {
        let connection = Connection::open(controller.clone());
        accept(stream, connection, Arc::clone(&certificates), shutdown.clone())
    })
    .await;
}

/// An open connection, which is counted until it is dropped.
struct Connection {
    controller: Controller,
    number: u64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The user of the latest call.
    user: String,
    /// The delivery of the latest answer, which decides how the connection ends.
    delivery: Delivery,
    /// The whole response, if the delivery is [`Delivery::Raw`].
    raw: Bytes,
}

impl Connection {
    fn open(controller: Controller) -> Arc<Self> {
        let mut number = 0;
        controller.count(|counters| {
            counters.connections += 1;
            counters.open += 1;
            number = counters.connections;
        });
        Arc::new(Self { controller, number, state: Mutex::default() })
    }

    /// Returns the user to whom a call is attributed: `named`, or else the user of the previous
    /// call.
    fn user(&self, named: Option<String>) -> String {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(named) = named {
            state.user = named;
        }
        state.user.clone()
    }

    fn set_delivery(&self, delivery: Delivery, body: &Content) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.delivery = delivery;
        if delivery == Delivery::Raw {
            state.raw = body.clone().into_bytes();
        }
    }

    fn delivery(&self) -> (Delivery, Bytes) {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        (state.delivery, state.raw.clone())
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.controller.count(|counters| counters.open -= 1);
    }
}

async fn accept(
    mut stream: TcpStream,
    connection: Arc<Connection>,
    certificates: Arc<Certificates>,
    shutdown: CancellationToken,
) {
    let tls = connection.controller.tls();
    let Some(config) = certificates.config(tls) else {
        connection.controller.count(|counters| counters.failed_handshakes += 1);
        // An error means that the client has disconnected, which is the intended result as well.
        let _ = fail_handshake(&mut stream, tls).await;
        return;
    };
    let Some(stream) = handshake(stream, config).await else {
        connection.controller.count(|counters| counters.failed_handshakes += 1);
        return;
    };
    let resumed = stream.get_ref().1.handshake_kind() == Some(HandshakeKind::Resumed);
    connection.controller.count(|counters| {
        counters.handshakes += 1;
        counters.resumptions += u64::from(resumed);
    });
    serve_calls(stream, connection, shutdown).await;
}

async fn fail_handshake(stream: &mut TcpStream, tls: Tls) -> std::io::Result<()> {
    let mut buffer = [0; 4096];
    match tls {
        Tls::Reset => return stream.set_zero_linger(),
        Tls::Refuse => {
            let _ = stream.read(&mut buffer).await?;
            stream.write_all(&HANDSHAKE_FAILURE).await?;
            stream.shutdown().await?;
        }
        _ => {}
    }
    // Wait until the client disconnects.
    while stream.read(&mut buffer).await? > 0 {}
    Ok(())
}

async fn serve_calls(
    stream: TlsStream<TcpStream>,
    connection: Arc<Connection>,
    shutdown: CancellationToken,
) {
    let service = service_fn(|request: Request<Incoming>| {
        answer(request.map(Body::new), Arc::clone(&connection)).boxed()
    });
    if let Some(stream) = serve_requests(stream, service, &shutdown).await {
        // An error means that the client has already disconnected.
        let _ = end(stream, connection.delivery()).await;
    }
}

async fn answer(
    request: Request<Body>,
    connection: Arc<Connection>,
) -> Result<Response, BrokenOff> {
    let controller = &connection.controller;
    let call = Call::read(request, connection.number).await;
    let user = connection.user(call.user(controller));
    let underway = controller.record(&user, call.received.clone());
    let behaviour =
        call.operation.map(|known| controller.behaviour(&user, known)).unwrap_or_default();
    tracing::debug!(connection = connection.number, operation = ?call.operation, "call received");
    sleep(Duration::from_millis(behaviour.delay_ms)).await;
    let (answer, mut headers) = match behaviour.answer {
        Some(answer) => (answer, Vec::new()),
        None => honest::answer(controller, &call),
    };
    headers.extend(behaviour.headers);
    connection.set_delivery(behaviour.delivery, &answer.body);
    Reply { answer, headers, call: underway }.deliver(behaviour.delivery).await
}

/// Ends a connection whose answer stays incomplete.
async fn end(
    mut stream: TlsStream<TcpStream>,
    (delivery, raw): (Delivery, Bytes),
) -> std::io::Result<()> {
    match delivery {
        Delivery::ResetBefore | Delivery::ResetMidway => stream.get_ref().0.set_zero_linger(),
        Delivery::NotHttp => {
            stream.write_all(b"220 this is no web server\r\n").await?;
            stream.shutdown().await
        }
        Delivery::Raw => {
            stream.write_all(&raw).await?;
            stream.shutdown().await
        }
        _ => stream.shutdown().await,
    }
}
