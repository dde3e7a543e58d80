//! `GET /socket`: the websocket on which the service pushes changes.
//!
//! 1. **One task runs three functions**: [`push`] sends bursts and pings; [`Halves::receive`] reads
//!    pongs; [`until_session_ends`] keeps the session valid. When one of them ends, [`run`] ends the
//!    socket.
//! 2. **Only a pong acknowledges**, unless the client has asked for `ack=manual`. A ping follows each
//!    burst. The ping stands for the revision up
//!    to which all pushes were sent. The client receives the ping after these pushes, so its pong
//!    proves that it has received them.
//! 3. **The client's pings are answered one after the other**: the next message is read after the
//!    pong has been written ([`receive::PongFlush`]). So a client that sends pings and reads nothing
//!    costs little memory.
//! 4. **Memory for slow clients is limited** ([`WriteMemory`]). If it is used up, the socket is
//!    closed, and the client gets the unacknowledged changes again on its next socket.

use std::{pin::pin, sync::Arc, time::Duration};

use axum::{
    Extension,
    extract::{
        State, WebSocketUpgrade,
        ws::{
            CloseFrame, Message, Utf8Bytes, WebSocket, close_code,
            rejection::WebSocketUpgradeRejection,
        },
    },
    http::HeaderMap,
    response::Response,
};
use bytes::Bytes;
use common::{
    limits::{Budget, Permit},
    serve::Connection,
    telemetry::{Trace, trace},
};
use futures_util::{SinkExt as _, StreamExt as _, stream::SplitSink};
use serde::Deserialize;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use super::{
    App, Error,
    open::{OpenStream, until_session_ends},
    query::{Parameters, Query},
    session::Authenticated,
};
use crate::{
    domain::Revision,
    watch::{Begin, Burst, MessageFormat, Stream, Subscriber},
};

mod receive;

use receive::{Acknowledgement, Halves};

/// Maximum time between two pings.
const PING_EVERY: Duration = Duration::from_secs(15);

/// Time from a burst to its ping. Bursts within this time share one ping.
const PING_AFTER_BURST: Duration = Duration::from_millis(50);

/// Timeout for a pong (two ping intervals), and for sending a burst.
const PONG_TIMEOUT: Duration = Duration::from_secs(30);

/// Timeout for the client's answer to a close frame.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(3);

/// Maximum size of a message of the client, in bytes.
const MAX_INCOMING: usize = 4096;

/// Size of the read buffer of a socket, in bytes. Clients usually send only pongs.
const READ_BUFFER: usize = 1024;

/// The library writes to the connection when this many bytes are buffered. The write buffer of a
/// socket grows to this plus its largest message, and does not shrink.
const WRITE_BUFFER: usize = 16 * 1024;

/// `events` selects the message format. The others change a socket with `events`. An extension of
/// the specification.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SocketQuery {
    #[serde(default)]
    events: bool,
    /// The revision to start after.
    since: Option<Revision>,
    /// Whether the current objects come first.
    #[serde(default)]
    initial: bool,
    /// Whether marks follow the bursts.
    #[serde(default)]
    marks: bool,
    #[serde(default)]
    ack: Acknowledgement,
}

impl Parameters for SocketQuery {
    const ALLOWED: &'static str = "the query can have events, initial, marks (true or false), since \
                                   (a revision) and ack (pong or manual), each once";
}

impl SocketQuery {
    fn stream(&self) -> Result<Stream, Error> {
        let &Self { events, initial, marks, ack, .. } = self;
        if !events && (initial || marks || ack == Acknowledgement::Manual) {
            let message = "initial, marks and ack=manual need events=true";
            return Err(Error::Upgrade(message.to_owned()));
        }
        let format = if events { MessageFormat::Events } else { MessageFormat::Objects };
        // Decision: `since` is ignored without `events=true`.
        let since = self.since.filter(|_| events);
        let begin = since.map_or(Begin::Position, Begin::After);
        Ok(Stream { format, begin, initial, marks, pattern: None })
    }
}

/// Upgrades the connection. Every failure is the error `not_upgraded`, except for a missing
/// session, a foreign origin, and a bug (`internal`).
pub(super) async fn socket(
    State(app): State<Arc<App>>,
    Extension(connection): Extension<Connection>,
    headers: HeaderMap,
    query: Result<Query<SocketQuery>, Error>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<(impl axum::response::IntoResponseParts, Response), Error> {
    let session = Authenticated::of_any_origin(&headers, &app).await;
    let mut session = session.map_err(subscription_error)?;
    if !app.origins.admits(&headers) {
        return Err(Error::Origin);
    }
    let upgrade = upgrade.map_err(|rejection| Error::Upgrade(rejection.body_text()))?;
    let Query(query) = query.map_err(|error| Error::Upgrade(error.to_string()))?;
    let stream = query.stream()?;
    let opened = OpenStream::new(&app, &session, &connection, &stream).await;
    let opened = opened.map_err(subscription_error)?;
    let renewed = session.renew(&app).await;
    let trace = Trace::current();
    let response = upgrade
        .read_buffer_size(READ_BUFFER)
        .write_buffer_size(WRITE_BUFFER)
        .max_message_size(MAX_INCOMING)
        .max_frame_size(MAX_INCOMING)
        .on_upgrade(move |socket| trace::scope(trace, run(socket, opened, query.ack, app)));
    Ok((renewed, response))
}

/// An unavailable store means that the connection is not upgraded.
fn subscription_error(error: Error) -> Error {
    match error {
        Error::Store(cause) => Error::Subscription(cause),
        other => other,
    }
}

/// Why the service closes a socket.
enum CloseReason {
    /// The session has ended.
    LoggedOut,
    /// The service is stopping.
    Stopping,
    /// The store cannot be read, or the socket was lost.
    Failed,
    /// The memory for messages to slow clients is used up.
    NoMemory,
    /// The client does not respond, or the connection is broken.
    Unresponsive,
    /// The client has sent an acknowledgement that is not valid.
    WrongAcknowledgement,
}

/// Serves an open socket. The arguments of an async function stay in its future until the end, so
/// this one is not async: an idle socket should take little memory.
fn run(
    socket: WebSocket,
    opened: OpenStream,
    ack: Acknowledgement,
    app: Arc<App>,
) -> impl Future<Output = ()> {
    let OpenStream { mut subscriber, open, connected, permit } = opened;
    let (mut sink, stream) = socket.split();
    async move {
        let _kept = (&connected, &permit);
        let halves = Halves::new(ack);
        let acknowledger = subscriber.acknowledger();
        let mut receiving = pin!(halves.receive(stream, &acknowledger));
        let reason = tokio::select! {
            () = &mut receiving => return,
            () = halves.wrong_ack.notified() => CloseReason::WrongAcknowledgement,
            () = until_session_ends(&app, &open) => CloseReason::LoggedOut,
            reason = push(&mut sink, &mut subscriber, &halves, &app) => reason,
        };
        close(sink, reason, &halves, receiving).await;
    }
}

/// Sends the reason to the client, and waits until it has closed the socket, too.
async fn close(
    mut sink: SplitSink<WebSocket, Message>,
    reason: CloseReason,
    halves: &Halves,
    receiving: impl Future<Output = ()>,
) {
    let (code, reason) = match reason {
        CloseReason::LoggedOut => (close_code::POLICY, "the session has ended"),
        CloseReason::Stopping => (close_code::AWAY, "the service is stopping"),
        CloseReason::Failed => (close_code::ERROR, "changes cannot be read: reconnect"),
        CloseReason::NoMemory => {
            (close_code::AGAIN, "too many messages are pending: reconnect later")
        }
        CloseReason::WrongAcknowledgement => {
            (close_code::POLICY, "Ack must be a revision that was sent")
        }
        CloseReason::Unresponsive => return,
    };
    // Only a pong acknowledges, so a last ping is sent. The client's close frame acknowledges
    // nothing, because the client may have sent it before it received our messages.
    let ping = halves.pings.add(halves.sent());
    let closing = async {
        if let Some(payload) = ping {
            sink.feed(Message::Ping(payload)).await?;
        }
        let reason = Utf8Bytes::from_static(reason);
        sink.send(Message::Close(Some(CloseFrame { code, reason }))).await?;
        tokio::select! {
            () = receiving => Ok::<_, axum::Error>(()),
            never = halves.pongs.send(&mut sink) => match never {},
        }
    };
    if !matches!(timeout(CLOSE_TIMEOUT, closing).await, Ok(Ok(()))) {
        tracing::debug!("closing handshake not completed");
    }
}

/// Sends bursts and pings until the socket has to be closed.
async fn push(
    sink: &mut SplitSink<WebSocket, Message>,
    subscriber: &mut Subscriber,
    halves: &Halves,
    app: &App,
) -> CloseReason {
    let Halves { pings, pongs, .. } = halves;
    let mut burst = Burst::new();
    let mut memory = WriteMemory { budget: &app.socket_memory, longest: None, burst: None };
    let mut ping_at = Instant::now() + PING_EVERY;
    loop {
        halves.have_sent(subscriber.cursor());
        let sent = tokio::select! {
            biased;
            () = app.shutdown.cancelled() => return CloseReason::Stopping,
            () = sleep_until(ping_at) => {
                ping_at = Instant::now() + PING_EVERY;
                if pings.is_overdue(PONG_TIMEOUT) {
                    return CloseReason::Unresponsive;
                }
                send(sink, &mut burst, pings.add(subscriber.cursor()), &app.shutdown).await
            }
            () = pongs.requested.notified() => {
                let sent = send(sink, &mut burst, None, &app.shutdown).await;
                pongs.written.notify_one();
                sent
            }
            next = subscriber.next(&mut burst) => {
                let bytes = match next {
                    Ok(bytes) => bytes,
                    Err(error) => {
                        tracing::error!(cause = %error, "socket closed");
                        return CloseReason::Failed;
                    }
                };
                if !memory.reserve(&burst, bytes) {
                    return CloseReason::NoMemory;
                }
                halves.allow(&burst, subscriber.cursor());
                ping_at = ping_at.min(Instant::now() + PING_AFTER_BURST);
                let sent = send(sink, &mut burst, None, &app.shutdown).await;
                memory.burst = None;
                sent
            }
        };
        if !sent {
            return CloseReason::Unresponsive;
        }
    }
}

/// The permits for the memory of one socket's pending messages.
struct WriteMemory<'a> {
    budget: &'a Arc<Budget>,
    /// For the longest message: the library keeps a buffer of this size until the socket closes.
    longest: Option<Permit>,
    /// For the burst that is being sent.
    burst: Option<Permit>,
}

impl WriteMemory<'_> {
    /// Reserves memory for a burst, of which this socket owns `bytes`. Returns false if the budget is
    /// used up.
    fn reserve(&mut self, burst: &Burst, bytes: usize) -> bool {
        let longest = burst.iter().map(|frame| frame.json.len()).max().unwrap_or(0);
        (longest <= WRITE_BUFFER || self.budget.grow(&mut self.longest, longest))
            && self.budget.grow(&mut self.burst, bytes)
    }
}

/// Sends a burst, or a ping, with one flush. Returns false if the connection fails, or if the
/// client does not read in time. The timeout is shorter while the service is stopping.
async fn send(
    sink: &mut SplitSink<WebSocket, Message>,
    burst: &mut Burst,
    ping: Option<Bytes>,
    shutdown: &CancellationToken,
) -> bool {
    let sending = async {
        for frame in burst.drain(..) {
            // Frames are JSON, so they are UTF-8.
            if let Ok(text) = Utf8Bytes::try_from(frame.json) {
                sink.feed(Message::Text(text)).await?;
            }
        }
        if let Some(payload) = ping {
            sink.feed(Message::Ping(payload)).await?;
        }
        sink.flush().await
    };
    let stopping = async {
        shutdown.cancelled().await;
        sleep(CLOSE_TIMEOUT).await;
    };
    tokio::select! {
        biased;
        sent = sending => sent.is_ok(),
        () = sleep(PONG_TIMEOUT) => false,
        () = stopping => false,
    }
}
