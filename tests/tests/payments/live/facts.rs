//! Facts that no notification brings: the service asks the acquirer.

use blackbox::{
    payments::{Transaction, int},
    process::until,
};
use serde_json::{Value, json};

use super::Live;

const OFTEN: (&str, &str) = ("PAYMENTS_FACTS_INTERVAL", "1s");

fn fact(kind: &str, transaction: &Transaction, members: Value) -> Value {
    let mut fact = json!({ "type": kind, "transactionId": transaction.id });
    fact.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    fact
}

async fn ignored(live: &Live, reason: &str) -> u64 {
    let labels = format!("acquirer=\"http\",reason=\"{reason}\"");
    live.service.metric(&format!("payments_ignored_reports_total{{{labels}}}")).await
}

/// An acquirer that sends no notification, and a captured payment.
async fn silent() -> (Live, Transaction) {
    let live = Live::with(&[OFTEN]).await;
    let paid = live.pay(1000).await;
    paid.capture(600).await;
    live.settled().await;
    (live, paid)
}

#[tokio::test]
async fn facts_are_booked_without_notifications() {
    let (live, paid) = silent().await;
    let dispute = json!({ "disputeId": "dp", "amount": 100 });
    for (kind, members) in [
        ("dispute.inquiry", dispute.clone()),
        ("dispute.opened", dispute.clone()),
        ("dispute.lost", dispute.clone()),
        ("dispute.won", dispute),
        ("authorization.expired", json!({})),
        ("fraud.reported", json!({ "reason": 6 })),
    ] {
        live.acquirer.notify(fact(kind, &paid, members)).await;
    }
    let path = format!("/frauds?limit=1&filter[merchantId]={}", live.merchant.id);
    until(async || !live.merchant.app.list(&path).await.is_empty()).await;
    let shown = paid.fetch().await;
    let amounts = ["pendingAmount", "voidedAmount", "disputedAmount"];
    assert_eq!(amounts.map(|name| int(&shown[name])), [0, 400, 0]);
    let trail = shown["trail"].as_array().unwrap();
    assert_eq!((trail.len(), &trail[1]["dispute"]["lost"]), (4, &json!(true)));
    live.service.stop().await.agrees().await;
}

#[tokio::test]
async fn facts_are_read_to_their_end_and_once() {
    let (live, paid) = silent().await;
    let path = format!("/frauds?limit=1000&filter[merchantId]={}", live.merchant.id);
    let Live { acquirer, service, merchant } = live;
    for _ in 0..130 {
        acquirer.notify(fact("fraud.reported", &paid, json!({}))).await;
    }
    until(async || merchant.app.list(&path).await.len() == 130).await;
    let service = service.kill().await.start().await;
    let app = merchant.app.at(&service);
    acquirer.notify(fact("fraud.reported", &paid, json!({}))).await;
    until(async || app.list(&path).await.len() == 131).await;
}

#[tokio::test]
async fn a_fact_that_cannot_be_booked_is_skipped_and_counted() {
    let (live, paid) = silent().await;
    let unknown = fact("dispute.paused", &paid, json!({}));
    let malformed = fact("dispute.opened", &paid, json!({ "disputeId": "dp" }));
    let mut foreign = fact("fraud.reported", &paid, json!({}));
    foreign["transactionId"] = "f".repeat(24).into();
    for fact in [unknown, malformed, foreign] {
        live.acquirer.notify(fact).await;
    }
    let dispute = json!({ "disputeId": "dp", "amount": 100 });
    live.acquirer.notify(fact("dispute.opened", &paid, dispute)).await;
    until(async || paid.fetch().await["disputedAmount"] == 100).await;
    for reason in ["unknown", "malformed", "foreign"] {
        assert_eq!(ignored(&live, reason).await, 1, "{reason}");
    }
}

#[tokio::test]
async fn an_acquirer_that_has_forgotten_the_last_fact_is_read_from_its_oldest_one() {
    let (live, paid) = silent().await;
    let Live { acquirer, service, merchant } = live;
    let service = service.stop().await;
    service.change(
        "INSERT INTO facts_positions VALUES ('http', 'evt of somebody', NULL)
                    ON CONFLICT (acquirer) DO UPDATE SET fact = 'evt of somebody'",
    );
    let service = service.start().await;
    let (app, path) = (merchant.app.at(&service), format!("/transactions/{}", paid.id));
    let dispute = json!({ "disputeId": "dp", "amount": 100 });
    acquirer.notify(fact("dispute.opened", &paid, dispute)).await;
    let shown = async || app.get(&path).await.json();
    until(async || shown().await["transaction"]["disputedAmount"] == 100).await;
    service.process().logged(|line| line.contains("the acquirer has forgotten facts")).await;
}
