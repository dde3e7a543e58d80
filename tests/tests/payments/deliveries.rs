//! Deliveries of events to webhooks: each event arrives, in the order of its transaction.

mod breaks;
mod changes;
mod faults;

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use blackbox::{
    payments::{
        Acquirer, App, LOCAL, Merchant, Received, Receiver, Refusal as _, Repeats, Reply, SECRET,
        Service, Webhook, accepted, minimal,
    },
    process::{self, DEADLINE},
};
use futures_util::future::join_all;
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use crate::signatures::{case, verify};

/// A service whose webhooks reach this receiver.
async fn service_for(receiver: &Receiver) -> Service {
    Service::with(&[receiver.trust(), LOCAL, SECRET]).await
}

/// Makes transactions of five events each, in lanes that run at the same time.
async fn load(merchant: &Merchant, lanes: usize, transactions: usize, pause: Duration) {
    let lane = async |_| {
        for _ in 0..transactions {
            let transaction = merchant.pay("EUR", 1000).await;
            sleep(pause).await;
            transaction.capture(300).await;
            sleep(pause).await;
            transaction.refund(100).await;
            sleep(pause).await;
            transaction.void(200).await;
            sleep(pause).await;
            transaction.capture(100).await;
            sleep(pause).await;
        }
    };
    join_all((0..lanes).map(lane)).await;
}

/// Waits until a metric satisfies a condition.
async fn metric(service: &Service, name: &str, is_wanted: impl Fn(u64) -> bool) {
    let wanted = async {
        while !is_wanted(service.metric(name).await) {
            sleep(Duration::from_millis(100)).await;
        }
    };
    let found = timeout(DEADLINE, wanted).await;
    assert!(found.is_ok(), "{name} stays {}", service.metric(name).await);
}

/// The metric that counts the attempts with this outcome.
fn attempts(outcome: &str) -> String {
    format!("payments_webhook_deliveries_total{{outcome=\"{outcome}\"}}")
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

fn time(value: &Value) -> Timestamp {
    text(value).parse().unwrap()
}

/// A test merchant with a bank account.
async fn merchant_of(app: &App) -> Merchant {
    let mut body = minimal();
    body["test"] = true.into();
    body["bank"] = json!({ "iban": "DK5000400440116243", "holder": "Ann" });
    app.merchant_with(&body).await
}

#[tokio::test]
async fn a_webhook_receives_each_event_of_its_apps_merchants_once() {
    let receiver = Receiver::new().await;
    let service = service_for(&receiver).await;
    let (app, stranger) = (service.app().await, service.app().await);
    let merchants = [merchant_of(&app).await, merchant_of(&app).await];
    let foreign = merchant_of(&stranger).await;
    merchants[0].pay("EUR", 1).await;
    let all = Webhook::with(&app, &json!({ "url": receiver.url("/all") })).await;
    let types = json!(["transaction.captured", "dispute.won", "payout.booked"]);
    let some = json!({ "url": receiver.url("/some"), "types": types });
    let some = Webhook::with(&app, &some).await;

    foreign.pay("EUR", 2).await;
    let transaction = merchants[0].pay("EUR", 10_000).await;
    transaction.capture(9000).await;
    merchants[1].pay("EUR", 300).await.capture(200).await;
    transaction.refund(100).await;
    transaction.void(1000).await;
    merchants[1].fail(7).await;
    let acquirer = Acquirer(&service);
    for (amount, end) in [(600, "won"), (500, "lost")] {
        let dispute = acquirer.open(&transaction, amount).await;
        acquirer.end(&transaction, &dispute, end).await;
    }
    let fraud = Acquirer::event("fraud.reported", &transaction, json!({ "reason": 1 }));
    let _ = acquirer.notify(&fraud).await.expect(204);
    receiver.until(|received| received.len() == 12 + 3).await;
    metric(&service, &attempts("delivered"), |count| count == 12 + 3).await;
    let place = service.stop().await;
    let mut command = place.command();
    command.args(["payout", "--test", "--csv"]).arg(place.data().join("transfers.csv"));
    assert!(process::run(command).await.status.success());
    let service = place.start().await;
    let app = app.at(&service);
    let (all, some) = (all.by(&app), some.by(&app));

    let events = all.events().await;
    let payouts = events.iter().filter(|event| event["type"] == "payout.booked").count();
    assert_eq!((events.len(), payouts), (12 + 2, 2));
    for event in &events {
        let path = format!("/events/{}", text(&event["id"]));
        assert_eq!(app.get(&path).await.expect(200).json(), json!({ "event": event }));
    }
    let of_types: Vec<_> = events
        .iter()
        .filter(|event| types.as_array().unwrap().contains(&event["type"]))
        .cloned()
        .collect();
    assert_eq!(of_types.len(), 3 + 2);
    let expected = events.len() + of_types.len();
    let received = receiver.until(|received| received.len() >= expected).await;
    let mut cases = Vec::new();
    for (webhook, path, expected) in [(&all, "/all", &events), (&some, "/some", &of_types)] {
        let own = received.iter().filter(|request| request.path == path);
        let mut arrived: Vec<_> = own.clone().map(|request| request.event()).collect();
        arrived.sort_by(|one, other| text(&one["id"]).cmp(text(&other["id"])));
        assert_eq!(&arrived, expected, "{path}");
        cases.extend(own.map(|request| case(&webhook.secret, request)));
        assert_eq!(
            webhook.recorded(|them| them.len() == expected.len()).await.len(),
            arrived.len()
        );
    }
    for request in &received {
        assert_eq!(request.headers["webhook-id"], text(&request.event()["id"]));
        assert_eq!(request.headers["content-type"], "application/json");
    }
    for results in verify(&cases).await {
        assert_eq!(results, vec!["valid"; expected]);
    }
    assert_eq!(receiver.received().len(), expected);
}

#[tokio::test]
async fn an_event_is_skipped_if_the_app_has_left_its_merchant() {
    let receiver = Receiver::new().await;
    let service = service_for(&receiver).await;
    let (app, other) = (service.app().await, service.app().await);
    let (left, kept) = (app.merchant("EUR").await, app.merchant("EUR").await);
    left.add(&other).await;
    let webhook = Webhook::at(&app, &receiver).await;
    receiver.answer(500);
    left.pay("EUR", 100).await.capture(50).await;
    let later = kept.pay("EUR", 100).await;
    let before = receiver.until(|received| received.len() == 2).await.len();
    let _ = app.delete(&left.path(&format!("/apps/{}", app.id))).await.expect(204);
    left.by(&other).pay("EUR", 100).await;
    receiver.answer(204);
    webhook.restart().await;
    later.capture(50).await;
    receiver.until(|received| accepted(received).len() == 2).await;
    metric(&service, "payments_webhook_oldest_event_seconds", |age| age == 0).await;
    let received = receiver.received().split_off(before);
    assert!(received.iter().all(|request| request.event()["merchantId"] == *kept.id));
    assert_eq!(received.len(), 2);
    assert_eq!(service.stop().await.number("SELECT count(*) FROM webhook_retries"), 0);
}
