//! Notifications to payments-svc. Each is repeated until payments-svc accepts or rejects it.

use std::{
    collections::VecDeque,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use common::tls::{TlsError, client_config};
use jiff::Timestamp;
use reqwest::{Client, header::CONTENT_TYPE, redirect::Policy};
use serde::Serialize;
use serde_json::{Map, Value};
use tokio::{sync::Notify, time::sleep};
use url::Url;
use uuid::Uuid;

use crate::{fault::Fault, protocol::SIGNATURE, signature::SignatureKey};

/// The setting of the CA certificates for payments-svc, for messages.
const CA_FILE: &str = "DEMO_ACQUIRER_EVENTS_CA_FILE (--events-ca-file)";

/// Most notifications that wait.
const MAX_WAITING: usize = 1000;

/// Most notifications in the book. The oldest are deleted first.
const MAX_SHOWN: usize = 10_000;

/// Most notifications in one answer to a question for facts.
const MAX_FACTS: usize = 100;

/// Timeout for one attempt.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The pause after a failed attempt doubles from the first to the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NotificationError {
    #[error("the notification has no type")]
    NoType,
    #[error("{MAX_WAITING} notifications wait already")]
    Full,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum ClientError {
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error("cannot make an HTTP client: {0}")]
    Client(#[from] reqwest::Error),
}

/// A notification, as the control interface shows it.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Sent {
    #[serde(skip)]
    body: Map<String, Value>,
    id: String,
    r#type: String,
    attempts: u64,
    /// The status of the last answer. Null if there was none.
    status: Option<u16>,
}

/// The queue of notifications, in the order in which they are sent.
pub(crate) struct Notifications {
    client: Client,
    receiver: Option<Url>,
    queue: Mutex<Queue>,
    added: Notify,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Notification>,
    /// Waits for the next notification, which overtakes it.
    overtaken: Option<Notification>,
    shown: VecDeque<Sent>,
}

#[derive(Clone)]
struct Notification {
    id: String,
    body: String,
}

impl Notifications {
    /// `ca_file` has additional CA certificates for `receiver`.
    pub(crate) fn new(receiver: Option<Url>, ca_file: Option<&Path>) -> Result<Self, ClientError> {
        let client = Client::builder()
            .tls_backend_preconfigured(client_config(ca_file, CA_FILE)?)
            .redirect(Policy::none())
            .no_proxy()
            .timeout(TIMEOUT)
            .build()?;
        Ok(Self { client, receiver, queue: Mutex::default(), added: Notify::new() })
    }

    /// Adds a notification to the queue. Adds an `id` and `created` if they are absent.
    pub(crate) fn add(
        &self,
        mut body: Map<String, Value>,
        fault: Option<Fault>,
        now: Timestamp,
    ) -> Result<(), NotificationError> {
        let kind = body.get("type").and_then(Value::as_str).ok_or(NotificationError::NoType)?;
        let kind = kind.to_owned();
        let id = body.entry("id").or_insert_with(|| format!("evt_{}", Uuid::new_v4()).into());
        let id = id.as_str().map_or_else(|| id.to_string(), str::to_owned);
        body.entry("created").or_insert_with(|| now.to_string().into());
        let text = Value::Object(body.clone()).to_string();
        let notification = Notification { id: id.clone(), body: text };

        let mut queue = self.queue();
        let queue = &mut *queue;
        let overtaken = usize::from(queue.overtaken.is_some());
        if queue.waiting.len() + overtaken + 2 > MAX_WAITING {
            return Err(NotificationError::Full);
        }
        if self.receiver.is_none() || fault == Some(Fault::Lost) {
            // Only the list of facts has it.
        } else if fault == Some(Fault::OutOfOrder) && queue.overtaken.is_none() {
            queue.overtaken = Some(notification);
        } else {
            let times = if fault == Some(Fault::Twice) { 2 } else { 1 };
            queue.waiting.extend(std::iter::repeat_n(notification, times));
            queue.waiting.extend(queue.overtaken.take());
        }
        queue.shown.push_back(Sent { body, id, r#type: kind, attempts: 0, status: None });
        if queue.shown.len() > MAX_SHOWN {
            queue.shown.pop_front();
        }
        self.added.notify_one();
        Ok(())
    }

    /// The notifications so far, oldest first.
    pub(crate) fn shown(&self) -> Vec<Sent> {
        self.queue().shown.iter().cloned().collect()
    }

    /// The notifications after this one, or the oldest ones, and whether there are more. `None` if
    /// there is no such notification.
    pub(crate) fn facts(&self, after: Option<&str>) -> Option<(Vec<Map<String, Value>>, bool)> {
        let queue = self.queue();
        let begin = match after {
            Some(after) => queue.shown.iter().position(|sent| sent.id == after)? + 1,
            None => 0,
        };
        let later = queue.shown.iter().skip(begin);
        let facts = later.clone().take(MAX_FACTS).map(|sent| sent.body.clone()).collect();
        Some((facts, later.count() > MAX_FACTS))
    }

    /// Sends the queue in its order, without end.
    pub(crate) async fn send_all(self: Arc<Self>, key: Arc<SignatureKey>) {
        let Some(receiver) = &self.receiver else { return };
        loop {
            let next = self.queue().waiting.pop_front();
            match next {
                Some(notification) => self.deliver(receiver, &key, &notification).await,
                None => self.added.notified().await,
            }
        }
    }

    /// Repeats a notification until it is accepted or rejected.
    async fn deliver(&self, receiver: &Url, key: &SignatureKey, notification: &Notification) {
        let mut pause = FIRST_PAUSE;
        loop {
            let status = self.attempt(receiver, key, notification).await;
            self.record(&notification.id, status);
            match status {
                Some(429) | Some(500..) | None => {}
                Some(_) => return,
            }
            sleep(pause).await;
            pause = LONGEST_PAUSE.min(pause * 2);
        }
    }

    /// Counts an attempt.
    fn record(&self, id: &str, status: Option<u16>) {
        let mut queue = self.queue();
        if let Some(sent) = queue.shown.iter_mut().rev().find(|sent| sent.id == id) {
            sent.attempts += 1;
            sent.status = status;
        }
    }

    async fn attempt(
        &self,
        receiver: &Url,
        key: &SignatureKey,
        notification: &Notification,
    ) -> Option<u16> {
        let request = self
            .client
            .post(receiver.clone())
            .header(CONTENT_TYPE, "application/json")
            .header(SIGNATURE, key.notification(&notification.body, Timestamp::now()))
            .body(notification.body.clone());
        match request.send().await {
            Ok(answer) => Some(answer.status().as_u16()),
            Err(error) => {
                tracing::warn!(notification.id, cause = %error, "notification not delivered");
                None
            }
        }
    }

    // A std mutex suffices, because it is never held across an await.
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
