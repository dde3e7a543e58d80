//! Rules: each fault, and whether the work was done.

use std::time::{Duration, Instant};

use blackbox::acquirer::{Acquirer, Call, authorization, card, key};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::{declined, done, part, refused, reversal};

/// Whether the book contains the operation, and how often it was executed.
async fn executed(acquirer: &Acquirer, key: &str) -> Option<u64> {
    let operations = acquirer.operations().await;
    let operation = operations.iter().find(|operation| operation["key"] == key)?;
    operation["executed"].as_u64()
}

#[tokio::test]
async fn without_an_answer_the_work_is_done_or_not() {
    let acquirer = Acquirer::start().await;
    let payment = acquirer.authorize().await;
    for (fault, was_executed) in [("drop", Some(1)), ("close", None)] {
        acquirer.rules(json!([{ "kind": "capture", "next": 1, "fault": fault }])).await;
        let (key, body) = (key(), part(&payment, 10));
        assert!(acquirer.attempt(&Call::post("/captures", &key, &body)).await.is_none(), "{fault}");
        assert_eq!(executed(&acquirer, &key).await, was_executed, "{fault}");
        assert_eq!(acquirer.outcome("/captures", &key, &body).await, done(&key), "{fault}");
        assert_eq!(executed(&acquirer, &key).await, Some(1), "{fault}");
    }
}

#[tokio::test]
async fn a_request_that_hangs_does_nothing() {
    let acquirer = Acquirer::start().await;
    let payment = acquirer.authorize().await;
    acquirer.rules(json!([{ "next": 1, "fault": "hang" }])).await;
    let (key, body) = (key(), part(&payment, 10));
    let call = Call::post("/captures", &key, &body);
    assert!(timeout(Duration::from_millis(500), acquirer.attempt(&call)).await.is_err());
    assert_eq!(executed(&acquirer, &key).await, None);
    let _ = acquirer.ask(&key).await.expect(404);
}

#[tokio::test]
async fn a_500_is_signed_and_does_nothing() {
    let acquirer = Acquirer::start().await;
    acquirer.rules(json!([{ "next": 2, "fault": "500" }])).await;
    let (key, body) = (key(), authorization(card::VISA));
    let answer = acquirer.post("/authorizations", &key, &body).await.expect(500);
    assert!(answer.header("acquirer-signature").is_some());
    let _ = acquirer.ask(&key).await.expect(500);
    assert_eq!(executed(&acquirer, &key).await, None);
}

#[tokio::test]
async fn a_late_answer_follows_its_work() {
    let acquirer = Acquirer::start().await;
    let payment = acquirer.authorize().await;
    let late = json!([{ "kind": "void", "next": 1, "fault": { "late": { "ms": 1000 } } }]);
    acquirer.rules(late).await;
    let (key, body) = (key(), part(&payment, 10));
    let started = Instant::now();
    let voided = acquirer.outcome("/voids", &key, &body);
    let asked = async {
        acquirer.until(|book| book["operations"].as_array().unwrap().len() == 2).await;
        acquirer.ask(&key).await.expect(200).json()
    };
    let (voided, asked) = tokio::join!(voided, asked);
    assert_eq!((&voided, &asked), (&done(&key), &done(&key)));
    assert!(started.elapsed() >= Duration::from_millis(1000));
}

#[tokio::test]
async fn a_refusal_moves_nothing() {
    let acquirer = Acquirer::start().await;
    let payment = acquirer.authorize().await;
    acquirer.rules(json!([{ "fault": "refuse" }])).await;
    for (path, body) in [
        ("/authorizations", authorization(card::VISA)),
        ("/captures", part(&payment, 10)),
        ("/refunds", part(&payment, 10)),
        ("/voids", part(&payment, 10)),
        ("/reversals", reversal(&payment)),
    ] {
        let key = key();
        let expected = match path {
            "/authorizations" => declined(&key, 8),
            _ => refused(&key, "a rule refuses it"),
        };
        for _ in 0..2 {
            assert_eq!(acquirer.outcome(path, &key, &body).await, expected, "{path}");
        }
        assert_eq!(acquirer.ask(&key).await.expect(200).json(), expected, "{path}");
    }
    let sums = json!({ "captured": 0, "voided": 0, "refunded": 0, "held": 995 });
    assert_eq!(acquirer.operation(&payment).await["sums"], sums);
}

#[tokio::test]
async fn a_signature_can_be_missing_or_wrong() {
    let acquirer = Acquirer::start().await;
    let payment = acquirer.authorize().await;
    acquirer.rules(json!([{ "next": 1, "fault": "unsigned" }])).await;
    acquirer.rules(json!([{ "next": 1, "fault": "wrong-signature" }])).await;
    let mut signatures = Vec::new();
    for _ in 0..3 {
        let (key, body) = (key(), part(&payment, 10));
        let call = Call::post("/captures", &key, &body);
        let answer = acquirer.attempt(&call).await.unwrap().expect(200);
        assert_eq!(answer.json(), done(&key));
        signatures.push(answer.header("acquirer-signature").map(str::to_owned));
        if signatures.len() == 3 {
            call.check_signature(&answer);
        }
    }
    assert_eq!(signatures[0], None);
    let wrong = signatures[1].as_deref().unwrap();
    assert!(wrong.ends_with(&format!(",v1={}", "0".repeat(64))), "{wrong}");
    assert!(signatures[2].is_some());
}

#[tokio::test]
async fn a_seed_chooses_the_same_faults_again() {
    let faulty = async |seed: &str| {
        let acquirer = Acquirer::with(&[("DEMO_ACQUIRER_SEED", seed)]).await;
        acquirer.rules(json!([{ "probability": 0.5, "fault": "500" }])).await;
        let mut faulty = Vec::new();
        for _ in 0..32 {
            faulty.push(acquirer.ask(&key()).await.status == 500);
        }
        faulty
    };
    let first = faulty("7").await;
    assert!(first.contains(&true) && first.contains(&false));
    assert_eq!(faulty("7").await, first);
    assert_ne!(faulty("8").await, first);
}

#[tokio::test]
async fn rules_end_when_they_are_deleted() {
    let acquirer = Acquirer::start().await;
    acquirer.rules(json!([{ "kind": "question", "fault": "500" }])).await;
    for _ in 0..3 {
        let _ = acquirer.ask(&key()).await.expect(500);
    }
    let _ = acquirer.control(Method::DELETE, "/faults", &Value::Null, 204).await;
    let _ = acquirer.ask(&key()).await.expect(404);
}

#[tokio::test]
async fn a_wrong_rule_is_422() {
    let acquirer = Acquirer::start().await;
    let many = vec![json!({ "fault": "drop" }); 101];
    for rules in [
        json!([{ "fault": "explode" }]),
        json!([{ "kind": "payment", "fault": "drop" }]),
        json!([{ "kind": "question", "fault": "refuse" }]),
        json!([{ "kind": "capture", "fault": "twice" }]),
        json!([{ "probability": 2, "fault": "drop" }]),
        json!([{ "fault": "drop", "times": 1 }]),
        json!({ "fault": "drop" }),
        json!(many),
    ] {
        let _ = acquirer.control(Method::POST, "/faults", &rules, 422).await;
    }
    let _ = acquirer.ask(&key()).await.expect(404);
}
