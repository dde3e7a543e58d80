//! The client side of the watch socket.

mod outlet;

use std::{collections::VecDeque, time::Duration};

use futures_util::{SinkExt as _, StreamExt as _};
use reqwest::Upgraded;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{Bytes, Message, protocol::Role},
};

use self::outlet::Outlet;
use super::{DOCUMENT, Key, Object};
use crate::process::DEADLINE;

/// A socket. Reading it answers pings, unless it is muted. Dropping it breaks the connection
/// without a close frame.
#[derive(Debug)]
pub struct Socket {
    stream: WebSocketStream<Outlet<Upgraded>>,
    /// Texts received and not returned yet.
    received: VecDeque<String>,
    /// Whether a text arrived after the last answered ping.
    unacknowledged: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Event {
    /// The revision and the object.
    Set(u64, Object),
    /// The revision and the object that a client deleted.
    Delete(u64, Object),
    /// The revision and the object that the service deleted, and its cause.
    Ended(u64, Object, String),
    /// The revision, and the key of an object that the client may not see anymore.
    Hidden(u64, Key),
    /// The log does not reach back to the cursor. Current values follow.
    Reset(u64),
    /// The end of the current values: the client has the state of this revision.
    Synced(u64),
    /// The client has the state of this revision.
    Mark(u64),
}

impl Socket {
    pub(super) async fn new(upgraded: Upgraded) -> Self {
        Self {
            stream: WebSocketStream::from_raw_socket(Outlet::new(upgraded), Role::Client, None)
                .await,
            received: VecDeque::new(),
            unacknowledged: false,
        }
    }

    /// The next push, checked against the document.
    pub async fn next_push(&mut self) -> Object {
        let text = self.next_text().await;
        DOCUMENT.check_text("/components/schemas/Object", &text);
        Object::parse(&text)
    }

    /// The next push, or `None` if the connection ends first.
    pub async fn next_push_or_end(&mut self) -> Option<Object> {
        self.next_push_or_close().await.ok()
    }

    /// The next push.
    ///
    /// # Errors
    ///
    /// The code of the service's close frame, if the connection ends first. `None` without a code.
    pub async fn next_push_or_close(&mut self) -> Result<Object, Option<u16>> {
        self.next_text_or_close().await.map(|text| Object::parse(&text))
    }

    pub async fn next_pushes(&mut self, count: usize) -> Vec<Object> {
        let mut pushes = Vec::new();
        while pushes.len() < count {
            pushes.push(self.next_push().await);
        }
        pushes
    }

    /// The next event, on a socket opened with `events=true`.
    pub async fn next_event(&mut self) -> Event {
        Event::parse(&self.next_text().await)
    }

    /// The next event.
    ///
    /// # Errors
    ///
    /// The code of the service's close frame, if the connection ends first. `None` without a code.
    pub async fn next_event_or_close(&mut self) -> Result<Event, Option<u16>> {
        self.next_text_or_close().await.map(|text| Event::parse(&text))
    }

    /// Waits for the next ping and returns its payload. Answers it unless the socket is muted.
    pub async fn ping(&mut self, within: Duration) -> Bytes {
        let end = Instant::now() + within;
        loop {
            if let Message::Ping(mark) = self.next_message(end).await {
                return mark;
            }
        }
    }

    /// Reads until a ping after the last received push was answered. The service has processed that
    /// pong once it has answered [`Socket::close`]. Pushes received meanwhile are acknowledged,
    /// too: [`Socket::next_push`] and [`Socket::unread`] return them.
    pub async fn acknowledge(&mut self) {
        let end = Instant::now() + DEADLINE;
        while self.unacknowledged {
            self.next_message(end).await;
        }
    }

    /// Pushes that were received and not returned yet.
    pub fn unread(&mut self) -> Vec<Object> {
        self.received.drain(..).map(|text| Object::parse(&text)).collect()
    }

    /// Discards everything that this side sends, until [`Socket::unmute`].
    pub async fn mute(&mut self) {
        self.stream.flush().await.expect("can be written");
        self.stream.get_mut().shut = true;
    }

    /// Sends again. Messages sent while the socket was muted are lost.
    pub async fn unmute(&mut self) {
        self.stream.flush().await.expect("can be written");
        self.stream.get_mut().shut = false;
    }

    /// Reads until `end`, and accepts only pings.
    pub async fn listen_until(&mut self, end: Instant) {
        while let Ok(message) = timeout_at(end, self.stream.next()).await {
            match message {
                Some(Ok(Message::Ping(_))) => {}
                other => panic!("is no ping: {other:?}"),
            }
        }
    }

    pub async fn send(&mut self, message: Message) {
        self.stream.send(message).await.expect("can be written");
    }

    /// Closes the socket and waits for the service's close frame. The service has then read
    /// everything that this side sent before.
    pub async fn close(mut self) {
        self.stream.close(None).await.expect("can be written");
        let agreed = async {
            while let Some(message) = self.stream.next().await {
                if matches!(message, Ok(Message::Close(_))) {
                    return true;
                }
            }
            false
        };
        assert!(
            timeout(DEADLINE, agreed).await.expect("ends in time"),
            "the close was not answered"
        );
    }

    /// Waits for the service's close frame and returns its code. Answer it with [`Socket::agree`].
    pub async fn closed(&mut self) -> u16 {
        let end = Instant::now() + DEADLINE;
        loop {
            if let Message::Close(frame) = self.next_message(end).await {
                return frame.expect("a close code").code.into();
            }
        }
    }

    /// Answers the close frame of the service and waits for the end of the connection.
    pub async fn agree(mut self) {
        self.stream.get_mut().shut = false;
        self.ended(DEADLINE).await;
    }

    /// Waits for the end of the connection, with or without an error.
    pub async fn ended(&mut self, within: Duration) {
        let end = async { while let Some(Ok(_)) = self.stream.next().await {} };
        timeout(within, end).await.expect("ends in time");
    }

    /// The next message.
    pub async fn next_text(&mut self) -> String {
        let end = Instant::now() + DEADLINE;
        loop {
            if let Some(text) = self.received.pop_front() {
                return text;
            }
            self.next_message(end).await;
        }
    }

    async fn next_text_or_close(&mut self) -> Result<String, Option<u16>> {
        let end = Instant::now() + DEADLINE;
        loop {
            if let Some(text) = self.received.pop_front() {
                return Ok(text);
            }
            match timeout_at(end, self.stream.next()).await.expect("a message comes in time") {
                Some(Ok(Message::Close(frame))) => {
                    return Err(frame.map(|frame| frame.code.into()));
                }
                Some(Err(_)) | None => return Err(None),
                Some(Ok(message)) => self.take(&message).await,
            }
        }
    }

    /// Reads one message. A text is also kept for [`Self::next_text`].
    async fn next_message(&mut self, end: Instant) -> Message {
        let next = timeout_at(end, self.stream.next()).await.expect("a message comes in time");
        let message = next.expect("the socket is open").expect("the socket works");
        self.take(&message).await;
        message
    }

    async fn take(&mut self, message: &Message) {
        match message {
            Message::Text(text) => {
                assert!(!text.contains('\n'), "is not one line: {text}");
                self.received.push_back(text.to_string());
                self.unacknowledged = true;
            }
            Message::Ping(_) => {
                // An error here shows again when the next message is read.
                let _ = self.stream.flush().await;
                self.unacknowledged &= self.stream.get_ref().shut;
            }
            Message::Close(_) => {}
            _ => panic!("the service sends nothing else: {message:?}"),
        }
    }
}

impl Event {
    pub fn revision(&self) -> u64 {
        match self {
            Self::Set(revision, _)
            | Self::Delete(revision, _)
            | Self::Ended(revision, ..)
            | Self::Hidden(revision, _)
            | Self::Reset(revision)
            | Self::Synced(revision)
            | Self::Mark(revision) => *revision,
        }
    }

    /// Parses an event, checked against the document.
    pub(super) fn parse(text: &str) -> Self {
        DOCUMENT.check_text("/components/schemas/Event", text);
        let wire: Wire = serde_json::from_str(text).expect("an event");
        if wire.cause.as_deref() == Some("hidden") {
            let object = wire.object.expect("a key");
            let hidden: HiddenWire = serde_json::from_str(object.get()).expect("a key");
            return Self::Hidden(wire.revision, hidden.key);
        }
        let object = wire.object.map(|object| Object::parse(object.get()));
        match (wire.event.as_str(), object, wire.cause) {
            ("set", Some(object), None) => Self::Set(wire.revision, object),
            ("delete", Some(object), None) => Self::Delete(wire.revision, object),
            ("delete", Some(object), Some(cause)) => Self::Ended(wire.revision, object, cause),
            ("reset", None, None) => Self::Reset(wire.revision),
            ("synced", None, None) => Self::Synced(wire.revision),
            ("mark", None, None) => Self::Mark(wire.revision),
            _ => panic!("no event: {text}"),
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct Wire {
    revision: u64,
    event: String,
    object: Option<Box<RawValue>>,
    cause: Option<String>,
    #[serde(rename = "Expires")]
    _expires: Option<String>,
    #[serde(rename = "Presence")]
    _presence: Option<bool>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct HiddenWire {
    key: Key,
}
