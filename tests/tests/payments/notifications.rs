//! Notifications of acquirers: their signatures and their members.

use blackbox::{
    http::Answer,
    payments::{Acquirer, Refusal as _, SECRET, Service, Transaction, seconds, signature},
};
use reqwest::Method;
use serde_json::{Value, json};

/// Starts a service with a webhook secret, and captures a transaction.
async fn captured() -> (Service, Transaction) {
    let service = Service::with(&[SECRET]).await;
    let transaction = service.merchant().await.pay("EUR", 1000).await;
    transaction.capture(1000).await;
    (service, transaction)
}

fn opened(transaction: &Transaction) -> Value {
    let members = json!({ "disputeId": "dp", "amount": 100 });
    Acquirer::event("dispute.opened", transaction, members)
}

/// Checks that a notification was refused because of its signature, for this reason.
fn is_refused(answer: &Answer, reason: &str) {
    answer.refused(401, "unauthenticated");
    assert_eq!(answer.header("www-authenticate"), Some("Acquirer-Signature"));
    let message = answer.json()["message"].as_str().unwrap().to_owned();
    assert!(message.contains(reason) && !message.contains("API key"), "{message}");
}

#[tokio::test]
async fn notifications_without_a_valid_signature_are_401() {
    let (service, transaction) = captured().await;
    let before = transaction.fetch().await;
    let body = opened(&transaction).to_string();
    let (now, secret) = (seconds(), SECRET.1);
    let good = signature(secret, now, &body);
    let unsigned = service.request(Method::POST, "/acquirer/events");
    let unsigned = unsigned.body_of("application/json", body.as_str()).send().await;
    is_refused(&unsigned, "the header with the signature is missing");
    for (forged, reason) in [
        (signature("whsec_of_somebody", now, &body), "is the HMAC-SHA256"),
        (signature(secret, now, &body.replace("100", "999")), "is the HMAC-SHA256"),
        (signature(secret, now - 310, &body), "more than 5m off"),
        (signature(secret, now + 310, &body), "more than 5m off"),
        (good.replace("t=", "t=1"), "more than 5m off"),
        (good.replace("v1=", "v0="), "must be t="),
        (good[..good.len() - 2].to_owned(), "is the HMAC-SHA256"),
        (format!("{good}00"), "is the HMAC-SHA256"),
        ("t=,v1=".to_owned(), "must be t="),
        (String::new(), "must be t="),
    ] {
        is_refused(&Acquirer(&service).signed(&forged, &body).send().await, reason);
    }
    assert_eq!(transaction.fetch().await, before);
    let _ = Acquirer(&service).signed(&good, &body).send().await.expect(204);
    assert_ne!(transaction.fetch().await, before);
}

#[tokio::test]
async fn an_api_key_does_not_replace_a_signature() {
    let (service, transaction) = captured().await;
    let event = opened(&transaction);
    transaction.app.post("/acquirer/events", &event).await.refused(401, "unauthenticated");
    drop(service);
}

#[tokio::test]
async fn signatures_are_valid_for_five_minutes_and_during_secret_rotation() {
    let (service, transaction) = captured().await;
    let acquirer = Acquirer(&service);
    for shift in [-290, 290] {
        let event = Acquirer::event("fraud.reported", &transaction, json!({}));
        let body = event.to_string();
        let signed = signature(SECRET.1, seconds() + shift, &body);
        let (time, tag) = signed.split_once(',').unwrap();
        let several = format!("{time},v1={},{tag}", "0".repeat(64));
        let _ = acquirer.signed(&several, &body).send().await.expect(204);
    }
}

#[tokio::test]
async fn without_a_secret_the_path_is_404() {
    let service = Service::with(&[]).await;
    let transaction = service.merchant().await.pay("EUR", 1000).await;
    let answer = Acquirer(&service).notify(&opened(&transaction)).await;
    answer.refused(404, "not_found");
}

#[tokio::test]
async fn all_invalid_members_are_named() {
    let (service, transaction) = captured().await;
    let before = transaction.fetch().await;
    let kinds = ["dispute.opened", "dispute.won", "dispute.lost", "fraud.reported"];
    let all = ["disputeId", "amount"];
    let missing: [&[&str]; 4] = [&all, &all[..1], &all[..1], &[]];
    for (kind, missing) in kinds.into_iter().zip(missing) {
        let event = json!({ "type": kind });
        let mut named = vec!["id", "transactionId", "created"];
        named.extend(missing);
        Acquirer(&service).notify(&event).await.names(&named);
    }
    for (member, value, named) in [
        ("id", json!("\u{e9}"), "id"),
        ("id", json!("x".repeat(256)), "id"),
        ("type", json!(1), "type"),
        ("created", json!("yesterday"), "created"),
        ("created", json!(1_763_700_000), "created"),
        ("created", json!("-000001-12-31T23:59:59Z"), "created"),
        ("created", json!("10000-01-01T00:00:00Z"), "created"),
        ("transactionId", json!("1"), "transactionId"),
        ("disputeId", json!(""), "disputeId"),
        ("disputeId", json!("tab\t"), "disputeId"),
        ("amount", json!(0), "amount"),
        ("amount", json!(-5), "amount"),
        ("amount", json!(1.5), "amount"),
        ("amount", json!(1_000_000_000_001_i64), "amount"),
        ("due", json!("soon"), "due"),
        ("due", json!("-009999-06-01T00:00:00Z"), "due"),
        ("reason", json!(1), "reason"),
        ("reason", json!({ "code": 1 }), "reason"),
        ("reason", json!({ "title": "x" }), "reason"),
        ("reason", json!({ "code": "1", "title": "x" }), "reason.code"),
    ] {
        let mut event = opened(&transaction);
        event[member] = value;
        Acquirer(&service).notify(&event).await.names(&[named]);
    }
    for (member, value) in [
        ("reason", json!(9)),
        ("reason", json!(-1)),
        ("reason", json!({})),
        ("reported", json!("now")),
        ("reported", json!("-000001-12-31T23:59:59Z")),
    ] {
        let mut event = Acquirer::event("fraud.reported", &transaction, json!({}));
        event[member] = value;
        Acquirer(&service).notify(&event).await.names(&[member]);
    }
    Acquirer(&service).notify(&json!([1])).await.names(&[""]);
    assert_eq!(transaction.fetch().await, before);
}

/// The number of notifications that the service has ignored.
async fn ignored(service: &Service) -> u64 {
    service.metric("payments_ignored_reports_total{acquirer=\"http\",reason=\"unknown\"}").await
}

#[tokio::test]
async fn a_notification_of_an_unknown_type_is_accepted_and_counted() {
    let (service, transaction) = captured().await;
    let before = transaction.fetch().await;
    assert_eq!(ignored(&service).await, 0);
    let acquirer = Acquirer(&service);
    let mut event = opened(&transaction);
    event["type"] = "dispute.reopened".into();
    let minimal = json!({ "id": "evt", "type": "x", "created": "2026-11-21T10:00:00Z" });
    for event in [&event, &event, &minimal] {
        let _ = acquirer.notify(event).await.expect(204);
    }
    assert_eq!(ignored(&service).await, 3);
    assert_eq!(transaction.fetch().await, before);

    // The signature and the common members are still checked.
    let unsigned = acquirer.signed("t=1,v1=00", &event.to_string()).send().await;
    unsigned.refused(401, "unauthenticated");
    acquirer.notify(&json!({ "type": "dispute.reopened" })).await.names(&["id", "created"]);
    event["created"] = "yesterday".into();
    acquirer.notify(&event).await.names(&["created"]);
    assert_eq!(ignored(&service).await, 3);

    // The ID was not recorded, so an event of a known type can use it.
    let mut known = opened(&transaction);
    known["id"] = event["id"].clone();
    let _ = acquirer.notify(&known).await.expect(204);
    assert_ne!(transaction.fetch().await, before);
}

#[tokio::test]
async fn the_secret_is_never_logged_or_shown() {
    let settings = [SECRET, ("RUST_LOG", "trace")];
    let service = Service::with(&settings).await;
    let transaction = service.merchant().await.pay("EUR", 1000).await;
    let _ = Acquirer(&service).notify(&opened(&transaction)).await.expect(204);
    let _ = Acquirer(&service).signed("t=1,v1=00", "{}").send().await.expect(401);
    service.process().logged(|line| line.contains("/acquirer/events")).await;
    let log = service.process().log();
    assert!(!log.iter().any(|line| line.contains(SECRET.1)));
}
