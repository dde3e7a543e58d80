//! `GET /streams`: copies for published clients, by the read path of the Durable Streams protocol
//! and the messages of its State protocol. An extension of the specification. Comments name sections
//! of their `PROTOCOL.md`.
//!
//! A client begins with a snapshot, which comes in parts, and goes on with the changes. All responses
//! read from the same [`Subscriber`]; they differ in when they end.

use std::{convert::Infallible, sync::Arc, time::Duration};

use axum::{
    Extension,
    body::Body,
    extract::{FromRequestParts, State},
    http::{HeaderMap, HeaderName, StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use common::{
    limits::Permit,
    serve::{Connection, KeptOpen},
    telemetry::{Trace, trace},
};
use futures_util::{StreamExt as _, stream};
use percent_encoding::percent_decode_str;
use serde::Deserialize;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::{
    App, Error,
    objects::JSON,
    open::{OpenStream, until_session_ends},
    query::{Parameters, Query},
    session::Authenticated,
};
use crate::{
    domain::{Offset, Pattern, Place, Shape},
    store::{StoreError, now},
    watch::{Begin, Burst, ConnectedClient, MessageFormat, Stream, Subscriber, Told},
};

/// Bytes of messages after which a response takes no more, unless it is an event stream.
const PART_BYTES: usize = 256 * 1024;

/// Maximum time until the hub has dispatched what a snapshot may have seen.
const PART_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a long-poll waits for a change. Proxies often end requests after 30 s.
const POLL_FOR: Duration = Duration::from_secs(20);

/// Time before a long-poll returns messages that do not move the offset. The client asks for the same
/// messages again at once, as long as the rules of this replica are older.
const HELD_BACK_FOR: Duration = Duration::from_secs(1);

/// Maximum time without an event. Then a comment shows that the stream is alive.
const COMMENT_EVERY: Duration = Duration::from_secs(15);
const COMMENT: &[u8] = b":\n\n";

/// Event streams end about this long after their begin (5.7), and the client continues.
const STREAM_FOR: Duration = Duration::from_secs(60);

/// The offsets of the beginning, and of the tail (6).
const START: &str = "-1";
const NOW: &str = "now";

const NEXT_OFFSET: HeaderName = HeaderName::from_static("stream-next-offset");
const UP_TO_DATE: HeaderName = HeaderName::from_static("stream-up-to-date");
const CURSOR: HeaderName = HeaderName::from_static("stream-cursor");

/// nginx would hold the messages back, and other proxies could change them. No page of another origin
/// loads a stream without asking (10.7).
const HEADERS: [(HeaderName, &str); 3] = [
    (header::CACHE_CONTROL, "no-store, no-transform"),
    (HeaderName::from_static("x-accel-buffering"), "no"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// The pattern in the path: `/streams/{Type}/{Namespace}/{Name}`, where missing parts are empty.
pub(super) struct StreamPattern(Pattern);

impl<S: Sync> FromRequestParts<S> for StreamPattern {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Error> {
        // The raw path, because `%2F` is part of a key and `/` is not.
        let path = parts.uri.path().strip_prefix("/streams").unwrap_or_default();
        let mut given = path.strip_prefix('/').unwrap_or(path).split('/');
        let mut next = || {
            let part = percent_decode_str(given.next().unwrap_or_default());
            part.decode_utf8().map_err(|_| Error::StreamPath)
        };
        let [kind, namespace, name] = [next()?, next()?, next()?];
        if given.next().is_some() {
            return Err(Error::NotFound);
        }
        Pattern::new(&kind, &namespace, &name).map(Self).map_err(|_| Error::StreamPath)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StreamQuery {
    offset: Option<String>,
    live: Option<Live>,
    /// An earlier `Stream-Cursor`.
    cursor: Option<String>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Live {
    LongPoll,
    Sse,
}

impl Parameters for StreamQuery {
    const ALLOWED: &'static str =
        "the query can have offset, live (long-poll or sse) and cursor, each once";
}

/// The place at which a client can continue.
struct Position {
    app: Arc<App>,
    shape: Shape,
    offset: String,
}

impl Position {
    /// Continues after what the subscriber has returned. Returns false if no client can continue there.
    fn advance(&mut self, subscriber: &Subscriber) -> bool {
        let Some(place) = subscriber.place() else { return false };
        self.offset = self.app.offset(place, self.shape);
        true
    }
}

impl App {
    fn offset(&self, place: Place, shape: Shape) -> String {
        Offset { epoch: self.store.epoch().start, place }.text(shape)
    }
}

/// `HEAD`: the tail (5.4).
pub(super) async fn head(
    State(app): State<Arc<App>>,
    mut session: Authenticated,
    StreamPattern(pattern): StreamPattern,
) -> Result<impl IntoResponse, Error> {
    let newest = app.store.client(session.client).await?.revision;
    let offset = app.offset(Place::Exact(newest), pattern.shape());
    Ok((session.renew(&app).await, [(NEXT_OFFSET, offset)], HEADERS, [JSON]))
}

/// `GET`: a part of a snapshot, or changes (5.5 to 5.7).
pub(super) async fn read(
    State(app): State<Arc<App>>,
    mut session: Authenticated,
    Extension(connection): Extension<Connection>,
    headers: HeaderMap,
    StreamPattern(pattern): StreamPattern,
    Query(query): Query<StreamQuery>,
) -> Result<Response, Error> {
    let shape = pattern.shape();
    let StreamQuery { offset, live, cursor } = query;
    if live.is_some() && offset.is_none() {
        return Err(Error::Query("live needs an offset"));
    }
    let offset = offset.unwrap_or_else(|| START.to_owned());
    let begin = match &*offset {
        START | NOW => Begin::Now,
        text => Begin::At(Offset::parse(text, shape)?),
    };
    let initial = offset == START;
    let format = MessageFormat::State;
    let stream = Stream { format, begin, initial, marks: false, pattern: Some(pattern) };
    let Some(live) = live else {
        let mut subscriber = app.hub.subscribe(session.client, &stream).await?;
        let mut part = Part::new(&app, shape, &subscriber, &offset);
        if offset != NOW {
            part.fill(&mut subscriber).await?;
            part.hold_back(&offset).await;
        }
        let renewed = session.renew(&app).await;
        // Not for `now`: the tail moves.
        let is_repeatable = offset != NOW && !subscriber.is_held_back();
        let etag = is_repeatable.then(|| format!("\"{offset}:{}\"", part.position.offset));
        return Ok((renewed, part.response(etag, &headers)?).into_response());
    };
    let opened = OpenStream::new(&app, &session, &connection, &stream).await;
    let opened = opened.map_err(|error| match error {
        Error::TooManySockets => Error::TooManyStreams,
        error => error,
    })?;
    let part = Part::new(&app, shape, &opened.subscriber, &offset);
    let cursor = [(CURSOR, next_cursor(cursor.as_deref()).to_string())];
    let response = match live {
        Live::LongPoll => poll(&app, opened, part).await?,
        Live::Sse => events(app.clone(), opened, part.position, connection, &cursor[0].1),
    };
    Ok((session.renew(&app).await, cursor, response).into_response())
}

/// Messages that are collected for one response.
struct Part {
    position: Position,
    /// A JSON array without its end.
    json: Vec<u8>,
    memory: Option<Permit>,
    /// Whether a copy equals what was there when the response was made.
    is_up_to_date: bool,
}

impl Part {
    fn new(app: &Arc<App>, shape: Shape, subscriber: &Subscriber, offset: &str) -> Self {
        let mut position = Position { app: Arc::clone(app), shape, offset: offset.to_owned() };
        if offset == NOW {
            position.offset = app.offset(Place::Exact(subscriber.cursor()), shape);
        }
        Self { position, json: vec![b'['], memory: None, is_up_to_date: true }
    }

    /// Takes messages until the client is up to date, or the part is long enough.
    async fn fill(&mut self, subscriber: &mut Subscriber) -> Result<(), Error> {
        let target = subscriber.target();
        loop {
            let is_place = self.position.advance(subscriber);
            let told = subscriber.has_until(target);
            self.is_up_to_date = is_place && told.is_exact();
            let is_whole = is_place && told != Told::Part;
            let may_end = is_place && subscriber.advances();
            if is_whole || may_end && self.json.len() >= PART_BYTES {
                return Ok(());
            }
            let mut burst = Burst::new();
            match timeout(PART_TIMEOUT, subscriber.next(&mut burst)).await {
                Ok(next) => drop(next?),
                Err(_) if subscriber.is_reading() => {}
                Err(_) => return Err(StoreError::DispatchTimeout.into()),
            }
            self.add(&burst)?;
        }
    }

    /// Waits before a part that ends where it began: the client would ask again at once.
    async fn hold_back(&self, asked: &str) {
        if !self.is_up_to_date && self.position.offset == asked {
            let _ = timeout(HELD_BACK_FOR, self.position.app.shutdown.cancelled()).await;
        }
    }

    fn add(&mut self, burst: &Burst) -> Result<(), StoreError> {
        for frame in burst {
            if self.json.len() > 1 {
                self.json.push(b',');
            }
            self.json.extend_from_slice(&frame.json);
        }
        let memory = &self.position.app.response_memory;
        let is_held = memory.grow(&mut self.memory, self.json.len());
        if is_held { Ok(()) } else { Err(StoreError::Overloaded) }
    }

    fn response(mut self, etag: Option<String>, headers: &HeaderMap) -> Result<Response, Error> {
        self.json.push(b']');
        drop(self.memory);
        let Position { app, offset, .. } = self.position;
        let json = app.response_memory.hold(self.json).ok_or(StoreError::Overloaded)?;
        let known = headers.get(header::IF_NONE_MATCH).and_then(|tag| tag.to_str().ok());
        let body = if etag.is_some() && known == etag.as_deref() {
            StatusCode::NOT_MODIFIED.into_response()
        } else {
            ([JSON], json).into_response()
        };
        let up_to_date = self.is_up_to_date.then_some([(UP_TO_DATE, "true")]);
        let etag = etag.map(|etag| [(header::ETAG, etag)]);
        Ok(([(NEXT_OFFSET, offset)], etag, up_to_date, HEADERS, body).into_response())
    }
}

/// Waits for messages. 204 if there are none in time (5.6).
async fn poll(app: &Arc<App>, opened: OpenStream, mut part: Part) -> Result<Response, Error> {
    let OpenStream { mut subscriber, open, connected, permit } = opened;
    let _kept = (connected, permit);
    let mut burst = Burst::new();
    let found = async {
        while burst.is_empty() {
            match timeout(POLL_FOR, subscriber.next(&mut burst)).await {
                Ok(next) => drop(next?),
                // Otherwise the client would ask again at the same place.
                Err(_) if subscriber.is_reading() => {}
                Err(_) => break,
            }
        }
        Ok::<_, StoreError>(())
    };
    tokio::select! {
        found = found => found?,
        () = app.shutdown.cancelled() => {}
        () = until_session_ends(app, &open) => {}
    }
    if burst.is_empty() {
        subscriber.skip();
        part.position.advance(&subscriber);
        let headers = [(NEXT_OFFSET, part.position.offset)];
        let up_to_date = subscriber.is_up_to_date().then_some([(UP_TO_DATE, "true")]);
        return Ok((StatusCode::NO_CONTENT, headers, up_to_date, HEADERS).into_response());
    }
    let asked = part.position.offset.clone();
    part.add(&burst)?;
    part.fill(&mut subscriber).await?;
    part.hold_back(&asked).await;
    part.response(None, &HeaderMap::new())
}

/// Sends events until the client disconnects, the session ends, the service stops, or
/// [`STREAM_FOR`] has passed.
fn events(
    app: Arc<App>,
    opened: OpenStream,
    position: Position,
    connection: Connection,
    cursor: &str,
) -> Response {
    let OpenStream { subscriber, open, connected, permit } = opened;
    let ended = async move {
        tokio::select! {
            () = app.shutdown.cancelled() => {}
            () = until_session_ends(&app, &open) => {}
        }
    };
    let messages = Messages {
        position,
        cursor: cursor.into(),
        subscriber,
        connection,
        kept_open: None,
        end: Instant::now() + STREAM_FOR,
        is_over: false,
        _connected: connected,
        _permit: permit,
    };
    let trace = Trace::current();
    let events = stream::unfold(messages, move |messages| trace::scope(trace, messages.next()));
    let events = events.take_until(Box::pin(ended));
    let media = [(header::CONTENT_TYPE, "text/event-stream")];
    (media, HEADERS, Body::from_stream(events)).into_response()
}

/// The messages of one event stream.
struct Messages {
    position: Position,
    cursor: Box<str>,
    subscriber: Subscriber,
    connection: Connection,
    /// From the first event on, because the connection is busy before that.
    kept_open: Option<KeptOpen>,
    /// When the stream ends.
    end: Instant,
    is_over: bool,
    _connected: ConnectedClient,
    _permit: Permit,
}

impl Messages {
    async fn next(mut self) -> Option<(Result<Bytes, Infallible>, Self)> {
        self.kept_open.get_or_insert_with(|| self.connection.keep_open());
        if self.is_over {
            return None;
        }
        let mut burst = Burst::new();
        let text = tokio::select! {
            biased;
            () = sleep_until(self.end), if !self.subscriber.is_reading() => {
                // A last event tells the client how far it is, so that it continues cheaply.
                self.is_over = true;
                self.subscriber.skip();
                self.events(&burst)
            }
            next = self.subscriber.next(&mut burst) => match next {
                Ok(_) => self.events(&burst),
                Err(error) => {
                    tracing::error!(cause = %error, "event stream closed");
                    return None;
                }
            },
            () = sleep(COMMENT_EVERY) => COMMENT.to_vec(),
        };
        // The budget counts and logs the rejection. The client connects again.
        let text = self.position.app.socket_memory.count(text)?;
        Some((Ok(text), self))
    }

    /// The messages in one event, and then the place at which a client can continue.
    fn events(&mut self, burst: &Burst) -> Vec<u8> {
        let Self { position, cursor, subscriber, .. } = self;
        position.advance(subscriber);
        let length: usize = burst.iter().map(|frame| frame.json.len() + 1).sum();
        let mut text = Vec::with_capacity(length + 256);
        for (index, frame) in burst.iter().enumerate() {
            text.extend_from_slice(if index == 0 { b"event: data\ndata: [" } else { b"," });
            text.extend_from_slice(&frame.json);
        }
        if !burst.is_empty() {
            text.extend_from_slice(b"]\n\n");
        }
        let up_to_date = if subscriber.is_up_to_date() { ",\"upToDate\":true" } else { "" };
        let offset = &position.offset;
        let control = format!(
            "event: control\ndata: {{\"streamNextOffset\":\"{offset}\",\"streamCursor\":\"{cursor}\"{up_to_date}}}\n\n"
        );
        text.extend_from_slice(control.as_bytes());
        text
    }
}

/// The value of `Stream-Cursor`: the number of the interval of 20 s since October 2024, or more than
/// the client has sent (8.1).
fn next_cursor(sent: Option<&str>) -> u64 {
    let seconds = u64::try_from(now() / 1000).unwrap_or_default();
    let interval = seconds.saturating_sub(1_728_432_000) / 20;
    let sent = sent.and_then(|sent| sent.parse::<u64>().ok());
    match sent.filter(|&sent| sent >= interval) {
        Some(sent) => sent.saturating_add(rand::random_range(1..=180)),
        None => interval,
    }
}
