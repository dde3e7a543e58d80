//! `GET /socket`: a websocket that carries what its client watches.
//!
//! Messages go out in bursts, and a ping follows each burst. Its payload marks how far the client
//! has been served; the pong that returns it is the client's acknowledgement, since a pong comes
//! after everything that was sent before its ping.

use std::{
    collections::VecDeque,
    convert::Infallible,
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

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
use common::serve::Place;
use futures_util::{
    Sink, SinkExt as _, StreamExt as _,
    stream::{SplitSink, SplitStream},
};
use serde::Deserialize;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::{App, Error, session::Authenticated};
use crate::{
    domain::{Revision, TokenDigest},
    store::now,
    watch::{Burst, Form, Subscriber},
};

/// The longest time between two pings.
const PING_EVERY: Duration = Duration::from_secs(15);

/// How long after a burst its acknowledgement is asked for.
const PING_AFTER_BURST: Duration = Duration::from_millis(50);

/// How long a ping may stay unanswered: two of them missed.
const PONG_TIMEOUT: Duration = Duration::from_secs(30);

/// Pings that may be unanswered at once.
const MAX_MARKS: usize = 64;

/// How long a client may take to answer a close frame.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(3);

/// The longest message a client may send. It is ignored anyway.
const MAX_INCOMING: usize = 4096;

/// Memory that a socket holds for reading.
const READ_BUFFER: usize = 4096;

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
    mut session: Authenticated,
    place: Option<Extension<Place>>,
    headers: HeaderMap,
    query: Result<Query<SocketQuery>, QueryRejection>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<(impl axum::response::IntoResponseParts, Response), Error> {
    if !is_same_origin(&headers, &app.origins) {
        return Err(Error::Origin);
    }
    let upgrade = upgrade.map_err(|rejection| Error::Upgrade(rejection.body_text()))?;
    let Query(query) = query.map_err(|rejection| Error::Upgrade(rejection.body_text()))?;
    let form = if query.events { Form::Events } else { Form::Objects };
    let since = query.since.filter(|_| query.events);
    let subscriber = app.hub.subscribe(session.client, form, since).await;
    let subscriber = subscriber.map_err(|error| Error::Upgrade(error.to_string()))?;

    let (renewed, token) = (session.renewed(), session.token);
    let response = upgrade
        .read_buffer_size(READ_BUFFER)
        .max_message_size(MAX_INCOMING)
        .max_frame_size(MAX_INCOMING)
        .on_upgrade(async move |socket| {
            let _place = place;
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
    /// The peer is gone, or might as well be.
    Dead,
}

async fn converse(socket: WebSocket, mut subscriber: Subscriber, app: &App, token: TokenDigest) {
    let marks = Marks::default();
    let (mut sink, stream) = socket.split();
    let client = subscriber.client();
    let mut acknowledging = pin!(acknowledge(stream, &marks, |revision| {
        app.hub.acknowledge(client, revision);
    }));
    let end = tokio::select! {
        () = &mut acknowledging => return,
        never = keep_session(app, token) => match never {},
        end = push(&mut sink, &mut subscriber, &marks, app) => end,
    };
    let (code, reason) = match end {
        End::Away => (close_code::AWAY, "the service is stopping"),
        End::Failed => (close_code::ERROR, "the store is not available"),
        End::Dead => return,
    };
    marks.close(code, subscriber.cursor());
    let close = Message::Close(Some(CloseFrame { code, reason: Utf8Bytes::from_static(reason) }));
    // The answer is read until the stream ends: what comes before it may acknowledge, too.
    let farewell = async {
        if sink.send(close).await.is_ok() {
            acknowledging.await;
        }
    };
    if timeout(CLOSE_TIMEOUT, farewell).await.is_err() {
        tracing::debug!("a client did not answer the close frame");
    }
}

/// Sends bursts and pings until the service or the client ends it.
async fn push(
    sink: &mut SplitSink<WebSocket, Message>,
    subscriber: &mut Subscriber,
    marks: &Marks,
    app: &App,
) -> End {
    let mut burst = Burst::new();
    let mut ping_at = Instant::now() + PING_EVERY;
    loop {
        let sent = tokio::select! {
            biased;
            () = app.shutdown.cancelled() => return End::Away,
            () = sleep_until(ping_at) => {
                ping_at = Instant::now() + PING_EVERY;
                if marks.is_overdue() {
                    return End::Dead;
                }
                match marks.add(subscriber.cursor()) {
                    Some(payload) => sink.send(Message::Ping(payload)).await,
                    None => Ok(()),
                }
            }
            next = subscriber.next(&mut burst) => {
                if let Err(error) = next {
                    tracing::error!(cause = %error, "socket closed");
                    return End::Failed;
                }
                ping_at = ping_at.min(Instant::now() + PING_AFTER_BURST);
                send(sink, &mut burst).await
            }
        };
        if sent.is_err() {
            return End::Dead;
        }
    }
}

/// Sends a burst with one flush.
async fn send<S: Sink<Message> + Unpin>(sink: &mut S, burst: &mut Burst) -> Result<(), S::Error> {
    for frame in burst.drain(..) {
        // Frames are JSON, which is text.
        if let Ok(text) = Utf8Bytes::try_from(frame) {
            sink.feed(Message::Text(text)).await?;
        }
    }
    sink.flush().await
}

/// Reads until the stream ends, past a close frame too, and passes on what the client proves to
/// have. Anything else that it sends is ignored.
async fn acknowledge(
    mut stream: SplitStream<WebSocket>,
    marks: &Marks,
    acknowledged: impl Fn(Revision),
) {
    while let Some(Ok(message)) = stream.next().await {
        let revision = match message {
            Message::Pong(payload) => marks.answered(&payload),
            Message::Close(frame) => marks.closed(frame.map(|frame| frame.code)),
            Message::Text(_) | Message::Binary(_) | Message::Ping(_) => None,
        };
        if let Some(revision) = revision {
            acknowledged(revision);
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

/// What was sent to one client that it has not acknowledged.
#[derive(Default)]
struct Marks(Mutex<Unanswered>);

#[derive(Default)]
struct Unanswered {
    pings: VecDeque<Mark>,
    close: Option<(u16, Revision)>,
}

struct Mark {
    payload: [u8; 8],
    revision: Revision,
    sent: Instant,
}

impl Marks {
    /// The payload of a ping that follows everything up to `revision`; none while too many are
    /// unanswered.
    fn add(&self, revision: Revision) -> Option<Bytes> {
        let pings = &mut self.unanswered().pings;
        if pings.len() >= MAX_MARKS {
            return None;
        }
        let payload = rand::random();
        pings.push_back(Mark { payload, revision, sent: Instant::now() });
        Some(Bytes::copy_from_slice(&payload))
    }

    /// What the answer to a ping proves. Answers to nothing prove nothing.
    fn answered(&self, payload: &[u8]) -> Option<Revision> {
        let pings = &mut self.unanswered().pings;
        let index = pings.iter().position(|mark| mark.payload == payload)?;
        pings.drain(..=index).next_back().map(|mark| mark.revision)
    }

    /// Whether the client has missed its pings.
    fn is_overdue(&self) -> bool {
        self.unanswered().pings.front().is_some_and(|mark| mark.sent.elapsed() >= PONG_TIMEOUT)
    }

    /// A close frame with `code` follows everything up to `revision`.
    fn close(&self, code: u16, revision: Revision) {
        self.unanswered().close = Some((code, revision));
    }

    /// What a close frame proves: nothing, unless it answers ours and so repeats its code.
    fn closed(&self, code: Option<u16>) -> Option<Revision> {
        let (ours, revision) = self.unanswered().close?;
        (code == Some(ours)).then_some(revision)
    }

    fn unanswered(&self) -> MutexGuard<'_, Unanswered> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn the_answer_to_a_ping_proves_what_was_sent_before_it() {
        let marks = Marks::default();
        let payloads = [3, 5, 9].map(|revision| marks.add(revision).unwrap());
        assert_eq!(marks.answered(b"made up"), None);
        assert_eq!(marks.answered(&payloads[1]), Some(5));
        assert_eq!(marks.answered(&payloads[0]), None, "an older ping proves nothing more");
        assert_eq!(marks.answered(&payloads[2]), Some(9));
    }

    #[test]
    fn only_the_answer_to_our_own_close_frame_proves_anything() {
        let marks = Marks::default();
        assert_eq!(marks.closed(Some(close_code::AWAY)), None);
        marks.close(close_code::AWAY, 7);
        assert_eq!(marks.closed(Some(close_code::NORMAL)), None);
        assert_eq!(marks.closed(None), None);
        assert_eq!(marks.closed(Some(close_code::AWAY)), Some(7));
    }

    #[test]
    fn unanswered_pings_are_bounded() {
        let marks = Marks::default();
        assert!((0..MAX_MARKS).all(|_| marks.add(1).is_some()));
        assert!(marks.add(1).is_none());
        assert!(!marks.is_overdue());
    }

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
