//! A stand-in of [Stripe's API](https://docs.stripe.com/api) with the part of it that the connector
//! uses. It keeps its objects in the memory of the test, so it survives the death of a service.

mod account;
mod cards;
mod disputes;
mod error;
mod faults;
mod form;
mod intents;
mod keys;
mod refunds;
mod report;
mod server;
mod webhook;

use reqwest::Client;
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::mpsc::unbounded_channel, task::JoinSet};

pub use faults::Fault;
pub use webhook::Delivery;

use self::{
    account::Account,
    error::Error,
    form::{Form, int},
    server::{Shared, lock},
};
use super::{App, Merchant, Service, minimal, overload::with_retries, seconds, signature};
use crate::http::{self, Answer};

/// The secret that signs events.
pub const WEBHOOK_SECRET: &str = "whsec_of_stripe";

/// A request that Stripe got.
#[derive(Debug, Clone)]
pub struct Request {
    pub method: String,
    /// With the query.
    pub path: String,
    form: Form,
    /// The idempotency key.
    pub key: Option<String>,
    pub version: Option<String>,
    pub authorization: Option<String>,
}

impl Request {
    /// A parameter of the form.
    pub fn member(&self, name: &str) -> Option<&str> {
        self.form.get(name)
    }
}

/// What has become of a PaymentIntent, in Stripe's units.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Books {
    pub status: String,
    pub captured: i64,
    /// Without refunds that have failed.
    pub refunded: i64,
    /// Taken by disputes that are open or lost. An inquiry takes nothing.
    pub disputed: i64,
}

/// A Stripe of its own. Dropping it ends the server.
pub struct Stripe {
    /// The URL for the service, without a trailing slash.
    pub url: String,
    http: Client,
    state: Shared,
    serving: JoinSet<()>,
}

impl Stripe {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
        let url = format!("http://{}", listener.local_addr().expect("it is bound"));
        let state = server::state(url.clone());
        let mut serving = JoinSet::new();
        serving.spawn(server::serve(listener, Shared::clone(&state)));
        Self { url, http: http::client(), state, serving }
    }

    /// The settings of a service whose live merchants pay through this Stripe, and further ones.
    pub fn settings<'a>(&'a self, settings: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
        let own = [
            ("PAYMENTS_ACQUIRER", "stripe"),
            ("PAYMENTS_STRIPE_URL", self.url.as_str()),
            ("PAYMENTS_STRIPE_FILES_URL", self.url.as_str()),
            ("PAYMENTS_STRIPE_KEY", "sk_test_service"),
            ("PAYMENTS_STRIPE_WEBHOOK_SECRET", WEBHOOK_SECRET),
        ];
        [&own, settings].concat()
    }

    /// A service with these settings.
    pub async fn service(&self, settings: &[(&str, &str)]) -> Service {
        Service::with(&self.settings(settings)).await
    }

    /// Lets the next requests whose path contains `path` go wrong, `times` times.
    pub fn fail(&self, method: &str, path: &str, fault: Fault, times: u32) {
        lock(&self.state).faults.add(method, path, fault, times);
    }

    /// Refuses the next POST to a path like this with an error of Stripe.
    pub fn refuse(&self, path: &str, status: u16, error: Value) {
        self.fail("POST", path, Fault::Answer(status, json!({ "error": error })), 1);
    }

    /// Lets this part of all requests fail with 429 or 500, from 0 to 1.
    pub fn fail_at_random(&self, seed: u64, rate: f64) {
        lock(&self.state).faults.at_random(seed, rate);
    }

    /// The requests that have arrived with this method, and a path that contains this one.
    pub fn requests(&self, method: &str, path: &str) -> Vec<Request> {
        let state = lock(&self.state);
        let is_meant = |it: &&Request| it.method == method && it.path.contains(path);
        state.requests.iter().filter(is_meant).cloned().collect()
    }

    /// Later payments allow several captures, if they ask for it.
    pub fn offer_multicapture(&self) {
        lock(&self.state).account.offers_multicapture = true;
    }

    /// Later refunds stay `pending` until [`Self::settle_refund`].
    pub fn keep_refunds_pending(&self) {
        lock(&self.state).account.refunds_pend = true;
    }

    /// Later authorizations say that they last this long. Only [`Self::expire`] ends one.
    pub fn authorizations_last(&self, seconds: i64) {
        lock(&self.state).account.authorizations_last = seconds;
    }

    /// Sends later events to the webhook of a service.
    pub fn send_events_to(&mut self, service: &Service, how: Delivery) {
        let (sender, events) = unbounded_channel();
        lock(&self.state).account.webhook = Some(sender);
        let url = format!("{}/stripe/events", service.url());
        self.serving.spawn(webhook::deliver(events, url, how));
    }

    /// Later events are only in the list of events.
    pub fn send_no_events(&self) {
        lock(&self.state).account.webhook = None;
    }

    /// The PaymentIntents in the order of their creation.
    pub fn payment_intents(&self) -> Vec<Value> {
        self.all("pi")
    }

    /// All objects whose IDs have this prefix, such as `re`, in the order of their creation.
    pub fn all(&self, prefix: &str) -> Vec<Value> {
        lock(&self.state).account.all(prefix).cloned().collect()
    }

    /// The report "Itemized balance change from activity" as CSV.
    pub fn report(&self) -> String {
        report::csv(&lock(&self.state).account)
    }

    pub fn books(&self, intent: &str) -> Books {
        self.with(|account| {
            let found = account.object(intent)?;
            Ok(Books {
                status: found["status"].as_str().unwrap_or_default().to_owned(),
                captured: int(found, "amount_received"),
                refunded: refunds::refunded(account, intent),
                disputed: disputes::withdrawn(account, intent),
            })
        })
    }

    /// A refund that was accepted fails, and the money comes back.
    pub fn fail_refund(&self, refund: &str) {
        self.with(|account| refunds::fail(account, refund, "expired_or_canceled_card"));
    }

    /// A pending refund succeeds.
    pub fn settle_refund(&self, refund: &str) {
        self.with(|account| refunds::settle(account, refund));
    }

    /// The customer disputes an amount, which is taken at once. Returns the ID of the dispute.
    pub fn open_dispute(&self, intent: &str, amount: i64) -> String {
        let about = ("product_not_received", false);
        self.with(|account| disputes::open(account, intent, amount, about))
    }

    /// The bank asks about an amount, which is not taken. Returns the ID of the dispute.
    pub fn open_inquiry(&self, intent: &str, amount: i64) -> String {
        let about = ("product_not_received", true);
        self.with(|account| disputes::open(account, intent, amount, about))
    }

    /// An inquiry becomes a dispute, and the amount is taken.
    pub fn withdraw_funds(&self, dispute: &str) {
        self.with(|account| disputes::withdraw(account, dispute));
    }

    /// Ends a dispute or an inquiry: `won`, `lost`, `warning_closed` or `prevented`. A lost one can be
    /// won later.
    pub fn close_dispute(&self, dispute: &str, status: &str) {
        self.with(|account| disputes::close(account, dispute, status));
    }

    /// A bank warns of fraud.
    pub fn warn_of_fraud(&self, intent: &str, kind: &str) -> String {
        self.with(|account| disputes::warn(account, intent, kind))
    }

    /// An authorization has lasted too long.
    pub fn expire(&self, intent: &str) {
        self.with(|account| intents::expire(account, intent));
    }

    /// Deletes all objects of this kind, such as `evt`.
    pub fn forget(&self, prefix: &str) {
        self.with(|account| {
            account.forget(prefix);
            Ok(())
        });
    }

    /// Adds an event about an object that is not one of this stand-in, such as a payment of another
    /// system with the same account.
    pub fn emit(&self, kind: &str, object: Value) {
        lock(&self.state).account.emit_about(kind, object);
    }

    /// Opens the page of the bank, where the customer passes 3-D Secure or not. Returns the URL at
    /// which the customer comes back.
    pub async fn authenticate(&self, url: &str, success: bool) -> String {
        let answer = self.http.get(format!("{url}?success={success}")).send().await;
        let answer = answer.expect("answers");
        let location = answer.headers().get("location").and_then(|it| it.to_str().ok());
        location.unwrap_or_else(|| panic!("no redirect: {answer:?}")).to_owned()
    }

    #[track_caller]
    fn with<T>(&self, work: impl FnOnce(&mut Account) -> Result<T, Error>) -> T {
        work(&mut lock(&self.state).account).unwrap_or_else(|error| panic!("{error:?}"))
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

#[cfg(test)]
mod tests {
    use super::*;

    impl Stripe {
        /// A payment of 10.00 EUR that is authorized.
        fn authorized(&self, number: &str) -> String {
            self.with(|account| {
                let form = "amount=1000&currency=eur&payment_method_options\
                            [card][request_multicapture]=if_available";
                let intent = intents::create(account, &Form::parse(form))?;
                let id = intent["id"].as_str().expect("text").to_owned();
                let card = "payment_method_data[type]=card&payment_method_data[card][exp_year]=2048\
                            &payment_method_data[card][exp_month]=2&payment_method_data[card]";
                intents::confirm(account, &id, &Form::parse(&format!("{card}[number]={number}")))?;
                Ok(id)
            })
        }

        fn capture(&self, intent: &str, form: &str) -> Result<Value, Error> {
            intents::capture(&mut lock(&self.state).account, intent, &Form::parse(form))
        }

        fn refund(&self, intent: &str, amount: i64) -> Result<String, Error> {
            let form = Form::parse(&format!("payment_intent={intent}&amount={amount}"));
            let refund = refunds::create(&mut lock(&self.state).account, &form)?;
            Ok(refund["id"].as_str().expect("text").to_owned())
        }

        fn sums(&self, intent: &str) -> (i64, i64, i64) {
            let Books { captured, refunded, disputed, .. } = self.books(intent);
            (captured, refunded, disputed)
        }

        /// The amounts that were booked, without fees.
        fn booked(&self) -> i64 {
            self.all("txn").iter().map(|booked| int(booked, "amount")).sum()
        }
    }

    #[tokio::test]
    async fn the_books_follow_what_happens_later() {
        let stripe = Stripe::start().await;
        let intent = stripe.authorized("4242424242424242");
        assert!(stripe.capture(&intent, "amount_to_capture=1001").is_err());
        assert!(stripe.capture(&intent, "amount_to_capture=1&final_capture=false").is_err());
        stripe.capture(&intent, "amount_to_capture=900").expect("can be captured");
        assert!(stripe.capture(&intent, "amount_to_capture=1").is_err());
        let refund = stripe.refund(&intent, 400).expect("can be refunded");
        assert!(stripe.refund(&intent, 501).is_err());
        assert_eq!((stripe.sums(&intent), stripe.booked()), ((900, 400, 0), 500));
        stripe.fail_refund(&refund);
        assert_eq!((stripe.sums(&intent), stripe.booked()), ((900, 0, 0), 900));
        let dispute = stripe.open_inquiry(&intent, 700);
        assert_eq!((stripe.sums(&intent), stripe.booked()), ((900, 0, 0), 900));
        stripe.withdraw_funds(&dispute);
        assert!(stripe.refund(&intent, 201).is_err());
        for (status, disputed) in [("lost", 700), ("won", 0)] {
            stripe.close_dispute(&dispute, status);
            let expected = ((900, 0, disputed), 900 - disputed);
            assert_eq!((stripe.sums(&intent), stripe.booked()), expected, "{status}");
        }
        let kinds = stripe.all("evt");
        let kinds: Vec<_> = kinds.iter().rev().map(|event| event["type"].as_str()).collect();
        let last = ["charge.dispute.closed", "charge.dispute.funds_reinstated"].map(Some);
        assert_eq!(kinds[..2], last);
    }

    #[tokio::test]
    async fn several_captures_end_with_the_final_one() {
        let stripe = Stripe::start().await;
        stripe.offer_multicapture();
        let intent = stripe.authorized("5555555555554444");
        stripe.capture(&intent, "amount_to_capture=300&final_capture=false").expect("the first");
        assert_eq!(stripe.books(&intent).status, "requires_capture");
        stripe.capture(&intent, "amount_to_capture=200").expect("the last");
        assert_eq!(stripe.books(&intent).status, "succeeded");
        assert_eq!((stripe.sums(&intent), stripe.booked()), ((500, 0, 0), 500));
        let expired = stripe.authorized("4000000000005423");
        stripe.expire(&expired);
        assert_eq!(stripe.books(&expired).status, "canceled");
    }
}
