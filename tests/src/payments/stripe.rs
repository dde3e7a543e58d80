//! Stripe, played by localstripe from PyPI behind a proxy of the tests.

use reqwest::Client;
use serde_json::{Value, json};
use tokio::{process::Child, time::timeout};

use super::{App, Merchant, Service, minimal, overload::with_retries, seconds, signature};
use crate::{
    http::{self, Answer},
    process::DEADLINE,
    python,
};

const PROGRAM: &str = include_str!("../stripe.py");

/// The secret that signs events.
pub const WEBHOOK_SECRET: &str = "whsec_of_stripe";

/// A Stripe of its own. Dropping it kills the process.
pub struct Stripe {
    /// The URL for the service, without a trailing slash.
    pub url: String,
    /// localstripe itself, without a trailing slash.
    pub localstripe: String,
    http: Client,
    _process: Child,
}

impl Stripe {
    pub async fn start() -> Self {
        let (process, mut lines) = python::start(PROGRAM);
        let first = timeout(DEADLINE, lines.next_line()).await.expect("starts in time");
        let first = first.expect("text").expect("install it with: scripts/install test");
        let urls: Value = serde_json::from_str(&first).expect("a line of JSON");
        let url = |name: &str| urls[name].as_str().expect("a URL").to_owned();
        Self {
            url: url("url"),
            localstripe: url("localstripe"),
            http: http::client(),
            _process: process,
        }
    }

    /// A service whose live merchants pay through this Stripe, with further settings.
    pub async fn service(&self, settings: &[(&str, &str)]) -> Service {
        let own = [
            ("PAYMENTS_ACQUIRER", "stripe"),
            ("PAYMENTS_STRIPE_URL", self.url.as_str()),
            ("PAYMENTS_STRIPE_KEY", "sk_test_service"),
            ("PAYMENTS_STRIPE_WEBHOOK_SECRET", WEBHOOK_SECRET),
        ];
        Service::with(&[&own, settings].concat()).await
    }

    /// Lets requests whose path contains `path` go wrong, `times` times. `fault`: `hang` before the
    /// work, or `drop` the answer after it.
    pub async fn fail(&self, method: &str, path: &str, fault: &str, times: u32) {
        let fault = json!({ "method": method, "path": path, "fault": fault, "times": times });
        self.add(fault).await;
    }

    /// Refuses the next POST to a path like this with an error of Stripe.
    pub async fn refuse(&self, path: &str, status: u16, error: Value) {
        self.answer("POST", path, status, json!({ "error": error }), 1).await;
    }

    /// Answers the next requests to a path like this with this body, without any work.
    pub async fn answer(&self, method: &str, path: &str, status: u16, body: Value, times: u32) {
        let fault = json!({ "method": method, "path": path, "fault": "answer", "times": times });
        let answer = json!({ "status": status, "body": body });
        let mut fault = fault.as_object().expect("an object").clone();
        fault.extend(answer.as_object().expect("an object").clone());
        self.add(fault.into()).await;
    }

    async fn add(&self, fault: Value) {
        let request = self.http.post(format!("{}/test/faults", self.url)).body(fault.to_string());
        assert!(request.send().await.expect("answers").status().is_success());
    }

    /// The requests that have arrived with this method, and a path that contains this one.
    pub async fn requests(&self, method: &str, path: &str) -> Vec<Value> {
        let all = self.http.get(format!("{}/test/requests", self.url)).send().await;
        let all = all.expect("answers").bytes().await.expect("answers");
        let all: Vec<Value> = serde_json::from_slice(&all).expect("a list");
        let is_meant = |request: &Value| {
            request["method"] == method
                && request["path"].as_str().is_some_and(|it| it.contains(path))
        };
        all.into_iter().filter(is_meant).collect()
    }

    /// The PaymentIntents of localstripe, in the order of their creation.
    pub async fn payment_intents(&self) -> Vec<Value> {
        self.list("payment_intents").await
    }

    /// The objects of a list in localstripe, the oldest first.
    pub async fn list(&self, kind: &str) -> Vec<Value> {
        let request = self.http.get(format!("{}/v1/{kind}?limit=100", self.localstripe));
        let answer = request.bearer_auth("sk_test_reader").send().await.expect("answers");
        let body = answer.bytes().await.expect("answers");
        let list: Value = serde_json::from_slice(&body).expect("JSON");
        list["data"].as_array().unwrap_or_else(|| panic!("no list: {list}")).clone()
    }

    /// Lets localstripe send its own signed events to a service.
    pub async fn send_events_to(&self, service: &Service) {
        let url = format!("{}/stripe/events", service.url());
        let webhook = json!({ "url": url, "secret": WEBHOOK_SECRET });
        let request = self.http.post(format!("{}/_config/webhooks/service", self.localstripe));
        let answer = request.body(webhook.to_string()).send().await.expect("answers");
        assert!(answer.status().is_success(), "{answer:?}");
    }

    /// Opens the page of the bank, where the customer passes 3-D Secure or not. Returns the URL at
    /// which the customer comes back.
    pub async fn authenticate(&self, url: &str, success: bool) -> String {
        let answer = self.http.get(format!("{url}?success={success}")).send().await;
        let answer = answer.expect("answers");
        let location = answer.headers().get("location").and_then(|it| it.to_str().ok());
        location.unwrap_or_else(|| panic!("no redirect: {answer:?}")).to_owned()
    }
}

/// Sends a signed event about an object to a service.
pub async fn stripe_event(service: &Service, id: &str, kind: &str, object: Value) -> Answer {
    let event = json!({
        "id": id,
        "object": "event",
        "created": 1_763_700_000,
        "type": kind,
        "data": { "object": object },
    });
    let body = event.to_string();
    with_retries(|| {
        let request = service.request(reqwest::Method::POST, "/stripe/events");
        let signature = signature(WEBHOOK_SECRET, seconds(), &body);
        let request = request.header("stripe-signature", signature);
        request.body_of("application/json; charset=utf-8", body.clone()).send()
    })
    .await
}

/// A live merchant funded in euros.
pub async fn live_merchant(app: &App) -> Merchant {
    app.merchant_with(&minimal()).await
}
