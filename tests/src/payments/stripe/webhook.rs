//! Events on their way to the webhook of a service.

use std::time::Duration;

use rand::{RngExt as _, SeedableRng as _, rngs::StdRng, seq::SliceRandom as _};
use reqwest::Client;
use serde_json::Value;
use tokio::{sync::mpsc::UnboundedReceiver, time::sleep};

use super::WEBHOOK_SECRET;
use crate::{
    http,
    payments::{seconds, signature},
};

const MAX_ATTEMPTS: u32 = 20;

const PAUSE: Duration = Duration::from_millis(100);

/// How events are delivered.
#[derive(Debug, Clone, Copy)]
pub enum Delivery {
    /// Each event once, in order. A delivery that fails is repeated.
    InOrder,
    /// A quarter of the events is lost, a quarter comes twice, and their order is random: by this
    /// seed.
    Unreliable(u64),
}

/// Delivers events to the URL of a webhook, one after the other.
pub(super) async fn deliver(mut events: UnboundedReceiver<Value>, url: String, how: Delivery) {
    let http = http::client();
    let mut rng = match how {
        Delivery::InOrder => None,
        Delivery::Unreliable(seed) => Some(StdRng::seed_from_u64(seed)),
    };
    while let Some(first) = events.recv().await {
        let mut waiting = vec![first];
        while let Ok(next) = events.try_recv() {
            waiting.push(next);
        }
        let attempts = if rng.is_some() { 1 } else { MAX_ATTEMPTS };
        for event in rng.as_mut().map_or(waiting.clone(), |rng| mixed(waiting, rng)) {
            post(&http, &url, &event.to_string(), attempts).await;
        }
    }
}

fn mixed(events: Vec<Value>, rng: &mut StdRng) -> Vec<Value> {
    let mut mixed = Vec::new();
    for event in events {
        match rng.random_range(0..4) {
            0 => {}
            1 => mixed.extend([event.clone(), event]),
            _ => mixed.push(event),
        }
    }
    mixed.shuffle(rng);
    mixed
}

async fn post(http: &Client, url: &str, body: &str, attempts: u32) {
    for _ in 0..attempts {
        let request = http.post(url).body(body.to_owned());
        let request = request
            .header("content-type", "application/json; charset=utf-8")
            .header("stripe-signature", signature(WEBHOOK_SECRET, seconds(), body));
        if request.send().await.is_ok_and(|answer| answer.status().is_success()) {
            return;
        }
        sleep(PAUSE).await;
    }
}
