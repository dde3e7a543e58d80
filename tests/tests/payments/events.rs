//! Events: one for each fact, with the resource as it was.

use blackbox::{
    payments::{Acquirer, App, Merchant, SECRET, Service, ids, int, minimal},
    process::{self, DEADLINE},
};
use serde_json::{Value, json};
use tokio::time::{Duration, sleep, timeout};

/// The events of a merchant, oldest first.
async fn events_of(merchant: &Merchant) -> Vec<Value> {
    let query = format!("limit=1000&filter[merchantId]={}", merchant.id);
    let mut events = merchant.app.list(&format!("/events?{query}")).await;
    events.reverse();
    events
}

fn types(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["type"].as_str().unwrap()).collect()
}

/// Creates a test merchant with a bank account, owned by this app.
async fn merchant_of(app: &App) -> Merchant {
    let mut body = minimal();
    body["test"] = true.into();
    body["bank"] = json!({ "iban": "DK5000400440116243", "holder": "Ann" });
    app.merchant_with(&body).await
}

#[tokio::test]
async fn a_payment_and_its_movements_are_events_in_order() {
    let service = Service::any().await;
    let merchant = service.merchant().await;
    let transaction = merchant.pay("EUR", 1000).await;
    let mut states = vec![transaction.fetch().await];
    states.push(transaction.capture(400).await);
    states.push(transaction.capture(300).await);
    states.push(transaction.refund(100).await);
    states.push(transaction.void(300).await);
    let failed = merchant.fail(7).await;
    states.push(failed.fetch().await);

    let events = events_of(&merchant).await;
    let expected = [
        "transaction.created",
        "transaction.captured",
        "transaction.captured",
        "transaction.refunded",
        "transaction.voided",
        "transaction.failed",
    ];
    assert_eq!(types(&events), expected);
    let app = json!({ "type": "app", "id": merchant.app.id, "name": "a test" });
    // Customers pay, and the app does the rest.
    for (event, state) in events.iter().zip(&states) {
        let is_payment = ["transaction.created", "transaction.failed"]
            .contains(&event["type"].as_str().unwrap());
        let actor = if is_payment { json!({ "type": "system" }) } else { app.clone() };
        let expected = json!({
            "id": event["id"],
            "created": event["created"],
            "type": event["type"],
            "merchantId": merchant.id,
            "test": true,
            "actor": actor,
            "transactionId": state["id"],
            "data": { "transaction": state },
        });
        assert_eq!(*event, expected);
        let path = format!("/events/{}", event["id"].as_str().unwrap());
        let fetched = merchant.app.get(&path).await.expect(200).json();
        assert_eq!(fetched, json!({ "event": event }));
    }
}

#[tokio::test]
async fn disputes_fraud_alerts_and_payouts_are_events() {
    let service = Service::with(&[SECRET]).await;
    let merchant = merchant_of(&service.app().await).await;
    let transaction = merchant.pay("EUR", 10_000).await;
    transaction.capture(10_000).await;
    let acquirer = Acquirer(&service);
    let won = acquirer.open(&transaction, 600).await;
    acquirer.end(&transaction, &won, "won").await;
    let lost = acquirer.open(&transaction, 500).await;
    acquirer.end(&transaction, &lost, "lost").await;
    let fraud = Acquirer::event("fraud.reported", &transaction, json!({ "reason": 1 }));
    let _ = acquirer.notify(&fraud).await.expect(204);
    let place = service.stop().await;
    let mut command = place.command();
    command.args(["payout", "--test", "--csv"]).arg(place.data().join("transfers.csv"));
    assert!(process::run(command).await.status.success());
    let service = place.start().await;
    let merchant = merchant.by(&merchant.app.at(&service));

    let events = events_of(&merchant).await;
    let expected = [
        "transaction.created",
        "transaction.captured",
        "dispute.opened",
        "dispute.won",
        "dispute.opened",
        "dispute.lost",
        "fraud.reported",
        "payout.booked",
    ];
    assert_eq!(types(&events), expected);
    for event in &events[2..7] {
        assert_eq!(event["actor"], json!({ "type": "acquirer" }));
    }
    assert_eq!(events[7]["actor"], json!({ "type": "operator" }));
    let query = format!("limit=10&filter[merchantId]={}", merchant.id);
    let mut disputes = merchant.app.list(&format!("/disputes?{query}")).await;
    disputes.reverse();
    for (event, dispute) in events[2..6].iter().zip([0, 0, 1, 1]) {
        assert_eq!(event["data"], json!({ "dispute": disputes[dispute] }));
        assert_eq!(event["transactionId"], transaction.id);
    }
    let frauds = merchant.app.list(&format!("/frauds?{query}")).await;
    assert_eq!(events[6]["data"], json!({ "fraud": frauds[0] }));
    assert_eq!(events[6]["transactionId"], transaction.id);
    let line = merchant.list("/lines?limit=1").await.remove(0);
    let payout = &events[7]["data"]["payout"];
    let expected = json!({
        "id": payout["id"],
        "merchantId": merchant.id,
        "test": true,
        "created": line["created"],
        "lineId": line["id"],
        "amount": { "currency": "EUR", "amount": -int(&line["balance"]) },
        "name": "Ann",
        "iban": "DK5000400440116243",
        "returned": null,
    });
    assert_eq!((payout, events[7].get("transactionId")), (&expected, None));
    service.stop().await.agrees().await;
}

/// A service with an app of three merchants, and another one. Both have events.
async fn two_apps(service: &Service) -> [App; 2] {
    let (app, other) = (service.app().await, service.app().await);
    let merchants = [merchant_of(&app).await, merchant_of(&app).await, merchant_of(&app).await];
    let stranger = merchant_of(&other).await;
    for round in 1..4 {
        for merchant in merchants.iter().chain([&stranger]) {
            let transaction = merchant.pay("EUR", 100).await;
            if round == 2 {
                transaction.capture(50).await;
                transaction.void(50).await;
            }
        }
    }
    [app, other]
}

/// Checks that all pages of these events of an app, newest first, have what they should.
async fn are_read_page_by_page(app: &App, all: &[Value]) {
    for filter in ["", "&filter[type]=transaction.created", "&filter[type]=transaction.voided"] {
        let matching = app.list(&format!("/events?limit=1000{filter}")).await;
        let kind = filter.rsplit('=').next().unwrap();
        let is_expected = |event: &&Value| kind.is_empty() || event["type"] == kind;
        let expected: Vec<_> = all.iter().filter(is_expected).cloned().collect();
        assert_eq!(matching, expected, "{filter}");
        for limit in [1, 2, 7, 100] {
            let (mut forward, mut backward) = (Vec::new(), Vec::new());
            let (mut after, mut before) = ("0".repeat(24), "f".repeat(24));
            loop {
                let page = app.list(&format!("/events?limit={limit}&after={after}{filter}")).await;
                let Some(last) = ids(&page).pop() else { break };
                (after, forward) = (last, [forward, page].concat());
            }
            loop {
                let page =
                    app.list(&format!("/events?limit={limit}&before={before}{filter}")).await;
                let Some(last) = ids(&page).pop() else { break };
                (before, backward) = (last, [backward, page].concat());
            }
            forward.reverse();
            assert_eq!((&forward, &backward), (&expected, &expected), "{limit} {filter}");
        }
    }
}

#[tokio::test]
async fn an_app_reads_the_events_of_all_its_merchants_page_by_page() {
    let service = Service::any().await;
    let [app, other] = two_apps(&service).await;
    let all = app.list("/events?limit=1000").await;
    assert_eq!(all.len(), 3 * 5);
    app.settle("/events?").await;
    let newest_first = ids(&all);
    assert!(newest_first.is_sorted_by(|one, other| one > other), "{newest_first:?}");
    let foreign = ids(&other.list("/events?limit=1000").await);
    assert!(foreign.len() == 5 && foreign.iter().all(|id| !newest_first.contains(id)));
    are_read_page_by_page(&app, &all).await;
}

/// A page of an app with many merchants is first looked for among the nearest events of all merchants.
#[tokio::test]
async fn an_app_with_many_merchants_reads_the_same_events() {
    let service = Service::with(&[]).await;
    let [app, _] = two_apps(&service).await;
    let all = app.list("/events?limit=1000").await;
    assert_eq!(all.len(), 3 * 5);
    let mut place = service.stop().await;
    let random = match place.database() {
        Some(_) => "substr(decode(md5(random()::text), 'hex'), 1, 12)",
        None => "randomblob(12)",
    };
    let numbers = |count: u32| {
        format!(
            "WITH RECURSIVE numbers AS (
                 SELECT 1 AS number UNION ALL SELECT number + 1 FROM numbers WHERE number < {count}
             ) SELECT"
        )
    };
    let own = place.bytes(&app.id);
    let members = format!(
        "INSERT INTO merchant_apps {} {random}, app, test, creator
         FROM (SELECT * FROM merchant_apps WHERE app = {own} LIMIT 1) AS member, numbers",
        numbers(600)
    );
    let events = format!(
        "INSERT INTO events (id, merchant, created, type, actor)
         {} {random}, {random}, created, type, actor
         FROM (SELECT * FROM events WHERE type = 'transaction.created' LIMIT 1) AS event, numbers",
        numbers(20_000)
    );
    for sql in [members, events] {
        place.change(&sql);
        let service = place.start().await;
        let app = app.at(&service);
        app.settle("/events?").await;
        are_read_page_by_page(&app, &all).await;
        place = service.stop().await;
    }
}

#[tokio::test]
async fn events_of_others_are_forbidden_and_unknown_filters_rejected() {
    let service = Service::any().await;
    let (app, other) = (service.app().await, service.app().await);
    let merchant = merchant_of(&app).await;
    merchant.pay("EUR", 100).await;
    let event = ids(&events_of(&merchant).await).remove(0);
    let _ = other.get(&format!("/events/{event}")).await.expect(403);
    let _ = other.get(&format!("/events/{}", "1".repeat(24))).await.expect(404);
    let query = format!("/events?limit=1&filter[merchantId]={}", merchant.id);
    let _ = other.get(&query).await.expect(403);
    let invalid = app.get("/events?limit=1&filter[type]=transaction.lost").await.expect(400);
    assert_eq!(invalid.json()[0]["field"], "filter.type");
    let unknown = format!("/events?limit=1&filter[merchantId]={}", "1".repeat(24));
    assert_eq!(app.get(&unknown).await.expect(400).json()[0]["field"], "filter.merchantId");
    // An app that is removed from a merchant does not see its events any longer.
    merchant.add(&other).await;
    assert_eq!(other.list("/events?limit=9").await.len(), 1);
    let path = merchant.path(&format!("/apps/{}", other.id));
    let _ = app.delete(&path).await.expect(204);
    assert_eq!(other.list("/events?limit=9").await, [] as [Value; 0]);
}

#[tokio::test]
async fn old_events_are_deleted_and_nothing_else() {
    let service = Service::with(&[]).await;
    let merchant = service.merchant().await;
    let transaction = merchant.pay("EUR", 100).await;
    transaction.capture(100).await;
    assert_eq!(events_of(&merchant).await.len(), 2);
    sleep(Duration::from_secs(2)).await;
    let service = service.stop().await.with("PAYMENTS_EVENT_RETENTION", "1s").start().await;
    let merchant = merchant.by(&merchant.app.at(&service));
    let deleted = async {
        while !events_of(&merchant).await.is_empty() {
            sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(DEADLINE, deleted).await.unwrap();
    assert_eq!(int(&transaction.by(&merchant.app).fetch().await["capturedAmount"]), 100);
}
