//! `GET /events`: a stream as server-sent events. An extension of the specification.

use std::{convert::Infallible, sync::Arc, time::Duration, vec};

use axum::{
    Extension,
    extract::State,
    http::{HeaderMap, HeaderName, header},
    response::{
        IntoResponse,
        sse::{Event, KeepAlive, Sse},
    },
};
use common::{
    limits::Permit,
    serve::{Connection, KeptOpen},
};
use futures_util::{StreamExt as _, stream};
use serde::Deserialize;

use super::{
    App, Error,
    query::{Parameters, Query},
    session::Authenticated,
    streams::{OpenStream, until_session_ends},
};
use crate::{
    domain::{Pattern, Revision},
    watch::{Begin, Burst, ConnectedClient, Frame, MessageFormat, Stream, Subscriber},
};

/// Maximum time without a message. Then a comment shows that the stream is alive.
const COMMENT_EVERY: Duration = Duration::from_secs(15);

/// The header with the last `id` that a client has received.
const LAST_EVENT_ID: &str = "last-event-id";

/// With a part of a key, the stream has that pattern alone. Otherwise it has the client's watches.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EventsQuery {
    #[serde(rename = "type")]
    kind: Option<String>,
    namespace: Option<String>,
    name: Option<String>,
    /// Whether the current objects come first.
    #[serde(default)]
    initial: bool,
    /// Whether marks follow the bursts.
    #[serde(default)]
    marks: bool,
    /// The revision to start after. The header `Last-Event-ID` comes before it.
    since: Option<Revision>,
}

impl Parameters for EventsQuery {
    const ALLOWED: &'static str = "the query can have type, namespace, name, initial, marks (true or \
                                   false) and since (a revision), each once";
}

impl EventsQuery {
    fn stream(self, headers: &HeaderMap) -> Result<Stream, Error> {
        let last = headers.get(LAST_EVENT_ID).map(|value| {
            let revision = value.to_str().ok().and_then(|text| text.parse().ok());
            revision.ok_or(Error::LastEventId)
        });
        let since = last.transpose()?.or(self.since);
        let Self { kind, namespace, name, initial, marks, .. } = self;
        let parts = [kind, namespace, name];
        let pattern = parts.iter().any(Option::is_some).then(|| {
            let [kind, namespace, name] = parts.map(Option::unwrap_or_default);
            Pattern::new(&kind, &namespace, &name).map_err(|_| {
                Error::Query("type, namespace and name have at most 512 bytes each, without U+0000")
            })
        });
        let begin = since.map_or(Begin::Now, Begin::After);
        let format = MessageFormat::Events;
        Ok(Stream { format, begin, initial, marks, pattern: pattern.transpose()? })
    }
}

/// Sends events until the client disconnects, the session ends or the service stops. It moves no
/// delivery position.
pub(super) async fn events(
    State(app): State<Arc<App>>,
    mut session: Authenticated,
    Extension(connection): Extension<Connection>,
    headers: HeaderMap,
    Query(query): Query<EventsQuery>,
) -> Result<impl IntoResponse, Error> {
    let stream = query.stream(&headers)?;
    let opened = OpenStream::new(&app, &session, &connection, &stream).await;
    let OpenStream { subscriber, open, connected, permit } =
        opened.map_err(|error| match error {
            Error::TooManySockets => Error::TooManyStreams,
            error => error,
        })?;
    let renewed = session.renew(&app).await;
    let ended = {
        let app = Arc::clone(&app);
        async move {
            tokio::select! {
                () = app.shutdown.cancelled() => {}
                () = until_session_ends(&app, &open) => {}
            }
        }
    };
    let messages = Messages {
        app,
        subscriber,
        connection,
        kept_open: None,
        burst: Vec::new().into_iter(),
        memory: None,
        _connected: connected,
        _permit: permit,
    };
    let events = stream::unfold(messages, Messages::next).take_until(Box::pin(ended));
    // nginx would hold the messages back, and other proxies could change them.
    let headers = [
        (header::CACHE_CONTROL, "no-store, no-transform"),
        (HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    let events = Sse::new(events).keep_alive(KeepAlive::new().interval(COMMENT_EVERY));
    // Later headers replace those of `Sse`.
    Ok((renewed, headers, events))
}

/// The messages of one response.
struct Messages {
    app: Arc<App>,
    subscriber: Subscriber,
    connection: Connection,
    /// From the first message on, because the connection is busy before that.
    kept_open: Option<KeptOpen>,
    /// The messages that are not sent yet.
    burst: vec::IntoIter<Frame>,
    /// For the burst, unless all streams share its memory.
    memory: Option<Permit>,
    _connected: ConnectedClient,
    _permit: Permit,
}

impl Messages {
    async fn next(mut self) -> Option<(Result<Event, Infallible>, Self)> {
        self.kept_open.get_or_insert_with(|| self.connection.keep_open());
        loop {
            if let Some(frame) = self.burst.next() {
                return Some((Ok(event(&frame)), self));
            }
            self.memory = None;
            let mut burst = Burst::new();
            match self.subscriber.next(&mut burst).await {
                Ok(0) => {}
                Ok(bytes) => {
                    // The budget counts and logs the rejection. The client connects again.
                    self.memory = Some(self.app.socket_memory.take(bytes)?);
                }
                Err(error) => {
                    tracing::error!(cause = %error, "event stream closed");
                    return None;
                }
            }
            self.burst = burst.into_iter();
        }
    }
}

fn event(frame: &Frame) -> Event {
    let event = Event::default().event(frame.event).data(String::from_utf8_lossy(&frame.json));
    match frame.resume {
        Some(revision) => event.id(revision.to_string()),
        None => event,
    }
}
