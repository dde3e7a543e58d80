//! A client's end of the watch socket.

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
use super::{DOCUMENT, Object};
use crate::process::DEADLINE;

/// A socket. Pings are answered whenever the socket is read, unless it is muted; dropping it breaks
/// the connection without a word.
#[derive(Debug)]
pub struct Socket {
    stream: WebSocketStream<Outlet<Upgraded>>,
    /// Texts read while waiting for something else.
    waiting: VecDeque<String>,
    /// Whether a text came after the last ping that was answered.
    owing: bool,
}

/// A message of a socket with `events=true`.
#[derive(Debug, PartialEq, Eq)]
pub enum Event {
    /// An object was set.
    Set(u64, Object),
    /// An object was deleted; this is what it was.
    Delete(u64, Object),
    /// The log does not reach back; current values follow.
    Reset(u64),
}

impl Socket {
    pub(super) async fn new(upgraded: Upgraded) -> Self {
        Self {
            stream: WebSocketStream::from_raw_socket(Outlet::new(upgraded), Role::Client, None)
                .await,
            waiting: VecDeque::new(),
            owing: false,
        }
    }

    /// The next push.
    ///
    /// # Panics
    ///
    /// When none comes in time, or something else does.
    pub async fn next_push(&mut self) -> Object {
        let text = self.next_text().await;
        DOCUMENT.check_text("/components/schemas/Object", &text);
        Object::parse(&text)
    }

    /// The next push, or nothing when the connection ends before it comes.
    ///
    /// # Panics
    ///
    /// When neither happens in time.
    pub async fn next_push_or_end(&mut self) -> Option<Object> {
        let end = Instant::now() + DEADLINE;
        loop {
            if let Some(text) = self.waiting.pop_front() {
                return Some(Object::parse(&text));
            }
            match timeout_at(end, self.stream.next()).await.expect("a message comes in time") {
                Some(Ok(Message::Close(_)) | Err(_)) | None => return None,
                Some(Ok(message)) => self.take(&message).await,
            }
        }
    }

    /// The next so many pushes.
    pub async fn next_pushes(&mut self, count: usize) -> Vec<Object> {
        let mut pushes = Vec::new();
        while pushes.len() < count {
            pushes.push(self.next_push().await);
        }
        pushes
    }

    /// The next event, on a socket with `events=true`.
    ///
    /// # Panics
    ///
    /// When none comes in time, or something else does.
    pub async fn next_event(&mut self) -> Event {
        let text = self.next_text().await;
        DOCUMENT.check_text("/components/schemas/Event", &text);
        let wire: Wire = serde_json::from_str(&text).expect("an event");
        match (wire.event.as_str(), wire.object) {
            ("set", Some(object)) => Event::Set(wire.revision, Object::parse(object.get())),
            ("delete", Some(object)) => Event::Delete(wire.revision, Object::parse(object.get())),
            ("reset", None) => Event::Reset(wire.revision),
            _ => panic!("no event: {text}"),
        }
    }

    /// Waits for the next ping, and answers it unless the socket is muted.
    pub async fn ping(&mut self, within: Duration) -> Bytes {
        let end = Instant::now() + within;
        loop {
            if let Message::Ping(mark) = self.next_message(end).await {
                return mark;
            }
        }
    }

    /// Reads until a ping that follows everything received was answered. The service knows once it
    /// has answered [`Socket::close`]. What comes meanwhile is acknowledged too, and is the next
    /// push, or in [`Socket::unread`].
    pub async fn acknowledge(&mut self) {
        let end = Instant::now() + DEADLINE;
        while self.owing {
            self.next_message(end).await;
        }
    }

    /// The pushes that were received and not asked for yet.
    pub fn unread(&mut self) -> Vec<Object> {
        self.waiting.drain(..).map(|text| Object::parse(&text)).collect()
    }

    /// From now on nothing that this end says reaches the service.
    ///
    /// # Panics
    ///
    /// When what was said before cannot be sent.
    pub async fn mute(&mut self) {
        self.stream.flush().await.expect("can be written");
        self.stream.get_mut().shut = true;
    }

    /// What this end says is sent again. What was said while it was muted is lost.
    ///
    /// # Panics
    ///
    /// When the connection is gone.
    pub async fn unmute(&mut self) {
        self.stream.flush().await.expect("can be written");
        self.stream.get_mut().shut = false;
    }

    /// Reads until a point in time; nothing but pings may come.
    ///
    /// # Panics
    ///
    /// When something else does.
    pub async fn listen_until(&mut self, end: Instant) {
        while let Ok(message) = timeout_at(end, self.stream.next()).await {
            match message {
                Some(Ok(Message::Ping(_))) => {}
                other => panic!("is no ping: {other:?}"),
            }
        }
    }

    /// Sends a message.
    ///
    /// # Panics
    ///
    /// When the connection is gone.
    pub async fn send(&mut self, message: Message) {
        self.stream.send(message).await.expect("can be written");
    }

    /// Closes the socket from this end and waits until the service has agreed. It has read all that
    /// this end said before then.
    ///
    /// # Panics
    ///
    /// When the service does not agree in time.
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

    /// Waits until the service closes the socket and returns its code. [`Socket::agree`] answers.
    ///
    /// # Panics
    ///
    /// When the service does not close in time.
    pub async fn closed(&mut self) -> u16 {
        let end = Instant::now() + DEADLINE;
        loop {
            if let Message::Close(frame) = self.next_message(end).await {
                return frame.expect("a close code").code.into();
            }
        }
    }

    /// Answers the service's close frame and waits for the end of the connection.
    ///
    /// # Panics
    ///
    /// When the connection does not end in time.
    pub async fn agree(mut self) {
        self.stream.get_mut().shut = false;
        self.ended(DEADLINE).await;
    }

    /// Waits for the end of the connection, however it comes.
    ///
    /// # Panics
    ///
    /// When it does not come in time.
    pub async fn ended(&mut self, within: Duration) {
        let end = async { while let Some(Ok(_)) = self.stream.next().await {} };
        timeout(within, end).await.expect("ends in time");
    }

    async fn next_text(&mut self) -> String {
        let end = Instant::now() + DEADLINE;
        loop {
            if let Some(text) = self.waiting.pop_front() {
                return text;
            }
            self.next_message(end).await;
        }
    }

    /// Reads one message. Texts wait for who asks for them.
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
                self.waiting.push_back(text.to_string());
                self.owing = true;
            }
            Message::Ping(_) => {
                // Where this fails, the next message does not come.
                let _ = self.stream.flush().await;
                self.owing &= self.stream.get_ref().shut;
            }
            Message::Close(_) => {}
            _ => panic!("the service sends nothing else: {message:?}"),
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct Wire {
    revision: u64,
    event: String,
    object: Option<Box<RawValue>>,
}
