//! The connections: accepted, greeted with TLS, served call by call, and ended as the script says.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use axum::{body::Body, response::Response};
use futures_util::FutureExt as _;
use hyper::{Request, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use rustls::HandshakeKind;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    time::{sleep, timeout},
};
use tokio_rustls::{TlsAcceptor, server::TlsStream};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    call::Call,
    certificate::Certificates,
    delivery::{BrokenOff, Parcel},
    desk::Desk,
    honest,
    script::{Delivery, Tls},
};

/// How long a client may take for its part of the handshake, and for the head of a call.
const CLIENT_TIMEOUT: Duration = Duration::from_secs(30);

/// Pause after an accept that failed for want of something, so that the loop does not spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// A fatal alert of TLS: `handshake_failure`.
const HANDSHAKE_FAILURE: [u8; 7] = [21, 3, 3, 0, 2, 2, 40];

/// Serves until `shutdown`, then lets calls in flight finish for `drain`.
pub(crate) async fn serve(
    listener: TcpListener,
    desk: Desk,
    certificates: Arc<Certificates>,
    shutdown: CancellationToken,
    drain: Duration,
) {
    let connections = TaskTracker::new();
    while let Some(accepted) = shutdown.run_until_cancelled(listener.accept()).await {
        match accepted {
            Ok((stream, _)) => {
                let seat = Seat::take(desk.clone());
                connections.spawn(receive(
                    stream,
                    seat,
                    Arc::clone(&certificates),
                    shutdown.clone(),
                ));
            }
            Err(error) => {
                tracing::warn!(cause = %error, "connection not accepted");
                sleep(ACCEPT_PAUSE).await;
            }
        }
    }
    drop(listener);
    connections.close();
    // What is still open after this is cut off with the runtime.
    let _ = timeout(drain, connections.wait()).await;
}

/// An open connection: counted, and remembered with who called last on it.
struct Seat {
    desk: Desk,
    number: u64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    user: String,
    delivery: Delivery,
}

impl Seat {
    fn take(desk: Desk) -> Arc<Self> {
        let mut number = 0;
        desk.count(|counters| {
            counters.connections += 1;
            counters.open += 1;
            number = counters.connections;
        });
        Arc::new(Self { desk, number, state: Mutex::default() })
    }

    /// Who a call is of, when it names `named`.
    fn user(&self, named: Option<String>) -> String {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(named) = named {
            state.user = named;
        }
        state.user.clone()
    }

    fn begin(&self, delivery: Delivery) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).delivery = delivery;
    }

    fn delivery(&self) -> Delivery {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).delivery
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.desk.count(|counters| counters.open -= 1);
    }
}

async fn receive(
    mut stream: TcpStream,
    seat: Arc<Seat>,
    certificates: Arc<Certificates>,
    shutdown: CancellationToken,
) {
    let tls = seat.desk.tls();
    let Some(config) = certificates.config(tls) else {
        seat.desk.count(|counters| counters.failed_handshakes += 1);
        // A client that is gone already has got what it was to get.
        let _ = turn_away(&mut stream, tls).await;
        return;
    };
    // An answer is not held back until the client has acknowledged the session tickets before it,
    // which takes it 40 ms. Where that cannot be had, the answer is late.
    let _ = stream.set_nodelay(true);
    let accepted = timeout(CLIENT_TIMEOUT, TlsAcceptor::from(config).accept(stream)).await;
    let Ok(Ok(stream)) = accepted else {
        seat.desk.count(|counters| counters.failed_handshakes += 1);
        return;
    };
    let resumed = stream.get_ref().1.handshake_kind() == Some(HandshakeKind::Resumed);
    seat.desk.count(|counters| {
        counters.handshakes += 1;
        counters.resumptions += u64::from(resumed);
    });
    converse(stream, seat, shutdown).await;
}

async fn turn_away(stream: &mut TcpStream, tls: Tls) -> std::io::Result<()> {
    let mut greeting = [0; 4096];
    match tls {
        Tls::Reset => return stream.set_zero_linger(),
        Tls::Refuse => {
            let _ = stream.read(&mut greeting).await?;
            stream.write_all(&HANDSHAKE_FAILURE).await?;
            stream.shutdown().await?;
        }
        _ => {}
    }
    // Until the client goes.
    while stream.read(&mut greeting).await? > 0 {}
    Ok(())
}

/// Serves the calls of one connection.
async fn converse(stream: TlsStream<TcpStream>, seat: Arc<Seat>, shutdown: CancellationToken) {
    let service = service_fn(|request: Request<Incoming>| {
        answer(request.map(Body::new), Arc::clone(&seat)).boxed()
    });
    let mut connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(CLIENT_TIMEOUT)
        .serve_connection(TokioIo::new(stream), service);
    let ended = tokio::select! {
        ended = &mut connection => ended,
        () = shutdown.cancelled() => {
            std::pin::Pin::new(&mut connection).graceful_shutdown();
            (&mut connection).await
        }
    };
    if ended.is_err() {
        let stream = connection.into_parts().io.into_inner();
        // A client that is gone already cannot be told.
        let _ = end(stream, seat.delivery()).await;
    }
}

async fn answer(request: Request<Body>, seat: Arc<Seat>) -> Result<Response, BrokenOff> {
    let desk = &seat.desk;
    let call = Call::read(request, seat.number).await;
    let user = seat.user(call.user(desk));
    let underway = desk.record(&user, call.received.clone());
    let behaviour = call.operation.map(|known| desk.behaviour(&user, known)).unwrap_or_default();
    tracing::debug!(connection = seat.number, operation = ?call.operation, "call received");
    sleep(Duration::from_millis(behaviour.delay_ms)).await;
    let (answer, mut headers) = match behaviour.answer {
        Some(answer) => (answer, Vec::new()),
        None => honest::answer(desk, &call),
    };
    headers.extend(behaviour.headers);
    seat.begin(behaviour.delivery);
    Parcel { answer, headers, call: underway }.deliver(behaviour.delivery).await
}

/// Ends a connection that was broken off.
async fn end(mut stream: TlsStream<TcpStream>, delivery: Delivery) -> std::io::Result<()> {
    match delivery {
        Delivery::ResetBefore | Delivery::ResetMidway => stream.get_ref().0.set_zero_linger(),
        Delivery::NotHttp => {
            stream.write_all(b"220 this is no web server\r\n").await?;
            stream.shutdown().await
        }
        _ => stream.shutdown().await,
    }
}
