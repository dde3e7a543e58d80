//! The reading half of a socket: pongs, pings and acknowledgements of the client.

use std::{
    convert::Infallible,
    sync::atomic::{AtomicU64, Ordering},
};

use axum::extract::ws::{Message, WebSocket};
use futures_util::{
    SinkExt as _, StreamExt as _,
    stream::{SplitSink, SplitStream},
};
use serde::Deserialize;
use tokio::sync::Notify;

use crate::{
    domain::Revision,
    watch::{Acknowledger, Burst, UnansweredPings},
};

/// How a client acknowledges.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Acknowledgement {
    /// By pongs.
    #[default]
    Pong,
    /// By messages `{"Ack": revision}`. Pongs acknowledge nothing.
    Manual,
}

/// A message of a client that acknowledges by itself.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ManualAck {
    #[serde(rename = "Ack")]
    revision: Revision,
}

/// State that the two halves of a socket share.
pub(super) struct Halves {
    ack: Acknowledgement,
    pub(super) pings: UnansweredPings,
    pub(super) pongs: PongFlush,
    /// The newest revision in a message. While current values are sent, it can exceed the cursor.
    shown: AtomicU64,
    /// The cursor of the last burst: everything up to this revision was sent, or is being sent.
    cursor: AtomicU64,
    /// Everything up to this revision was sent.
    sent: AtomicU64,
    /// The client has sent an acknowledgement that is malformed, or of a revision that no message
    /// has shown.
    pub(super) wrong_ack: Notify,
}

/// Lets the reading half wait until the writing half has written the pong to a client's ping. The
/// library queues the pong when the ping is read; a flush writes it.
#[derive(Default)]
pub(super) struct PongFlush {
    pub(super) requested: Notify,
    pub(super) written: Notify,
}

impl PongFlush {
    /// Writes pongs when the writing half does nothing else anymore.
    pub(super) async fn send(&self, sink: &mut SplitSink<WebSocket, Message>) -> Infallible {
        loop {
            self.requested.notified().await;
            // If the connection is broken, the reading half ends, too.
            let _ = sink.flush().await;
            self.written.notify_one();
        }
    }
}

impl Halves {
    pub(super) fn new(ack: Acknowledgement) -> Self {
        Self {
            ack,
            pings: UnansweredPings::default(),
            pongs: PongFlush::default(),
            shown: AtomicU64::new(0),
            cursor: AtomicU64::new(0),
            sent: AtomicU64::new(0),
            wrong_ack: Notify::new(),
        }
    }

    /// The client may acknowledge the revisions of `burst` from now on. Call it before the burst
    /// is sent.
    pub(super) fn allow(&self, burst: &Burst, cursor: Revision) {
        let shown = burst.iter().map(|frame| frame.revision).max().unwrap_or(0);
        self.shown.fetch_max(shown.max(cursor), Ordering::Relaxed);
        self.cursor.store(cursor, Ordering::Relaxed);
    }

    /// Everything up to `cursor` was sent.
    pub(super) fn have_sent(&self, cursor: Revision) {
        self.sent.store(cursor, Ordering::Relaxed);
    }

    /// The revision up to which everything was sent. A burst may be dropped while it is sent.
    pub(super) fn sent(&self) -> Revision {
        self.sent.load(Ordering::Relaxed)
    }

    /// Reads until the stream ends, also after a close frame, and records acknowledged revisions.
    /// After a ping it waits until the pong is written. Other messages are ignored.
    pub(super) async fn receive(
        &self,
        mut stream: SplitStream<WebSocket>,
        acknowledger: &Acknowledger,
    ) {
        while let Some(Ok(message)) = stream.next().await {
            let acknowledged = match message {
                Message::Pong(payload) => {
                    let answered = self.pings.answered(&payload);
                    answered.filter(|_| self.ack == Acknowledgement::Pong)
                }
                Message::Ping(_) => {
                    self.pongs.requested.notify_one();
                    self.pongs.written.notified().await;
                    None
                }
                Message::Text(text) if self.ack == Acknowledgement::Manual => {
                    let acknowledged = self.parse(&text);
                    if acknowledged.is_none() {
                        self.wrong_ack.notify_one();
                    }
                    acknowledged
                }
                _ => None,
            };
            if let Some(revision) = acknowledged {
                acknowledger.acknowledge(revision);
            }
        }
    }

    /// The position that a message acknowledges; `None` if the message is wrong. A revision beyond
    /// the cursor was shown by a current value, before everything up to it was sent.
    fn parse(&self, text: &str) -> Option<Revision> {
        let ManualAck { revision } = serde_json::from_str(text).ok()?;
        let is_shown = revision <= self.shown.load(Ordering::Relaxed);
        is_shown.then(|| revision.min(self.cursor.load(Ordering::Relaxed)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::Frame;

    #[test]
    fn a_current_object_is_acknowledged_only_up_to_the_cursor() {
        let halves = Halves::new(Acknowledgement::Manual);
        let acknowledge = |revision: Revision| halves.parse(&format!(r#"{{"Ack":{revision}}}"#));
        let frame = Frame { revision: 9, json: "{}".into() };
        halves.allow(&vec![frame], 4);
        assert_eq!([3, 9, 10].map(acknowledge), [Some(3), Some(4), None]);
        halves.allow(&Burst::new(), 12);
        assert_eq!([9, 12, 13].map(acknowledge), [Some(9), Some(12), None]);
    }
}
