//! What Stripe reports after the fact. The service books it, whether or not events arrive.

use blackbox::{
    payments::{
        App, Card, Merchant, Move, Service, Stripe, Transaction, int, live_merchant,
        stripe::{Books, Delivery},
        stripe_event,
    },
    process::until,
    soak::{rounds, seed},
};
use rand::{RngExt as _, SeedableRng as _, rngs::StdRng, seq::IndexedRandom as _};
use serde_json::{Value, json};

use crate::{live::reconcile::reconcile, replicas::two};

const CARD: Card = Card("4242424242424242");

const OFTEN: (&str, &str) = ("PAYMENTS_FACTS_INTERVAL", "1s");

/// Events are too young to be read, as if Stripe had deleted them.
const BY_COMPARISON: [(&str, &str); 2] =
    [("PAYMENTS_FACTS_INTERVAL", "30d"), ("PAYMENTS_COMPARISON_INTERVAL", "1s")];

/// How the service learns what happens at Stripe.
#[derive(Clone, Copy)]
struct Ways {
    /// How Stripe sends events, if it does.
    delivery: Option<Delivery>,
    settings: &'static [(&'static str, &'static str)],
    is_replicated: bool,
}

/// A shop whose payments are at Stripe.
struct Shop {
    stripe: Stripe,
    service: Service,
    /// Another replica, if there is one. It is never killed.
    replica: Option<Service>,
    app: App,
    merchant: Merchant,
    ways: Ways,
    rng: StdRng,
}

impl Shop {
    async fn new(ways: Ways, rng: StdRng) -> Self {
        let mut stripe = Stripe::start().await;
        let (service, replica) = if ways.is_replicated {
            let (_, [service, replica]) = two(&stripe.settings(ways.settings)).await;
            (service, Some(replica))
        } else {
            (stripe.service(ways.settings).await, None)
        };
        if let Some(delivery) = ways.delivery {
            stripe.send_events_to(&service, delivery);
        }
        let app = service.app().await;
        let merchant = live_merchant(&app).await;
        Self { stripe, service, replica, app, merchant, ways, rng }
    }

    /// Kills the service, and starts it again.
    async fn restart(mut self) -> Self {
        self.service = self.service.kill().await.start().await;
        if let Some(delivery) = self.ways.delivery {
            self.stripe.send_events_to(&self.service, delivery);
        }
        self.app = self.app.at(&self.service);
        self.merchant = self.merchant.by(&self.app);
        self
    }

    /// Waits until Stripe has carried out every capture and refund.
    async fn sent(&self) {
        until(async || self.service.data().number("SELECT count(*) FROM outbox") == 0).await;
    }

    /// A random object of this kind in one of these states.
    fn one(&mut self, prefix: &str, states: &[&str]) -> Option<Value> {
        let all = self.stripe.all(prefix);
        let is_meant = |object: &&Value| {
            object["status"].as_str().is_some_and(|status| states.contains(&status))
        };
        all.iter().filter(is_meant).collect::<Vec<_>>().choose(&mut self.rng).copied().cloned()
    }

    fn payment(&self, id: &str) -> Transaction {
        Transaction { app: self.app.clone(), id: id.to_owned() }
    }

    /// Asks for a movement of a random payment. It may be refused.
    async fn move_one(&mut self, action: Move, amount: i64) {
        let all = self.merchant.list("/transactions?limit=100").await;
        if let Some(paid) = all.choose(&mut self.rng) {
            let paid = self.payment(paid["id"].as_str().unwrap());
            let _ = paid.ask(action, &json!({ "amount": amount })).await;
        }
    }

    async fn step(&mut self) {
        let amount = self.rng.random_range(1..=10) * 100;
        match self.rng.random_range(0..12) {
            0..=2 => drop(self.merchant.pay_with(CARD, "EUR", 1000).await),
            3 | 4 => self.move_one(Move::Capture, 1000).await,
            5 => self.move_one(Move::Refund, amount).await,
            _ => {
                self.sent().await;
                self.late_fact(amount);
            }
        }
    }

    fn late_fact(&mut self, amount: i64) {
        let id = |object: &Value| object["id"].as_str().unwrap().to_owned();
        let kind = self.rng.random_range(0..8);
        match kind {
            0 => {
                if let Some(refund) = self.one("re", &["succeeded"]) {
                    self.stripe.fail_refund(&id(&refund));
                }
            }
            1..=3 => {
                let Some(intent) = self.one("pi", &["succeeded"]) else { return };
                match kind {
                    1 => drop(self.stripe.open_inquiry(&id(&intent), amount)),
                    2 => drop(self.stripe.open_dispute(&id(&intent), amount)),
                    // Only an event brings it.
                    _ if self.ways.settings == BY_COMPARISON => {}
                    _ => drop(self.stripe.warn_of_fraud(&id(&intent), "misc")),
                }
            }
            4 => {
                if let Some(intent) = self.one("pi", &["requires_capture"]) {
                    self.stripe.expire(&id(&intent));
                }
            }
            5 => {
                if let Some(inquiry) = self.one("du", &["warning_needs_response"]) {
                    match self.rng.random() {
                        true => self.stripe.withdraw_funds(&id(&inquiry)),
                        false => self.stripe.close_dispute(&id(&inquiry), "warning_closed"),
                    }
                }
            }
            6 => {
                if let Some(dispute) = self.one("du", &["needs_response"]) {
                    let end = ["won", "lost", "lost", "prevented"].choose(&mut self.rng).unwrap();
                    self.stripe.close_dispute(&id(&dispute), end);
                }
            }
            _ => {
                if let Some(dispute) = self.one("du", &["lost"]) {
                    self.stripe.close_dispute(&id(&dispute), "won");
                }
            }
        }
    }

    /// Whether the service has the same amounts as Stripe, of all payments, and all its warnings.
    async fn equals(&self) -> bool {
        let data = self.service.data();
        let authorized =
            format!("SELECT {} || ' ' || \"authorization\" FROM transactions", data.digits("id"));
        for row in data.texts(&authorized) {
            let (id, intent) = row.split_once(' ').unwrap();
            let Books { status, captured, refunded, disputed } = self.stripe.books(intent);
            let shown = self.payment(id).fetch().await;
            let names = ["capturedAmount", "refundedAmount", "disputedAmount"];
            let is_over = status == "canceled" && int(&shown["pendingAmount"]) != 0;
            if names.map(|name| int(&shown[name])) != [captured, refunded, disputed] || is_over {
                return false;
            }
        }
        let alerts = usize::try_from(data.number("SELECT count(*) FROM fraud_alerts")).unwrap();
        alerts == self.stripe.all("issfr").len()
    }

    /// Whether the books explain each row of Stripe's report.
    async fn reconciles(&self) -> bool {
        let compared =
            reconcile(self.service.data(), self.stripe.report(), &["--format", "stripe"]).await;
        compared.code == Some(0)
    }
}

#[expect(clippy::print_stdout, reason = "a failed test has to be repeated with its seed")]
async fn the_books_follow(ways: impl Fn(u64) -> Ways) {
    for _ in 0..rounds(1, 20) {
        let seed = seed();
        println!("SEED={seed}");
        let mut shop = Shop::new(ways(seed), StdRng::seed_from_u64(seed)).await;
        for _ in 0..rounds(3, 10) {
            for _ in 0..20 {
                shop.step().await;
            }
            shop = shop.restart().await;
        }
        shop.sent().await;
        until(async || shop.equals().await).await;
        until(async || shop.reconciles().await).await;
        for service in [Some(shop.service), shop.replica].into_iter().flatten() {
            service.stop().await.agrees().await;
        }
    }
}

const WITHOUT_EVENTS: Ways = Ways { delivery: None, settings: &[OFTEN], is_replicated: false };

#[tokio::test]
async fn the_books_follow_stripe_without_events() {
    the_books_follow(|_| WITHOUT_EVENTS).await;
}

#[tokio::test]
async fn the_books_follow_stripe_when_it_has_deleted_all_events() {
    the_books_follow(|_| Ways { settings: &BY_COMPARISON, ..WITHOUT_EVENTS }).await;
}

fn unreliable(seed: u64) -> Ways {
    Ways { delivery: Some(Delivery::Unreliable(seed)), ..WITHOUT_EVENTS }
}

#[tokio::test]
async fn the_books_follow_stripe_with_lost_repeated_and_mixed_events() {
    the_books_follow(unreliable).await;
}

#[tokio::test]
async fn two_replicas_follow_stripe_with_lost_repeated_and_mixed_events() {
    the_books_follow(|seed| Ways { is_replicated: true, ..unreliable(seed) }).await;
}

#[tokio::test]
async fn events_about_others_are_ignored() {
    let stripe = Stripe::start().await;
    let service = stripe.service(&[OFTEN]).await;
    let refund = json!({ "status": "failed", "payment_intent": "pi_1", "metadata": {} });
    for (kind, object) in [
        ("charge.expired", json!({ "payment_intent": null })),
        ("payment_intent.canceled", json!({ "id": "pi_of_somebody" })),
        ("refund.failed", refund),
    ] {
        stripe.emit(kind, object.clone());
        let answer = stripe_event(&service, "evt_of_somebody", kind, object).await;
        let _ = answer.expect(204);
    }
    let foreign = "payments_ignored_reports_total{acquirer=\"stripe\",reason=\"foreign\"}";
    // An interrupted turn of the job reads its events again.
    until(async || service.metric(foreign).await >= 6).await;
}

/// A service with a payment that is authorized at Stripe.
async fn authorized(settings: &[(&str, &str)]) -> (Stripe, Service, Merchant, Transaction) {
    let stripe = Stripe::start().await;
    let service = stripe.service(settings).await;
    let merchant = live_merchant(&service.app().await).await;
    let paid = merchant.pay_with(CARD, "EUR", 1000).await;
    (stripe, service, merchant, paid)
}

#[tokio::test]
async fn events_are_read_after_stripe_has_deleted_the_last_one() {
    let (stripe, _service, merchant, _) = authorized(&[OFTEN]).await;
    let intent = stripe.payment_intents().remove(0);
    for count in 1..=3 {
        stripe.warn_of_fraud(intent["id"].as_str().unwrap(), "made_with_stolen_card");
        let path = format!("/frauds?limit=9&filter[merchantId]={}", merchant.id);
        until(async || merchant.app.list(&path).await.len() == count).await;
        stripe.forget("evt");
    }
}

#[tokio::test]
async fn events_with_long_texts_are_read() {
    let stripe = Stripe::start().await;
    let service = stripe.service(&[OFTEN]).await;
    let text = "\u{1f600}".repeat(20_000);
    let dispute = json!({ "payment_intent": null, "evidence": { "uncategorized_text": text } });
    for _ in 0..50 {
        stripe.emit("charge.expired", dispute.clone());
    }
    let foreign = "payments_ignored_reports_total{acquirer=\"stripe\",reason=\"foreign\"}";
    until(async || service.metric(foreign).await >= 50).await;
}

#[tokio::test]
async fn a_payment_that_stripe_does_not_know_ends_no_comparison() {
    let (stripe, service, _, _) = authorized(&BY_COMPARISON).await;
    stripe.forget("pi");
    let compared = "payments_compared_timestamp_seconds{acquirer=\"stripe\"}";
    let before = service.metric(compared).await;
    until(async || service.metric(compared).await > before + 2).await;
}
