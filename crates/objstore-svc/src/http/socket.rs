//! `GET /socket`: a websocket that carries what its client watches.
//!
//! Messages go out in bursts, and a ping follows each burst. Its payload marks how far the client
//! has been served; the pong that returns it is the client's acknowledgement, since a pong comes
//! after everything that was sent before its ping.

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
    watch::{Acknowledgements, Burst, Form, Frames, Marks, Subscriber},
};

/// The longest time between two pings.
const PING_EVERY: Duration = Duration::from_secs(15);

/// How long after a burst its acknowledgement is asked for.
const PING_AFTER_BURST: Duration = Duration::from_millis(50);

/// How long a ping may stay unanswered, two of them missed, and a burst untaken.
const PONG_TIMEOUT: Duration = Duration::from_secs(30);

/// How long a client may take to answer a close frame.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(3);

/// The longest message a client may send. It is ignored anyway.
const MAX_INCOMING: usize = 4096;

/// Memory that a socket holds for reading.
const READ_BUFFER: usize = 4096;

/// Bytes after which a socket writes what was fed to it. What it keeps for writing grows to this
/// and the largest message it ever sent.
const WRITE_BUFFER: usize = 16 * 1024;

/// The extension's form of the messages, when it is asked for.
#[derive(Deserialize)]
pub(super) struct SocketQuery {
    #[serde(default)]
    events: bool,
    since: Option<Revision>,
}

/// Upgrades the connection. Whatever keeps it from becoming a websocket is one error.
pub(super) async fn socket(
    State(app): State<Arc<App>>,
    session: Result<Authenticated, Error>,
    Extension(connection): Extension<Connection>,
    headers: HeaderMap,
    query: Result<Query<SocketQuery>, QueryRejection>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<(impl axum::response::IntoResponseParts, Response), Error> {
    let mut session = session.map_err(|error| match error {
        Error::Store(cause) => Error::Subscription(cause),
        refused => refused,
    })?;
    if !is_same_origin(&headers, &app.origins) {
        return Err(Error::Origin);
    }
    let upgrade = upgrade.map_err(|rejection| Error::Upgrade(rejection.body_text()))?;
    let Query(query) = query.map_err(|rejection| Error::Upgrade(rejection.body_text()))?;
    let permit = connection.upgrade().ok_or(Error::TooManySockets)?;
    let form = if query.events { Form::Events } else { Form::Objects };
    let since = query.since.filter(|_| query.events);
    let subscriber = app.hub.subscribe(session.client, form, since).await;
    let subscriber = subscriber.map_err(Error::Subscription)?;
    session.mark_used(&app).await;

    let (renewed, token) = (session.renew(&app).await, session.token);
    let response = upgrade
        .read_buffer_size(READ_BUFFER)
        .write_buffer_size(WRITE_BUFFER)
        .max_message_size(MAX_INCOMING)
        .max_frame_size(MAX_INCOMING)
        .on_upgrade(async move |socket| {
            let _permit = permit;
            converse(socket, subscriber, &app, token).await;
        });
    Ok((renewed, response))
}

/// Whether a browser's page may open the socket: one of ours, or one that is listed. Programs send
/// no origin.
fn is_same_origin(headers: &HeaderMap, listed: &[String]) -> bool {
    let Some(origin) = headers.get(header::ORIGIN) else { return true };
    let Ok(origin) = origin.to_str() else { return false };
    if listed.iter().any(|known| known.trim_end_matches('/').eq_ignore_ascii_case(origin)) {
        return true;
    }
    let Ok(uri) = origin.parse::<Uri>() else { return false };
    let default_port = if uri.scheme_str() == Some("https") { ":443" } else { ":80" };
    let Some(authority) = uri.authority().map(|it| it.as_str().trim_end_matches(default_port))
    else {
        return false;
    };
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let ours = host.map(|host| host.trim_end_matches(default_port));
    ours.into_iter()
        .chain(listed.iter().map(String::as_str))
        .any(|it| it.eq_ignore_ascii_case(authority))
}

/// Why the service ends a conversation.
enum End {
    /// The service is stopping.
    Away,
    /// The store failed.
    Failed,
    /// What waits for slow clients holds all the memory that it may.
    NoMemory,
    /// The peer is gone or does not respond.
    Dead,
}

/// How the reading end has a ping answered before it reads on.
#[derive(Default)]
struct Pongs {
    asked: Notify,
    sent: Notify,
}

impl Pongs {
    /// Sends them while nothing else is sent.
    async fn send(&self, sink: &mut SplitSink<WebSocket, Message>) -> Infallible {
        loop {
            self.asked.notified().await;
            // A connection that cannot be written to ends the reading end, too.
            let _ = sink.flush().await;
            self.sent.notify_one();
        }
    }
}

async fn converse(socket: WebSocket, mut subscriber: Subscriber, app: &App, token: TokenDigest) {
    let (marks, pongs) = (Marks::default(), Pongs::default());
    let acknowledgements = subscriber.acknowledgements();
    let (mut sink, stream) = socket.split();
    let mut acknowledging = pin!(acknowledge(stream, &pongs, &marks, &acknowledgements));
    let end = tokio::select! {
        () = &mut acknowledging => return,
        never = keep_session(app, token) => match never {},
        end = push(&mut sink, &mut subscriber, &marks, &pongs, app) => end,
    };
    let unsent = matches!(end, End::NoMemory);
    let (code, reason) = match end {
        End::Away => (close_code::AWAY, "the service is stopping"),
        End::Failed => (close_code::ERROR, "the store is not available"),
        End::NoMemory => (close_code::AGAIN, "too much waits to be sent: try again later"),
        End::Dead => return,
    };
    // A last ping, since only a pong acknowledges: a close frame may be the client's own, which
    // crossed ours. Not where a burst was given out and not sent: its pong would acknowledge it.
    let mark = if unsent { None } else { marks.add(subscriber.cursor()) };
    let farewell = async {
        if let Some(payload) = mark {
            sink.feed(Message::Ping(payload)).await?;
        }
        let reason = Utf8Bytes::from_static(reason);
        sink.send(Message::Close(Some(CloseFrame { code, reason }))).await?;
        tokio::select! {
            () = acknowledging => Ok::<_, axum::Error>(()),
            never = pongs.send(&mut sink) => match never {},
        }
    };
    if !matches!(timeout(CLOSE_TIMEOUT, farewell).await, Ok(Ok(()))) {
        tracing::debug!("a client did not answer the close frame");
    }
}

/// Sends bursts and pings until the service stops or there is nobody to send to.
async fn push(
    sink: &mut SplitSink<WebSocket, Message>,
    subscriber: &mut Subscriber,
    marks: &Marks,
    pongs: &Pongs,
    app: &App,
) -> End {
    let mut burst = Burst::new();
    let mut memory = WriteMemory { budget: &app.socket_memory, longest: None, burst: None };
    let mut ping_at = Instant::now() + PING_EVERY;
    loop {
        let sent = tokio::select! {
            biased;
            () = app.shutdown.cancelled() => return End::Away,
            () = sleep_until(ping_at) => {
                ping_at = Instant::now() + PING_EVERY;
                if marks.is_overdue(PONG_TIMEOUT) {
                    return End::Dead;
                }
                send(sink, &mut burst, marks.add(subscriber.cursor()), &app.shutdown).await
            }
            () = pongs.asked.notified() => {
                let sent = send(sink, &mut burst, None, &app.shutdown).await;
                pongs.sent.notify_one();
                sent
            }
            next = subscriber.next(&mut burst) => {
                let frames = match next {
                    Ok(frames) => frames,
                    Err(error) => {
                        tracing::error!(cause = %error, "socket closed");
                        return End::Failed;
                    }
                };
                if !memory.holds(&burst, frames) {
                    return End::NoMemory;
                }
                ping_at = ping_at.min(Instant::now() + PING_AFTER_BURST);
                let sent = send(sink, &mut burst, None, &app.shutdown).await;
                memory.burst = None;
                sent
            }
        };
        if !sent {
            return End::Dead;
        }
    }
}

/// The memory for writing that one socket takes.
struct WriteMemory<'a> {
    budget: &'a Arc<Budget>,
    /// For its longest message: the library keeps as much for as long as the socket lives.
    longest: Option<Permit>,
    /// For a burst on its way.
    burst: Option<Permit>,
}

impl WriteMemory<'_> {
    /// Takes memory for a burst. False when there is none left.
    fn holds(&mut self, burst: &Burst, frames: Frames) -> bool {
        let longest = burst.iter().map(Bytes::len).max().unwrap_or(0);
        let own: usize = match frames {
            Frames::Shared => 0,
            Frames::Own => burst.iter().map(Bytes::len).sum(),
        };
        (longest <= WRITE_BUFFER || self.budget.grow(&mut self.longest, longest))
            && self.budget.grow(&mut self.burst, own)
    }
}

/// Sends a burst, or a ping, with one flush. False when the client does not take it in time, which
/// is shorter when the service is stopping.
async fn send(
    sink: &mut SplitSink<WebSocket, Message>,
    burst: &mut Burst,
    ping: Option<Bytes>,
    shutdown: &CancellationToken,
) -> bool {
    let sending = async {
        for frame in burst.drain(..) {
            // Frames are JSON, which is text.
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

/// Reads until the stream ends, past a close frame too, and passes on what the client proves to
/// have. Anything else that it sends is ignored; a ping is answered before more is read.
async fn acknowledge(
    mut stream: SplitStream<WebSocket>,
    pongs: &Pongs,
    marks: &Marks,
    acknowledgements: &Acknowledgements,
) {
    while let Some(Ok(message)) = stream.next().await {
        match message {
            Message::Pong(payload) => {
                if let Some(revision) = marks.answered(&payload) {
                    acknowledgements.acknowledge(revision);
                }
            }
            Message::Ping(_) => {
                pongs.asked.notify_one();
                pongs.sent.notified().await;
            }
            _ => {}
        }
    }
}

/// An open socket is use of its session.
async fn keep_session(app: &App, token: TokenDigest) -> Infallible {
    loop {
        sleep(app.lifetime.extend_every()).await;
        if let Err(error) = app.store.extend(token, now()).await {
            tracing::warn!(cause = %error, "session not extended");
        }
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn an_origin_is_ours_or_listed() {
        let listed = ["https://app.example".to_owned(), "other.example:8080".to_owned()];
        let check = |origin: &'static str| {
            let headers = HeaderMap::from_iter([
                (header::HOST, HeaderValue::from_static("store.example")),
                (header::ORIGIN, HeaderValue::from_static(origin)),
            ]);
            is_same_origin(&headers, &listed)
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
        assert!(is_same_origin(&HeaderMap::new(), &listed));
    }
}
