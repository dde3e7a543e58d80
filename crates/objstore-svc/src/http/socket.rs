//! `GET /socket`: the websocket on which the service pushes changes.
//!
//! 1. **One task runs three functions**: [`push`] sends bursts and pings; [`acknowledge`] reads
//!    pongs; [`extend_session_while_open`] keeps the session valid. When `push` or `acknowledge`
//!    ends, [`run`] ends the socket.
//! 2. **Only a pong acknowledges.** A ping follows each burst. The ping stands for the revision up
//!    to which all pushes were sent. The client receives the ping after these pushes, so its pong
//!    proves that it has received them.
//! 3. **The client's pings are answered one after the other**: the next message is read after the
//!    pong has been written ([`PongFlush`]). So a client that sends pings and reads nothing costs
//!    little memory.
//! 4. **Memory for slow clients is limited** ([`WriteMemory`]). If it is used up, the socket is
//!    closed, and the client gets the unacknowledged changes again on its next socket.

use std::{convert::Infallible, pin::pin, sync::Arc, time::Duration};

use axum::{
    Extension,
    extract::{
        Query, State, WebSocketUpgrade,
        rejection::QueryRejection,
        ws::{
            CloseFrame, Message, Utf8Bytes, WebSocket, close_code,
            rejection::WebSocketUpgradeRejection,
        },
    },
    http::{HeaderMap, Uri, header},
    response::Response,
};
use bytes::Bytes;
use common::{
    limits::{Budget, Permit},
    serve::Connection,
};
use futures_util::{
    SinkExt as _, StreamExt as _,
    stream::{SplitSink, SplitStream},
};
use serde::Deserialize;
use tokio::{
    sync::Notify,
    time::{Instant, sleep, sleep_until, timeout},
};
use tokio_util::sync::CancellationToken;

use super::{App, Error, session::Authenticated};
use crate::{
    domain::{Revision, TokenDigest},
    store::now,
    watch::{Acknowledger, Burst, FrameOwner, MessageFormat, Subscriber, UnansweredPings},
};

/// Maximum time between two pings.
const PING_EVERY: Duration = Duration::from_secs(15);

/// Time from a burst to its ping. Bursts within this time share one ping.
const PING_AFTER_BURST: Duration = Duration::from_millis(50);

/// Timeout for a pong (two ping intervals), and for sending a burst.
const PONG_TIMEOUT: Duration = Duration::from_secs(30);

/// Timeout for the client's answer to a close frame.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(3);

/// Maximum size of a message of the client, in bytes. Its content is ignored.
const MAX_INCOMING: usize = 4096;

/// Size of the read buffer of a socket, in bytes.
const READ_BUFFER: usize = 4096;

/// The library writes to the connection when this many bytes are buffered. The write buffer of a
/// socket grows to this plus its largest message, and does not shrink.
const WRITE_BUFFER: usize = 16 * 1024;

/// `events` selects the message format, `since` the revision to start after. An extension of the
/// specification.
#[derive(Deserialize)]
pub(super) struct SocketQuery {
    #[serde(default)]
    events: bool,
    since: Option<Revision>,
}

/// Upgrades the connection. Every failure is the error `not_upgraded`, except for a missing
/// session, a foreign origin, and a bug (`internal`).
pub(super) async fn socket(
    State(app): State<Arc<App>>,
    session: Result<Authenticated, Error>,
    Extension(connection): Extension<Connection>,
    headers: HeaderMap,
    query: Result<Query<SocketQuery>, QueryRejection>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<(impl axum::response::IntoResponseParts, Response), Error> {
    let mut session = session.map_err(subscription_error)?;
    if !is_allowed_origin(&headers, &app.origins) {
        return Err(Error::Origin);
    }
    let upgrade = upgrade.map_err(|rejection| Error::Upgrade(rejection.body_text()))?;
    let Query(query) = query.map_err(|rejection| Error::Upgrade(rejection.body_text()))?;
    let permit = connection.upgrade().ok_or(Error::TooManySockets)?;
    let format = if query.events { MessageFormat::Events } else { MessageFormat::Objects };
    // Decision: `since` is ignored without `events=true`.
    let since = query.since.filter(|_| query.events);
    let subscriber = app.hub.subscribe(session.client, format, since).await;
    let subscriber = subscriber.map_err(|error| subscription_error(error.into()))?;
    session.mark_used(&app).await;

    let (renewed, token) = (session.renew(&app).await, session.token);
    let response = upgrade
        .read_buffer_size(READ_BUFFER)
        .write_buffer_size(WRITE_BUFFER)
        .max_message_size(MAX_INCOMING)
        .max_frame_size(MAX_INCOMING)
        .on_upgrade(async move |socket| {
            let _permit = permit;
            run(socket, subscriber, &app, token).await;
        });
    Ok((renewed, response))
}

/// An unavailable store means that the connection is not upgraded.
fn subscription_error(error: Error) -> Error {
    match error {
        Error::Store(cause) => Error::Subscription(cause),
        other => other,
    }
}

/// Whether a page may open the socket: one of the service's own origin, or of a listed one.
/// Programs send no origin; they are allowed.
fn is_allowed_origin(headers: &HeaderMap, listed: &[String]) -> bool {
    let Some(origin) = headers.get(header::ORIGIN) else { return true };
    let Ok(origin) = origin.to_str() else { return false };
    if listed.iter().any(|known| known.trim_end_matches('/').eq_ignore_ascii_case(origin)) {
        return true;
    }
    let Ok(uri) = origin.parse::<Uri>() else { return false };
    let default_port = if uri.scheme_str() == Some("https") { ":443" } else { ":80" };
    let Some(authority) = uri.authority().map(|host| host.as_str().trim_end_matches(default_port))
    else {
        return false;
    };
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let ours = host.map(|host| host.trim_end_matches(default_port));
    ours.into_iter()
        .chain(listed.iter().map(String::as_str))
        .any(|allowed| allowed.eq_ignore_ascii_case(authority))
}

/// Why the service closes a socket.
enum CloseReason {
    /// The service is stopping.
    Stopping,
    /// The store cannot be read, or the socket was lost.
    Failed,
    /// The memory for messages to slow clients is used up.
    NoMemory,
    /// The client does not respond, or the connection is broken.
    Unresponsive,
}

/// Lets the reading half wait until the writing half has written the pong to a client's ping. The
/// library queues the pong when the ping is read; a flush writes it.
#[derive(Default)]
struct PongFlush {
    requested: Notify,
    written: Notify,
}

impl PongFlush {
    /// Writes pongs after [`push`] has ended.
    async fn send(&self, sink: &mut SplitSink<WebSocket, Message>) -> Infallible {
        loop {
            self.requested.notified().await;
            // If the connection is broken, the reading half ends, too.
            let _ = sink.flush().await;
            self.written.notify_one();
        }
    }
}

async fn run(socket: WebSocket, mut subscriber: Subscriber, app: &App, token: TokenDigest) {
    let (pings, pongs) = (UnansweredPings::default(), PongFlush::default());
    let acknowledger = subscriber.acknowledger();
    let (mut sink, stream) = socket.split();
    let mut acknowledging = pin!(acknowledge(stream, &pongs, &pings, &acknowledger));
    let end = tokio::select! {
        () = &mut acknowledging => return,
        never = extend_session_while_open(app, token) => match never {},
        end = push(&mut sink, &mut subscriber, &pings, &pongs, app) => end,
    };
    let unsent = matches!(end, CloseReason::NoMemory);
    let (code, reason) = match end {
        CloseReason::Stopping => (close_code::AWAY, "the service is stopping"),
        CloseReason::Failed => (close_code::ERROR, "changes cannot be read: reconnect"),
        CloseReason::NoMemory => {
            (close_code::AGAIN, "too many messages are pending: reconnect later")
        }
        CloseReason::Unresponsive => return,
    };
    // Only a pong acknowledges, so a last ping is sent. The client's close frame acknowledges
    // nothing, because the client may have sent it before it received our messages. No ping is sent
    // if a burst was dropped, because the pong would acknowledge that burst.
    let ping = if unsent { None } else { pings.add(subscriber.cursor()) };
    let closing = async {
        if let Some(payload) = ping {
            sink.feed(Message::Ping(payload)).await?;
        }
        let reason = Utf8Bytes::from_static(reason);
        sink.send(Message::Close(Some(CloseFrame { code, reason }))).await?;
        tokio::select! {
            () = acknowledging => Ok::<_, axum::Error>(()),
            never = pongs.send(&mut sink) => match never {},
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
    pings: &UnansweredPings,
    pongs: &PongFlush,
    app: &App,
) -> CloseReason {
    let mut burst = Burst::new();
    let mut memory = WriteMemory { budget: &app.socket_memory, longest: None, burst: None };
    let mut ping_at = Instant::now() + PING_EVERY;
    loop {
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
                let frames = match next {
                    Ok(frames) => frames,
                    Err(error) => {
                        tracing::error!(cause = %error, "socket closed");
                        return CloseReason::Failed;
                    }
                };
                if !memory.reserve(&burst, frames) {
                    return CloseReason::NoMemory;
                }
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
    /// Reserves memory for a burst. Returns false if the budget is used up. Frames that all sockets
    /// share are counted as memory of the ring.
    fn reserve(&mut self, burst: &Burst, frames: FrameOwner) -> bool {
        let longest = burst.iter().map(Bytes::len).max().unwrap_or(0);
        let own: usize = match frames {
            FrameOwner::Shared => 0,
            FrameOwner::Own => burst.iter().map(Bytes::len).sum(),
        };
        (longest <= WRITE_BUFFER || self.budget.grow(&mut self.longest, longest))
            && self.budget.grow(&mut self.burst, own)
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
            if let Ok(text) = Utf8Bytes::try_from(frame) {
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

/// Reads until the stream ends, also after a close frame, and records acknowledged revisions. After
/// a ping it waits until the pong is written. Other messages are ignored.
async fn acknowledge(
    mut stream: SplitStream<WebSocket>,
    pongs: &PongFlush,
    pings: &UnansweredPings,
    acknowledger: &Acknowledger,
) {
    while let Some(Ok(message)) = stream.next().await {
        match message {
            Message::Pong(payload) => {
                if let Some(revision) = pings.answered(&payload) {
                    acknowledger.acknowledge(revision);
                }
            }
            Message::Ping(_) => {
                pongs.requested.notify_one();
                pongs.written.notified().await;
            }
            _ => {}
        }
    }
}

/// Extends the session while the socket is open, since an open socket counts as use.
async fn extend_session_while_open(app: &App, token: TokenDigest) -> Infallible {
    loop {
        sleep(app.lifetime.extend_every()).await;
        if let Err(error) = app.store.extend(token, now()).await {
            tracing::warn!(cause = %error, "could not extend the session");
        }
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn own_and_listed_origins_are_allowed() {
        let listed = ["https://app.example".to_owned(), "other.example:8080".to_owned()];
        let check = |origin: &'static str| {
            let headers = HeaderMap::from_iter([
                (header::HOST, HeaderValue::from_static("store.example")),
                (header::ORIGIN, HeaderValue::from_static(origin)),
            ]);
            is_allowed_origin(&headers, &listed)
        };
        for ours in [
            "https://store.example",
            "http://STORE.example:80",
            "https://app.example",
            "http://other.example:8080",
        ] {
            assert!(check(ours), "{ours}");
        }
        for other in
            ["http://app.example", "https://store.example:444", "null", "https://evil.example"]
        {
            assert!(!check(other), "{other}");
        }
        assert!(is_allowed_origin(&HeaderMap::new(), &listed));
    }
}
