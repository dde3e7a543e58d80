//! What the acquirer cannot do is refused before anything is booked.

use blackbox::{
    payments::{Move, Refusal as _, int},
    process::until,
};
use jiff::{Span, Timestamp, ToSpan as _};
use serde_json::{Value, json};

use super::Live;

async fn amounts(paid: &blackbox::payments::Transaction) -> [i64; 3] {
    let shown = paid.fetch().await;
    ["pendingAmount", "capturedAmount", "voidedAmount"].map(|name| int(&shown[name]))
}

#[tokio::test]
async fn a_first_capture_voids_the_rest_if_the_acquirer_captures_once() {
    let live = Live::start().await;
    live.acquirer.capabilities(json!({ "captures": "once" })).await;
    let (part, whole) = (live.pay(1000).await, live.pay(1000).await);
    let answer = part.capture(400).await;
    assert_eq!([&answer["pendingAmount"], &answer["voidedAmount"]], [&json!(0), &json!(600)]);
    let trail = answer["trail"].as_array().unwrap();
    assert_eq!((&trail[0]["capture"], &trail[1]["void"]), (&json!(true), &json!(true)));
    part.ask(Move::Capture, &json!({ "amount": 1 })).await.names(&["amount"]);
    whole.capture(1000).await;
    assert_eq!(amounts(&whole).await, [0, 1000, 0]);
    live.settled().await;
    let operations = live.acquirer.operations().await;
    let sent = operations.iter().filter(|known| known["kind"] == "void").count();
    assert_eq!(sent, 0);
    let events = live.merchant.app.list("/events?limit=100").await;
    let of = |kind: &str| events.iter().filter(|event| event["type"] == kind).count();
    assert_eq!((of("transaction.captured"), of("transaction.voided")), (2, 1));
    live.service.stop().await.agrees().await;
}

#[tokio::test]
async fn a_refused_single_capture_releases_all() {
    let live = Live::start().await;
    live.acquirer.capabilities(json!({ "captures": "once" })).await;
    live.acquirer.rules(json!([{ "kind": "capture", "next": 1, "fault": "refuse" }])).await;
    let paid = live.pay(1000).await;
    paid.capture(600).await;
    live.settled().await;
    live.settled().await;
    assert_eq!(amounts(&paid).await, [0, 0, 1000]);
    let operations = live.acquirer.operations().await;
    let kinds: Vec<_> = operations.iter().map(|known| known["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["authorization", "capture", "reversal"]);
    assert_eq!(operations[2]["outcome"]["status"], "done");
    live.service.stop().await.agrees().await;
}

#[tokio::test]
async fn a_repeated_capture_has_the_same_answer() {
    let live = Live::start().await;
    live.acquirer.capabilities(json!({ "captures": "once" })).await;
    let paid = live.pay(1000).await;
    let path = paid.path_of(Move::Capture);
    let body = json!({ "amount": 400 });
    let first = live.merchant.app.post_once("key", &path, &body).await.expect(201);
    paid.refund(100).await;
    let second = live.merchant.app.post_once("key", &path, &body).await.expect(201);
    assert_eq!(first.text(), second.text());
}

#[tokio::test]
async fn amounts_that_the_acquirer_does_not_move_are_refused() {
    let live = Live::start().await;
    live.acquirer.capabilities(json!({ "amountStep": 10 })).await;
    let paid = live.pay(1000).await;
    for amount in [1, 15, 999] {
        paid.ask(Move::Capture, &json!({ "amount": amount })).await.names(&["amount"]);
    }
    paid.capture(500).await;
    paid.ask(Move::Refund, &json!({ "amount": 5 })).await.names(&["amount"]);
    paid.refund(10).await;
    live.settled().await;
    live.agrees().await;
}

#[tokio::test]
async fn an_authorization_ends_when_the_acquirer_says() {
    let live = Live::start().await;
    let ends = |span: Span| json!({ "validUntil": (Timestamp::now() + span).to_string() });
    live.acquirer.capabilities(ends(1.hour())).await;
    let kept = live.pay(1000).await;
    live.acquirer.capabilities(ends(1.second())).await;
    let paid = live.pay(1000).await;
    until(async || amounts(&paid).await == [0, 0, 1000]).await;
    paid.ask(Move::Capture, &json!({ "amount": 1 })).await.names(&["amount"]);
    assert_eq!(amounts(&kept).await, [1000, 0, 0]);
    live.service.stop().await.agrees().await;
}

#[tokio::test]
async fn wrong_capabilities_are_no_answer() {
    let live = Live::start().await;
    for wrong in [
        json!({ "captures": "never" }),
        json!({ "amountStep": 0 }),
        json!({ "amountStep": 10_001 }),
        json!({ "validUntil": "tomorrow" }),
        Value::Bool(true),
    ] {
        live.acquirer.capabilities(wrong.clone()).await;
        let answer = live.charge(blackbox::acquirer::card::VISA, 1000).await;
        answer.refused(503, "outcome_unknown");
    }
}
