//! `POST /sandbox/clock`.

use std::time::Duration;

use blackbox::{
    http::Answer,
    payments::{App, Card, Link, Merchant, Service, Transaction},
    process::DEADLINE,
};
use futures_util::{StreamExt as _, stream};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

async fn advance(app: &App, by: &str) {
    let _ = app.post("/sandbox/clock", &json!({ "advance": by })).await.expect(201);
}

/// Waits until all advances have had their effect.
async fn finished(service: &Service) {
    let finished = async {
        let pending = "SELECT count(*) FROM apps WHERE pending_advance IS NOT NULL";
        while service.data().number(pending) > 0 {
            sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(DEADLINE, finished).await.unwrap();
}

async fn voided(transaction: &Transaction) -> Value {
    transaction.fetch().await["voidedAmount"].clone()
}

/// A transaction with an open dispute.
async fn disputed(merchant: &Merchant) -> Transaction {
    let transaction = merchant.pay_with(Card("4100000000000102"), "EUR", 1000).await;
    transaction.capture(1000).await;
    let is_disputed = async {
        while transaction.fetch().await["disputedAmount"] == 0 {
            sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(DEADLINE, is_disputed).await.unwrap();
    transaction
}

async fn is_lost(transaction: &Transaction) -> bool {
    let trail = transaction.fetch().await["trail"].clone();
    trail.as_array().unwrap().iter().any(|step| step["dispute"]["lost"] == true)
}

#[tokio::test]
async fn old_authorizations_are_voided() {
    let service = Service::with(&[]).await;
    let merchant = service.merchant().await;
    let (old, paid) = (merchant.pay("EUR", 1000).await, merchant.pay("EUR", 1000).await);
    old.capture(200).await;
    paid.capture(1000).await;
    advance(&merchant.app, "20d").await;
    finished(&service).await;
    assert_eq!(voided(&old).await, 0);
    let young = merchant.pay("EUR", 1000).await;
    advance(&merchant.app, "10d").await;
    finished(&service).await;
    assert_eq!(voided(&old).await, 800);
    assert_eq!((voided(&paid).await, voided(&young).await), (json!(0), json!(0)));
    service.data().agrees().await;
}

#[tokio::test]
async fn more_transactions_are_voided_than_a_job_reads_at_once() {
    const TRANSACTIONS: usize = 1001;
    let service = Service::with(&[]).await;
    let merchant = service.merchant().await;
    let all = stream::repeat(()).take(TRANSACTIONS).map(|()| merchant.pay("EUR", 1000));
    let all: Vec<_> = all.buffer_unordered(32).collect().await;
    advance(&merchant.app, "31d").await;
    finished(&service).await;
    let merchant = merchant.list("/transactions?limit=1000").await;
    assert!(merchant.iter().all(|made| made["voidedAmount"] == 1000));
    assert_eq!((merchant.len(), voided(&all[0]).await), (1000, json!(1000)));
}

#[tokio::test]
async fn overdue_disputes_are_lost() {
    let service = Service::with(&[]).await;
    let merchant = service.merchant().await;
    let old = disputed(&merchant).await;
    advance(&merchant.app, "13d").await;
    finished(&service).await;
    let young = disputed(&merchant).await;
    advance(&merchant.app, "12h").await;
    finished(&service).await;
    assert!(!is_lost(&old).await);
    advance(&merchant.app, "12h").await;
    finished(&service).await;
    assert!(is_lost(&old).await);
    assert!(!is_lost(&young).await);
    service.data().agrees().await;
}

#[tokio::test]
async fn challenges_end() {
    let service = Service::with(&[]).await;
    let merchant = service.merchant().await;
    let card = Card::CHALLENGED[0].0;
    let (form, page) = service.pay_at(&Link::to(&merchant), card).await;
    assert!(page.expect(200).text().contains("action=\"challenge?"));
    advance(&merchant.app, "10m").await;
    finished(&service).await;
    assert!(merchant.list("/transactions?limit=10").await.is_empty());
    advance(&merchant.app, "6m").await;
    finished(&service).await;
    let made = merchant.list("/transactions?limit=10").await;
    assert_eq!((made.len(), &made[0]["error"]["code"]), (1, &json!(31)));
    assert!(service.show(&form).await.expect(200).text().contains("data-group=\"unconfirmed\""));
}

#[tokio::test]
async fn only_the_merchants_of_the_app_grow_older() {
    let service = Service::with(&[]).await;
    let (own, shared, foreign) =
        (service.merchant().await, service.merchant().await, service.merchant().await);
    shared.add(&own.app).await;
    let pay = async |merchant: &Merchant| merchant.pay("EUR", 1000).await;
    let (own, shared, foreign) = (pay(&own).await, pay(&shared).await, pay(&foreign).await);
    advance(&own.app, "366d").await;
    finished(&service).await;
    assert_eq!((voided(&own).await, voided(&shared).await), (json!(1000), json!(1000)));
    assert_eq!(voided(&foreign).await, 0);
}

#[tokio::test]
async fn an_advance_outlives_the_service() {
    let service = Service::with(&[]).await;
    let merchant = service.merchant().await;
    let old = merchant.pay("EUR", 1000).await;
    let place = service.stop().await.with("PAYMENTS_AUTHORIZATION_TTL", "40d");
    let service = place.start().await;
    advance(&merchant.app.at(&service), "20d").await;
    let service = service.kill().await.start().await;
    finished(&service).await;
    let old = old.by(&old.app.at(&service));
    assert_eq!(voided(&old).await, 0);
    advance(&old.app, "21d").await;
    let service = service.kill().await.start().await;
    finished(&service).await;
    assert_eq!(voided(&old.by(&old.app.at(&service))).await, 1000);
}

#[tokio::test]
async fn a_repeat_with_the_same_key_advances_once() {
    let service = Service::with(&[]).await;
    let merchant = service.merchant().await;
    let old = merchant.pay("EUR", 1000).await;
    let by = json!({ "advance": "20d" });
    for _ in 0..2 {
        let _ = old.app.post_once("key", "/sandbox/clock", &by).await.expect(201);
    }
    finished(&service).await;
    assert_eq!(voided(&old).await, 0);
    let other = old.app.post_once("key", "/sandbox/clock", &json!({ "advance": "1d" })).await;
    other.refused(422, "idempotency_key_reused");
}

#[tokio::test]
async fn a_wrong_advance_is_refused() {
    let service = Service::any().await;
    let app = service.app().await;
    for by in [
        json!("0s"),
        json!("999ms"),
        json!("367d"),
        json!("-1d"),
        json!("15"),
        json!("soon"),
        json!(15),
        json!(null),
    ] {
        let answer: Answer = app.post("/sandbox/clock", &json!({ "advance": by })).await;
        assert!(answer.expect(400).text().contains("advance"), "{by}");
    }
    let _ = app.post("/sandbox/clock", &json!({})).await.expect(400);
    let _ = app.post_form("/sandbox/clock", "advance=1h").await.expect(201);
}

#[tokio::test]
async fn an_operator_can_turn_the_clock_off() {
    let service = Service::with(&[("PAYMENTS_SANDBOX_CLOCK", "false")]).await;
    let app = service.app().await;
    app.post("/sandbox/clock", &json!({ "advance": "1d" })).await.refused(404, "not_found");
}
