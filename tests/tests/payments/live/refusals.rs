//! An acquirer that refuses what was booked before: by its answer, after three days, or later.

use blackbox::payments::{Acquirer as Notifier, Refusal as _, Transaction, minimal};
use serde_json::{Value, json};

use super::{
    Live,
    standing::{hold, release},
};
use crate::payouts::{DANISH, age, pay_out, payouts_of, transfers};

async fn refuse(live: &Live, kind: &str) {
    live.acquirer.rules(json!([{ "kind": kind, "next": 1, "fault": "refuse" }])).await;
}

/// The types of the events of a transaction, oldest first.
async fn events(live: &Live, transaction: &Transaction) -> Vec<String> {
    live.merchant.app.settle("/events?").await;
    let events = live.merchant.app.events_after(&"0".repeat(24)).await;
    let own = events.iter().filter(|event| event["transactionId"] == json!(transaction.id));
    own.map(|event| event["type"].as_str().unwrap().to_owned()).collect()
}

fn amounts(transaction: &Value) -> [i64; 4] {
    let names = ["pendingAmount", "capturedAmount", "refundedAmount", "voidedAmount"];
    names.map(|name| transaction[name].as_i64().unwrap())
}

#[tokio::test]
async fn a_refused_capture_is_reversed_and_its_amount_voided() {
    let live = Live::start().await;
    let paid = live.pay(1000).await;
    refuse(&live, "capture").await;
    let captured = paid.capture(600).await;
    live.settled().await;
    let after = paid.fetch().await;
    assert_eq!(amounts(&after), [400, 0, 0, 600], "{after}");
    let trail = after["trail"].as_array().unwrap();
    let (first, reversal) = (&trail[0], &trail[1]);
    assert_eq!(first, &captured["trail"][0]);
    for name in ["amount", "balance"] {
        assert_eq!(reversal[name].as_i64(), first[name].as_i64().map(|amount| -amount), "{after}");
    }
    assert_eq!(reversal["capture"], true, "{after}");
    assert_eq!(trail[2]["void"], true, "{after}");
    assert_eq!(live.merchant.sum_of_lines().await, 0);
    let expected =
        ["transaction.created", "transaction.captured", "acquirer.refused", "transaction.voided"];
    assert_eq!(events(&live, &paid).await, expected);
    live.settled().await;
    live.agrees().await;
}

#[tokio::test]
async fn a_refused_refund_can_be_made_again() {
    let live = Live::start().await;
    let paid = live.pay(1000).await;
    paid.capture(600).await;
    paid.capture(400).await;
    let before = live.merchant.balance().await;
    refuse(&live, "refund").await;
    paid.refund(700).await;
    live.settled().await;
    assert_eq!(amounts(&paid.fetch().await), [0, 1000, 0, 0]);
    assert_eq!(live.merchant.balance().await, before);
    paid.refund(1000).await;
    live.settled().await;
    assert_eq!(amounts(&paid.fetch().await), [0, 1000, 1000, 0]);
    live.agrees().await;
}

#[tokio::test]
async fn a_refused_capture_also_ends_the_refund_behind_it() {
    let live = Live::start().await;
    let paid = live.pay(1000).await;
    // The capture fails at first, so that the refund waits behind it.
    live.acquirer
        .rules(json!([
            { "kind": "capture", "next": 2, "fault": "500" },
            { "kind": "capture", "next": 1, "fault": "refuse" },
        ]))
        .await;
    paid.capture(1000).await;
    paid.refund(300).await;
    live.settled().await;
    live.settled().await;
    assert_eq!(amounts(&paid.fetch().await), [0, 0, 0, 1000]);
    assert_eq!(live.merchant.sum_of_lines().await, 0);
    live.agrees().await;
}

#[tokio::test]
async fn a_refused_void_is_reported_and_books_nothing() {
    let live = Live::start().await;
    let paid = live.pay(1000).await;
    refuse(&live, "void").await;
    paid.void(1000).await;
    live.settled().await;
    assert_eq!(amounts(&paid.fetch().await), [0, 0, 0, 1000]);
    // The acquirer also notifies of the refusal that it has answered.
    let operations = live.acquirer.operations().await;
    let void = operations.iter().find(|known| known["kind"] == "void").unwrap();
    let again = Notifier::event("operation.refused", &paid, json!({ "operation": void["key"] }));
    let _ = Notifier(&live.service).notify(&again).await.expect(204);
    let expected = ["transaction.created", "transaction.voided", "acquirer.refused"];
    assert_eq!(events(&live, &paid).await, expected);
    live.service.stop().await.agrees().await;
}

#[tokio::test]
async fn a_refusal_that_is_reported_later_is_booked_once() {
    let live = Live::start().await;
    let paid = live.pay(1000).await;
    paid.capture(1000).await;
    live.settled().await;
    let operations = live.acquirer.operations().await;
    let capture = operations.iter().find(|known| known["kind"] == "capture").unwrap();
    let members = json!({ "operation": capture["key"], "reason": "the account is closed" });
    let event = Notifier::event("operation.refused", &paid, members.clone());
    let again = Notifier::event("operation.refused", &paid, members);
    for event in [&event, &event, &again] {
        let _ = Notifier(&live.service).notify(event).await.expect(204);
    }
    let unknown = json!({ "operation": "0".repeat(64) });
    let unknown = Notifier::event("operation.refused", &paid, unknown);
    let _ = Notifier(&live.service).notify(&unknown).await.expect(204);
    let malformed = Notifier::event("operation.refused", &paid, json!({ "operation": "x" }));
    Notifier(&live.service).notify(&malformed).await.names(&["operation"]);
    let after = paid.fetch().await;
    assert_eq!(amounts(&after), [0, 0, 0, 1000], "{after}");
    assert_eq!(live.merchant.sum_of_lines().await, 0);
    live.service.stop().await.agrees().await;
}

#[tokio::test]
async fn the_refusal_of_an_old_capture_pays_no_young_one() {
    let mut live = Live::with(&[("PAYMENTS_PAYOUT_DELAY", "1h")]).await;
    let mut shop = minimal();
    shop["name"] = "Corner shop".into();
    shop["bank"] = json!({ "iban": DANISH });
    live.merchant = live.service.app().await.merchant_with(&shop).await;
    let paid = live.pay(2000).await;
    paid.capture(2000).await;
    let old = live.merchant.balance().await;
    let refused = live.pay(1000).await;
    refused.capture(1000).await;
    live.settled().await;
    age(live.service.data());
    live.pay(3000).await.capture(3000).await;
    let operations = live.acquirer.operations().await;
    let is_refused = |known: &&Value| known["kind"] == "capture" && known["amount"] == 1000;
    let capture = operations.iter().find(is_refused).unwrap();
    let members = json!({ "operation": capture["key"] });
    let event = Notifier::event("operation.refused", &refused, members);
    let _ = Notifier(&live.service).notify(&event).await.expect(204);

    let amounts = async |day| {
        let rows = transfers(&pay_out(live.service.data(), &["--day", day]).await);
        rows.iter().map(|row| row["amount"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let rest = live.merchant.balance().await - old;
    assert_eq!(amounts("2026-01-01").await, [format!("{}.{:02}", old / 100, old % 100)]);
    assert_eq!(live.merchant.balance().await, rest);
    age(live.service.data());
    assert_eq!(amounts("2026-01-02").await, [format!("{}.{:02}", rest / 100, rest % 100)]);
    assert_eq!(payouts_of(&live.merchant).await.len(), 2);
}

#[tokio::test]
async fn an_entry_that_fails_for_three_days_is_given_up() {
    let live = Live::start().await;
    let paid = live.pay(1000).await;
    live.acquirer.rules(json!([{ "kind": "capture", "fault": "close" }])).await;
    let key = "for days";
    let path = paid.path_of(blackbox::payments::Move::Capture);
    let _ = live.merchant.app.post_once(key, &path, &json!({ "amount": 1000 })).await.expect(201);
    // The days go on while only payouts are held.
    hold(live.service.data(), &live.merchant, &["--payouts"]).await;
    release(live.service.data(), &live.merchant).await;
    let Live { acquirer, service, merchant } = live;
    let stopped = service.stop().await;
    // The first four bytes of an ID are its second.
    let id = "6a0000000000000000000001";
    let old = format!("UPDATE outbox SET attempts = 8, due = 1, id = {}", stopped.bytes(id));
    assert_eq!(stopped.change(&old), 1);
    let service = stopped.start().await;
    let merchant = merchant.by(&merchant.app.at(&service));
    let paid = paid.by(&merchant.app);
    let live = Live { acquirer, service, merchant };
    live.settled().await;
    assert_eq!(amounts(&paid.fetch().await), [0, 0, 0, 1000]);
    live.acquirer.clear_rules().await;
    live.settled().await;
    live.agrees().await;
}
