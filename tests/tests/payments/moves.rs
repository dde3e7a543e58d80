//! Captures, refunds and voids: their effects and their limits.

use std::time::Duration;

use blackbox::{
    payments::{Move, Refusal as _, Service, Transaction, int},
    process::DEADLINE,
};
use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

/// Returns the pending, captured, refunded and voided amounts.
fn amounts(transaction: &Value) -> [i64; 4] {
    let counters = ["pendingAmount", "capturedAmount", "refundedAmount", "voidedAmount"];
    counters.map(|counter| transaction[counter].as_i64().unwrap())
}

/// Returns the last step of the trail.
fn last(transaction: &Value) -> &Value {
    transaction["trail"].as_array().unwrap().last().unwrap()
}

async fn reserved(amount: i64) -> (Service, Transaction) {
    let service = Service::any().await;
    let transaction = service.merchant().await.pay("EUR", amount).await;
    (service, transaction)
}

/// Checks that the request is rejected because of `field`, and that nothing has changed.
async fn is_refused(transaction: &Transaction, movement: Move, body: Value, field: &str) {
    let before = transaction.fetch().await;
    transaction.ask(movement, &body).await.names(&[field]);
    assert_eq!(transaction.fetch().await, before, "{movement:?} {body}");
}

#[tokio::test]
async fn moves_shift_amounts_between_the_four_counters() {
    let (_service, transaction) = reserved(1000).await;
    assert_eq!(amounts(&transaction.capture(300).await), [700, 300, 0, 0]);
    assert_eq!(amounts(&transaction.void(200).await), [500, 300, 0, 200]);
    assert_eq!(amounts(&transaction.refund(100).await), [500, 300, 100, 200]);
    assert_eq!(amounts(&transaction.capture(500).await), [0, 800, 100, 200]);
    assert_eq!(amounts(&transaction.refund(700).await), [0, 800, 800, 200]);
    let trail = transaction.fetch().await["trail"].clone();
    let kinds: Vec<_> = trail.as_array().unwrap().iter().map(kind).collect();
    let expected = [Move::Capture, Move::Void, Move::Refund, Move::Capture, Move::Refund];
    assert_eq!(kinds, expected, "oldest first");
}

fn kind(step: &Value) -> Move {
    Move::ALL.into_iter().find(|movement| step[movement.name()] == true).unwrap()
}

#[tokio::test]
async fn a_capture_costs_a_rate_fee_and_a_flat_fee() {
    let (_service, transaction) = reserved(1000).await;
    let captured = transaction.capture(1000).await;
    let step = last(&captured);
    assert_eq!(
        *step,
        json!({
            "capture": true,
            "created": step["created"],
            "amount": 1000,
            "balance": 950,
            "fee": { "flat": 25, "rate": 25 },
            "descriptor": "Corner shop",
            "lineId": step["lineId"],
        })
    );
}

#[tokio::test]
async fn the_rate_fee_is_rounded_once_half_away_from_zero() {
    let (_service, transaction) = reserved(10_000).await;
    for (amount, rate) in [(19, 0), (20, 1), (59, 1), (60, 2), (100, 3), (140, 4), (995, 25)] {
        let captured = transaction.capture(amount).await;
        let step = last(&captured);
        assert_eq!(step["fee"], json!({ "flat": 25, "rate": rate }), "{amount}");
        assert_eq!(step["balance"], amount - 25 - rate);
    }
}

#[tokio::test]
async fn a_refund_returns_only_the_rate_fee() {
    let (_service, transaction) = reserved(1000).await;
    transaction.capture(1000).await;
    let refunded = transaction.refund(400).await;
    let step = last(&refunded);
    assert_eq!(
        *step,
        json!({
            "refund": true,
            "created": step["created"],
            "amount": 400,
            "balance": -390,
            "fee": { "flat": 0, "rate": -10 },
            "descriptor": step["descriptor"],
            "lineId": step["lineId"],
        })
    );
}

#[tokio::test]
async fn partial_refunds_add_up_to_the_captured_amount() {
    let (_service, transaction) = reserved(100).await;
    transaction.capture(60).await;
    transaction.capture(40).await;
    let mut returned = (0, 0);
    for _ in 0..100 {
        let refunded = transaction.refund(1).await;
        let step = last(&refunded);
        let (balance, rate) = (step["balance"].as_i64().unwrap(), step["fee"]["rate"].as_i64());
        assert!((-1..=0).contains(&balance) && (-1..=0).contains(&rate.unwrap()), "{step}");
        returned = (returned.0 + balance, returned.1 + rate.unwrap());
    }
    // The rate fees of the captures were 1.5, rounded to 2, and 1.
    assert_eq!(returned, (-97, -3));
    is_refused(&transaction, Move::Refund, json!({ "amount": 1 }), "amount").await;
}

#[tokio::test]
async fn a_refund_takes_from_the_oldest_capture_first() {
    let (_service, transaction) = reserved(1000).await;
    // The rate fee of 19 is 0.475, rounded to 0. The rate fee of 810 is 20.25.
    for _ in 0..10 {
        transaction.capture(19).await;
    }
    transaction.capture(810).await;
    for (amount, rate) in [(190, 0), (405, -10), (405, -10)] {
        let refunded = transaction.refund(amount).await;
        assert_eq!(last(&refunded)["fee"]["rate"], rate, "{amount}");
    }
}

#[tokio::test]
async fn a_long_trail_is_shown_completely_and_in_order() {
    const CAPTURES: usize = 70;
    let service = Service::any().await;
    let merchant = service.merchant().await;
    let transaction = merchant.pay("EUR", 1000).await;
    for _ in 0..CAPTURES {
        transaction.capture(2).await;
    }
    // Each refund takes parts of two captures.
    let refunds = (0..20).map(|_| transaction.refund(3));
    for refunded in join_all(refunds).await {
        let steps = refunded["trail"].as_array().unwrap().len();
        assert_eq!(refunded["refundedAmount"], 3 * (steps - CAPTURES), "{refunded}");
    }
    let whole = transaction.fetch().await;
    assert_eq!(whole["trail"].as_array().unwrap().len(), CAPTURES + 20);
    let steps = whole["trail"].as_array().unwrap().iter();
    let is_refund: Vec<bool> = steps.map(|step| step["refund"] == true).collect();
    assert!(is_refund.is_sorted(), "{is_refund:?}");
    assert_eq!(merchant.list("/transactions?limit=9").await, [whole]);
    is_refused(&transaction, Move::Refund, json!({ "amount": 81 }), "amount").await;
    let last_one = transaction.refund(80).await;
    assert_eq!(amounts(&last_one), [860, 140, 140, 0]);
}

#[tokio::test]
async fn a_void_moves_no_money() {
    let (_service, transaction) = reserved(1000).await;
    let voided = transaction.void(1000).await;
    let step = last(&voided);
    let fee = json!({ "flat": 0, "rate": 0 });
    let created = &step["created"];
    let expected =
        json!({ "void": true, "created": created, "amount": 1000, "balance": 0, "fee": fee });
    assert_eq!(*step, expected);
}

#[tokio::test]
async fn captures_and_refunds_accept_a_descriptor() {
    let (_service, transaction) = reserved(1000).await;
    let body = json!({ "amount": 10, "descriptor": "Own #1" });
    for movement in [Move::Capture, Move::Refund] {
        let made = transaction.make(movement, &body).await;
        assert_eq!(last(&made)["descriptor"], "Own #1");
        assert_eq!(made["descriptor"], "Corner shop");
        for wrong in ["twenty-three characters", "café", "a\nb"] {
            let body = json!({ "amount": 10, "descriptor": wrong });
            is_refused(&transaction, movement, body, "descriptor").await;
        }
        for absent in [Value::Null, json!(""), json!("   ")] {
            let body = json!({ "amount": 1, "descriptor": absent });
            assert_eq!(last(&transaction.make(movement, &body).await)["descriptor"], "Corner shop");
        }
    }
}

#[tokio::test]
async fn a_capture_in_another_currency_is_rejected() {
    let (_service, transaction) = reserved(1000).await;
    for currency in [json!("USD"), json!("XXX"), json!("EURO"), json!(978)] {
        let body = json!({ "amount": 100, "currency": currency });
        is_refused(&transaction, Move::Capture, body, "currency").await;
    }
    transaction.make(Move::Capture, &json!({ "amount": 100, "currency": "EUR" })).await;
    transaction.make(Move::Capture, &json!({ "amount": 100, "currency": null })).await;
}

#[tokio::test]
async fn amounts_over_the_limit_are_rejected_without_effect() {
    let (_service, transaction) = reserved(1000).await;
    for (movement, amount) in [
        (Move::Capture, 1001),
        (Move::Capture, 1_000_000_000_000_i64),
        (Move::Void, 1001),
        (Move::Refund, 1),
    ] {
        is_refused(&transaction, movement, json!({ "amount": amount }), "amount").await;
    }
    transaction.capture(600).await;
    for (movement, amount) in [(Move::Capture, 401), (Move::Void, 401), (Move::Refund, 601)] {
        is_refused(&transaction, movement, json!({ "amount": amount }), "amount").await;
    }
    transaction.void(400).await;
    transaction.refund(200).await;
    for (movement, amount) in [(Move::Capture, 1), (Move::Void, 1), (Move::Refund, 401)] {
        is_refused(&transaction, movement, json!({ "amount": amount }), "amount").await;
    }
    transaction.refund(400).await;
    is_refused(&transaction, Move::Refund, json!({ "amount": 1 }), "amount").await;
}

#[tokio::test]
async fn the_amount_is_required_and_all_errors_are_named() {
    let (_service, transaction) = reserved(1000).await;
    transaction.capture(100).await;
    for movement in Move::ALL {
        for amount in [json!(null), json!(0), json!(-1), json!("1"), json!(1_000_000_000_001_i64)] {
            is_refused(&transaction, movement, json!({ "amount": amount }), "amount").await;
        }
        is_refused(&transaction, movement, json!({}), "amount").await;
    }
    let body = json!({ "amount": 0, "currency": "x", "descriptor": "é" });
    let wrong = ["amount", "currency", "descriptor"];
    transaction.ask(Move::Capture, &body).await.names(&wrong);
}

#[tokio::test]
async fn the_largest_amount_can_be_moved() {
    let (_service, transaction) = reserved(1_000_000_000_000).await;
    let captured = transaction.capture(1_000_000_000_000).await;
    assert_eq!(last(&captured)["balance"], 975_000_000_000_i64 - 25);
    let refunded = transaction.refund(1_000_000_000_000).await;
    assert_eq!(last(&refunded)["balance"], -975_000_000_000_i64);
}

#[tokio::test]
async fn a_balance_at_its_limit_rejects_captures_but_is_readable() {
    const MOST: i64 = 1 << 58;
    let service = Service::with(&[]).await;
    let transaction = service.merchant().await.pay("EUR", 1000).await;
    transaction.capture(500).await;
    let rows = service.data().change(&format!("UPDATE balances SET balance = {MOST}"));
    let merchant = transaction.fetch().await["merchantId"].as_str().unwrap().to_owned();
    let balance = async || {
        let shown = transaction.app.get(&format!("/merchants/{merchant}")).await.expect(200);
        int(&shown.json()["merchant"]["balance"])
    };
    is_refused(&transaction, Move::Capture, json!({ "amount": 100 }), "amount").await;
    let most = MOST * i64::try_from(rows).unwrap();
    assert_eq!(balance().await, most);
    let refunded = transaction.refund(500).await;
    assert_eq!(balance().await, most + int(&last(&refunded)["balance"]));
}

#[tokio::test]
async fn a_failed_transaction_cannot_be_moved() {
    let service = Service::any().await;
    let failed = service.merchant().await.fail(1000).await;
    for movement in Move::ALL {
        is_refused(&failed, movement, json!({ "amount": 1 }), "amount").await;
    }
}

#[tokio::test]
async fn expired_authorisations_are_voided() {
    let service = Service::with(&[]).await;
    let transaction = service.merchant().await.pay("EUR", 1000).await;
    transaction.capture(300).await;
    let (_service, transaction) = restarted(service, &transaction, "1ms").await;
    let voided = voided(&transaction).await;
    assert_eq!(amounts(&voided), [0, 300, 0, 700]);
    assert_eq!(kind(last(&voided)), Move::Void);
    assert_eq!(amounts(&transaction.refund(300).await), [0, 300, 300, 700]);
}

#[tokio::test]
async fn old_authorisations_are_voided_once_when_the_ttl_changes() {
    let service = Service::with(&[]).await;
    let merchant = service.merchant().await;
    let first = merchant.pay("EUR", 1000).await;
    let (service, first) = restarted(service, &first, "1ms").await;
    let after_first = voided(&first).await;

    let (service, first) = restarted(service, &first, "30d").await;
    let second = merchant.by(&first.app).pay("EUR", 1000).await;
    let (service, second) = restarted(service, &second, "1h").await;
    assert_eq!(amounts(&second.fetch().await), [1000, 0, 0, 0]);

    let (service, second) = restarted(service, &second, "1ms").await;
    let after_second = voided(&second).await;
    let (_service, second) = restarted(service, &second, "1ms").await;
    assert_eq!(first.by(&second.app).fetch().await, after_first);
    assert_eq!(second.fetch().await, after_second);
}

/// Restarts the service with another time to live of authorisations, and returns the transaction at
/// the restarted service. It restarts in a later second than that of the transaction, because an id
/// contains the second of its creation. The service looks for old authorisations when it starts.
async fn restarted(
    service: Service,
    transaction: &Transaction,
    time_to_live: &str,
) -> (Service, Transaction) {
    while service.app().await.id[..8] <= transaction.id[..8] {
        sleep(Duration::from_millis(50)).await;
    }
    let place = service.stop().await.with("PAYMENTS_AUTHORIZATION_TTL", time_to_live);
    let service = place.start().await;
    let transaction = transaction.by(&transaction.app.at(&service));
    (service, transaction)
}

/// Waits until a part of the transaction is voided.
async fn voided(transaction: &Transaction) -> Value {
    let voided = async {
        loop {
            let fetched = transaction.fetch().await;
            if amounts(&fetched)[3] > 0 {
                return fetched;
            }
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(DEADLINE, voided).await.unwrap()
}
