//! A webhook of an app, and the check of what its receiver got.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tokio::time::sleep;

use super::{App, Received, Receiver, Reply, app::text};
use crate::{http::Answer, process::DEADLINE};

/// The setting that lets webhooks reach this machine.
pub const LOCAL: (&str, &str) = ("PAYMENTS_WEBHOOK_NETWORKS", "127.0.0.0/8");

/// A webhook, accessed by its app.
#[derive(Clone)]
pub struct Webhook {
    pub app: App,
    pub id: String,
    pub secret: String,
}

impl Webhook {
    /// A webhook for all events, at the root of a receiver.
    pub async fn at(app: &App, receiver: &Receiver) -> Self {
        Self::with(app, &json!({ "url": receiver.url("/") })).await
    }

    /// A webhook made from this body.
    pub async fn with(app: &App, body: &Value) -> Self {
        let created = app.post("/webhooks", body).await.expect(201).json();
        let webhook = &created["webhook"];
        Self { app: app.clone(), id: text(&webhook["id"]), secret: text(&webhook["secret"]) }
    }

    /// The same webhook with requests to a restarted service, or by another app.
    #[must_use]
    pub fn by(&self, app: &App) -> Self {
        Self { app: app.clone(), ..self.clone() }
    }

    pub fn path(&self) -> String {
        format!("/webhooks/{}", self.id)
    }

    pub async fn fetch(&self) -> Value {
        self.app.get(&self.path()).await.expect(200).json()["webhook"].clone()
    }

    /// Changes it. Its deliveries then start again at once.
    pub async fn change(&self, change: &Value) {
        let _ = self.app.put(&self.path(), change).await.expect(204);
    }

    /// Makes all retries due now.
    pub async fn restart(&self) {
        self.change(&json!({})).await;
    }

    /// Gives it a new secret.
    pub async fn rotate(&mut self) {
        let path = format!("{}/rotate", self.path());
        let rotated = self.app.post(&path, &json!({})).await.expect(201).json();
        self.secret = text(&rotated["webhook"]["secret"]);
    }

    pub async fn replay(&self, after: &Value) -> Answer {
        self.app.post(&format!("{}/replay", self.path()), &json!({ "after": after })).await
    }

    /// The recorded deliveries, newest first.
    pub async fn deliveries(&self) -> Vec<Value> {
        self.app.list(&format!("{}/deliveries?limit=100", self.path())).await
    }

    /// Waits until the recorded deliveries satisfy a condition, and returns them.
    pub async fn recorded(&self, is_enough: impl Fn(&[Value]) -> bool) -> Vec<Value> {
        let begun = Instant::now();
        loop {
            let deliveries = self.deliveries().await;
            if is_enough(&deliveries) {
                return deliveries;
            }
            assert!(begun.elapsed() < DEADLINE, "not recorded: {deliveries:#?}");
            sleep(Duration::from_millis(50)).await;
        }
    }

    /// The events that its receiver must get.
    pub async fn events(&self) -> Vec<Value> {
        self.app.events_after(&self.id).await
    }

    /// Waits until the receiver has accepted all events so far, and checks what it got.
    pub async fn is_complete(&self, receiver: &Receiver, repeats: Repeats) {
        loop {
            let events = self.events().await;
            let ids: BTreeSet<_> = events.iter().map(|event| text(&event["id"])).collect();
            let received = receiver.until(|received| ids.is_subset(&accepted(received))).await;
            // Meanwhile, the service may have given up a payment that a crash interrupted.
            if self.events().await.len() == events.len() {
                return check(&events, &received, repeats);
            }
        }
    }
}

/// Whether a receiver may get an event again that it has accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeats {
    /// The service recorded each answer.
    None,
    /// The service or a connection broke off before the answer was recorded.
    AfterBreak,
    /// The database lost the records of answers, and events that the receiver may have got.
    AfterLoss,
}

/// The ids of the events that a receiver accepted.
pub fn accepted(received: &[Received]) -> BTreeSet<String> {
    let accepted = received.iter().filter(|request| request.is_accepted());
    accepted.map(|request| request.id().to_owned()).collect()
}

/// Checks that a receiver accepted these events and got no other, that each request has the event
/// as the API shows it, and that no event came before the receiver had accepted all earlier ones of
/// its transaction.
fn check(events: &[Value], received: &[Received], repeats: Repeats) {
    let by_id: BTreeMap<_, _> = events.iter().map(|event| (text(&event["id"]), event)).collect();
    let missing: Vec<_> = by_id.keys().filter(|id| !accepted(received).contains(*id)).collect();
    assert!(missing.is_empty(), "never accepted: {missing:?}");
    let mut earlier = HashMap::<_, Vec<&str>>::new();
    let mut before = HashMap::<_, Vec<&str>>::new();
    for (id, event) in &by_id {
        if let Some(transaction) = event["transactionId"].as_str() {
            let earlier = earlier.entry(transaction).or_default();
            before.insert(id.as_str(), earlier.clone());
            earlier.push(id);
        }
    }
    let (mut done, mut seen) = (HashMap::new(), HashSet::new());
    for request in received {
        let id = request.id();
        let Some(event) = by_id.get(id) else {
            assert_eq!(repeats, Repeats::AfterLoss, "is no event to send: {request:?}");
            continue;
        };
        assert_eq!(request.event(), **event);
        if repeats == Repeats::None {
            assert!(!done.contains_key(id), "is repeated: {request:?}");
        }
        let is_first = seen.insert(id);
        for &earlier in before.get(id).into_iter().flatten().filter(|_| is_first) {
            let is_done = done.get(earlier).is_some_and(|done| *done <= request.at);
            assert!(is_done, "came before {earlier}: {request:?}");
        }
        if request.is_accepted() {
            let delay = match request.reply {
                Reply::Slow(delay) => delay,
                _ => Duration::ZERO,
            };
            done.entry(id).or_insert(request.at + delay);
        }
    }
}
