//! An acquirer that fails: every answer can be lost, late, forged or missing.

use std::time::Duration;

use blackbox::{acquirer::card, payments::Move, process::DEADLINE};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use super::Live;

/// Faults after which the acquirer has done the work.
fn done() -> [Value; 4] {
    [json!("drop"), json!({ "late": { "ms": 5000 } }), json!("unsigned"), json!("wrong-signature")]
}

/// Faults before the work.
fn not_done() -> [Value; 3] {
    [json!("close"), json!("hang"), json!("500")]
}

async fn once(live: &Live, kind: &str, fault: &Value) {
    live.acquirer.rules(json!([{ "kind": kind, "next": 1, "fault": fault }])).await;
}

/// Lets all authorizations fail, as long as the service repeats one.
async fn authorizations_fail(live: &Live, fault: &Value) {
    live.acquirer.rules(json!([{ "kind": "authorization", "fault": fault }])).await;
}

/// Repeats a request with an idempotency key until its outcome is known.
async fn outcome(live: &Live, key: &str, original: &blackbox::payments::Transaction) -> Value {
    let outcome = async {
        loop {
            let answer = live.repeat(key, original, 300).await;
            if ![409, 503].contains(&answer.status.as_u16()) {
                return answer.json();
            }
            sleep(Duration::from_millis(100)).await;
        }
    };
    timeout(DEADLINE, outcome).await.unwrap()
}

#[tokio::test]
async fn a_repeat_gets_the_outcome_of_a_payment_whose_answer_was_lost() {
    let live = Live::start().await;
    let original = live.pay(1000).await;
    for (number, fault) in done().into_iter().enumerate() {
        authorizations_fail(&live, &fault).await;
        let key = format!("lost {number}");
        live.repeat(&key, &original, 300).await.refused(503, "outcome_unknown");
        live.acquirer.clear_rules().await;
        let found = outcome(&live, &key, &original).await;
        assert!(found["transaction"]["id"].is_string() && found["code"].is_null(), "{found}");
    }
    for (number, fault) in not_done().into_iter().enumerate() {
        authorizations_fail(&live, &fault).await;
        let key = format!("not done {number}");
        live.repeat(&key, &original, 300).await.refused(503, "outcome_unknown");
        live.acquirer.clear_rules().await;
        let found = outcome(&live, &key, &original).await;
        assert_eq!(found["code"], 12, "{fault}: {found}");
    }
    live.settled().await;
    assert_eq!(live.merchant.list("/transactions?limit=100").await.len(), 8);
    live.agrees().await;
}

#[tokio::test]
async fn a_failure_is_repeated_while_the_customer_waits() {
    let live = Live::with(&[("PAYMENTS_ACQUIRER_TIMEOUT", "10s")]).await;
    for fault in [json!("drop"), json!("close"), json!("500")] {
        once(&live, "authorization", &fault).await;
        let _ = live.charge(card::VISA, 500).await.expect(201);
    }
    let operations = live.acquirer.operations().await;
    assert_eq!(operations.len(), 3, "{operations:?}");
    live.agrees().await;
}

#[tokio::test]
async fn a_payment_that_nobody_can_learn_of_is_reversed() {
    let live = Live::start().await;
    for fault in done().into_iter().chain(not_done()) {
        authorizations_fail(&live, &fault).await;
        live.charge(card::VISA, 500).await.refused(503, "outcome_unknown");
        live.acquirer.clear_rules().await;
        live.settled().await;
        let newest = &live.merchant.list("/transactions?limit=1").await[0];
        assert_eq!(newest["error"]["code"], 12, "{fault}: {newest}");
    }
    for operation in live.acquirer.operations().await {
        if operation["sums"].is_object() {
            assert_eq!(operation["sums"]["held"], 0, "{operation}");
        }
    }
    assert!(live.merchant.list("/transactions?limit=10&filter[successful]=yes").await.is_empty());
    live.agrees().await;
}

#[tokio::test]
async fn an_acquirer_that_answers_no_question_leaves_the_payment_pending() {
    let live = Live::start().await;
    let original = live.pay(1000).await;
    live.acquirer.rules(json!([{ "kind": "question", "next": 5, "fault": "500" }])).await;
    authorizations_fail(&live, &json!("drop")).await;
    live.repeat("key", &original, 300).await.refused(503, "outcome_unknown");
    let found = outcome(&live, "key", &original).await;
    assert!(found["code"].is_null(), "{found}");
    live.agrees().await;
}

#[tokio::test]
async fn entries_whose_answers_are_lost_are_carried_out_once() {
    let live = Live::start().await;
    let paid = live.pay(10_000).await;
    for fault in done().into_iter().chain(not_done()) {
        for kind in ["capture", "refund", "void"] {
            once(&live, kind, &fault).await;
        }
        paid.capture(500).await;
        paid.refund(200).await;
        paid.void(100).await;
        live.settled().await;
        live.acquirer.clear_rules().await;
    }
    let operations = live.acquirer.operations().await;
    assert_eq!(operations.len(), 1 + 7 * 3, "{operations:?}");
    live.agrees().await;
}

#[tokio::test]
async fn an_entry_that_always_fails_blocks_no_other_transaction() {
    let live = Live::with(&[("PAYMENTS_ACQUIRER_TIMEOUT", "10s")]).await;
    let (stuck, mut others) = (live.pay(1000).await, Vec::new());
    for _ in 0..40 {
        others.push(live.pay(1000).await);
    }
    // All refunds hang for the whole time of the test.
    live.acquirer.rules(json!([{ "kind": "refund", "fault": "hang" }])).await;
    stuck.capture(1000).await;
    stuck.refund(1000).await;
    for other in &others {
        other.capture(1000).await;
    }
    live.acquirer
        .until(|book| {
            let operations = book["operations"].as_array().unwrap();
            let captured = operations.iter().filter(|known| known["kind"] == "capture");
            captured.filter(|known| known["executed"] == 1).count() == 41
        })
        .await;
    live.acquirer.clear_rules().await;
    live.settled().await;
    live.agrees().await;
}

#[tokio::test]
async fn a_slow_acquirer_gets_the_entries_of_many_transactions_at_once() {
    let settings = [("PAYMENTS_ACQUIRER_TIMEOUT", "10m"), ("PAYMENTS_OUTBOX_CONCURRENCY", "100")];
    let live = Live::with(&settings).await;
    let mut paid = Vec::new();
    for _ in 0..100 {
        paid.push(live.pay(1000).await);
    }
    // No entry has an answer before the end of the test.
    live.acquirer.delay(600_000).await;
    for transaction in &paid {
        transaction.capture(1000).await;
    }
    live.acquirer
        .until(|book| {
            let operations = book["operations"].as_array().unwrap();
            operations.iter().filter(|known| known["kind"] == "capture").count() == paid.len()
        })
        .await;
}

#[tokio::test]
async fn nothing_is_lost_or_done_twice_when_the_service_is_killed() {
    let mut live = Live::start().await;
    let original = live.pay(1000).await;
    for round in 0..4 {
        live.acquirer
            .rules(json!([
                { "kind": "authorization", "probability": 0.3, "fault": "drop" },
                { "kind": "capture", "probability": 0.3, "fault": "drop" },
                { "kind": "refund", "probability": 0.3, "fault": "close" },
            ]))
            .await;
        let keys: Vec<String> = (0..20).map(|number| format!("{round} {number}")).collect();
        let paying = keys.iter().map(|key| live.repeat(key, &original, 300));
        for answer in futures_util::future::join_all(paying).await {
            if answer.status == 201 {
                let paid = live.merchant.transaction(&answer);
                let _ = paid.ask(Move::Capture, &json!({ "amount": 300 })).await.expect(201);
                let _ = paid.ask(Move::Refund, &json!({ "amount": 100 })).await.expect(201);
            }
        }
        let stopped = live.service.kill().await;
        live.service = stopped.start().await;
        live.merchant = live.merchant.by(&live.merchant.app.at(&live.service));
        live.acquirer.clear_rules().await;
    }
    live.settled().await;
    live.agrees().await;
}

#[tokio::test]
async fn entries_wait_for_an_acquirer_whose_settings_were_removed() {
    let live = Live::start().await;
    let paid = live.pay(1000).await;
    live.acquirer.rules(json!([{ "kind": "capture", "fault": "close" }])).await;
    paid.capture(400).await;
    let Live { acquirer, service, merchant } = live;
    let settings = acquirer.of_payments();
    let mut place = service.stop().await;
    for (name, _) in &settings {
        place = place.with(name, "");
    }
    let service = place.start().await;
    let is_warning = |line: &str| line.contains("an acquirer that is not configured");
    service.process().logged(is_warning).await;
    let mut place = service.stop().await;
    for (name, value) in &settings {
        place = place.with(name, value);
    }
    acquirer.clear_rules().await;
    let service = place.start().await;
    let merchant = merchant.by(&merchant.app.at(&service));
    let live = Live { acquirer, service, merchant };
    live.settled().await;
    assert_eq!(live.acquirer.operations().await.len(), 2);
    live.agrees().await;
}
