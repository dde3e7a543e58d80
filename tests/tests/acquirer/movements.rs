//! Captures, refunds, voids and reversals.

use blackbox::acquirer::{Acquirer, authorization, card, id, key};
use serde_json::{Value, json};

use crate::{declined, done, part, refused, reversal};

const PATHS: [&str; 3] = ["/captures", "/refunds", "/voids"];

#[tokio::test]
async fn parts_of_an_amount_are_captured_refunded_and_voided() {
    let acquirer = Acquirer::start().await;
    let payment = acquirer.authorize().await;
    for (path, amount, reason) in [
        ("/refunds", 1, Some("exceeds the captured amount")),
        ("/captures", 996, Some("exceeds the authorized amount")),
        ("/captures", 400, None),
        ("/captures", 100, None),
        ("/voids", 496, Some("exceeds the authorized amount")),
        ("/voids", 300, None),
        ("/captures", 196, Some("exceeds the authorized amount")),
        ("/captures", 195, None),
        ("/voids", 1, Some("exceeds the authorized amount")),
        ("/refunds", 696, Some("exceeds the captured amount")),
        ("/refunds", 600, None),
        ("/refunds", 95, None),
        ("/refunds", 1, Some("exceeds the captured amount")),
    ] {
        let key = key();
        let outcome = acquirer.outcome(path, &key, &part(&payment, amount)).await;
        let expected = reason.map_or_else(|| done(&key), |reason| refused(&key, reason));
        assert_eq!(outcome, expected, "{path} {amount}");
        assert_eq!(acquirer.ask(&key).await.expect(200).json(), outcome);
    }
    let sums = json!({ "captured": 695, "voided": 300, "refunded": 695, "held": 0 });
    assert_eq!(acquirer.operation(&payment).await["sums"], sums);
}

#[tokio::test]
async fn only_an_approved_authorization_of_the_currency_moves() {
    let acquirer = Acquirer::start().await;
    let payment = acquirer.authorize().await;
    let declined = key();
    let body = authorization(card::UNKNOWN);
    let _ = acquirer.outcome("/authorizations", &declined, &body).await;
    let capture = key();
    let _ = acquirer.outcome("/captures", &capture, &part(&payment, 1)).await;
    for path in PATHS {
        for authorization in [&declined, &capture, &key()] {
            let key = key();
            let outcome = acquirer.outcome(path, &key, &part(authorization, 1)).await;
            assert_eq!(outcome, refused(&key, "the authorization is not approved"), "{path}");
        }
        let key = key();
        let mut body = part(&payment, 1);
        body["currency"] = json!("DKK");
        let outcome = acquirer.outcome(path, &key, &body).await;
        assert_eq!(outcome, refused(&key, "the authorization has another currency"), "{path}");
    }
}

#[tokio::test]
async fn a_malformed_body_is_400() {
    let acquirer = Acquirer::start().await;
    let payment = acquirer.authorize().await;
    for path in PATHS {
        for (name, value) in [
            ("authorization", json!("x")),
            ("authorization", json!(payment.to_uppercase())),
            ("transactionId", json!(key())),
            ("currency", json!("EURO")),
            ("amount", json!(0)),
            ("amount", json!(1_000_000_000_001_u64)),
            ("amount", Value::Null),
        ] {
            let mut body = part(&payment, 1);
            body[name] = value;
            let _ = acquirer.post(path, &key(), &body).await.expect(400);
        }
    }
    for body in [json!({ "authorization": payment }), json!({ "transactionId": id() })] {
        let _ = acquirer.post("/reversals", &key(), &body).await.expect(400);
    }
    assert_eq!(acquirer.operations().await.len(), 1);
}

#[tokio::test]
async fn a_reversal_releases_what_is_not_captured() {
    let acquirer = Acquirer::start().await;
    let payment = acquirer.authorize().await;
    let capture = key();
    let _ = acquirer.outcome("/captures", &capture, &part(&payment, 400)).await;
    for _ in 0..2 {
        let key = key();
        assert_eq!(acquirer.outcome("/reversals", &key, &reversal(&payment)).await, done(&key));
    }
    let sums = json!({ "captured": 400, "voided": 0, "refunded": 0, "held": 0 });
    assert_eq!(acquirer.operation(&payment).await["sums"], sums);
    let key = key();
    let outcome = acquirer.outcome("/captures", &key, &part(&payment, 1)).await;
    assert_eq!(outcome, refused(&key, "exceeds the authorized amount"));
    assert_eq!(acquirer.ask(&payment).await.expect(200).json()["status"], "approved");
}

#[tokio::test]
async fn a_reversal_closes_the_key_of_an_unseen_authorization() {
    let acquirer = Acquirer::start().await;
    let (payment, reverse) = (key(), key());
    let body = reversal(&payment);
    for _ in 0..2 {
        let outcome = acquirer.outcome("/reversals", &reverse, &body).await;
        assert_eq!(outcome, done(&reverse));
    }
    assert_eq!(acquirer.operation(&payment).await["kind"], "closed");
    let _ = acquirer.ask(&payment).await.expect(404);
    let body = authorization(card::VISA);
    let outcome = acquirer.outcome("/authorizations", &payment, &body).await;
    assert_eq!(outcome, declined(&payment, 12));
    assert_eq!(acquirer.operation(&payment).await["executed"], 0);
}

#[tokio::test]
async fn a_reversal_stops_an_authorization_in_progress() {
    let acquirer = Acquirer::start().await;
    acquirer.delay(1500).await;
    let payment = key();
    let body = authorization(card::VISA);
    let authorizing = acquirer.outcome("/authorizations", &payment, &body);
    let reversing = async {
        acquirer.until(|book| !book["operations"].as_array().unwrap().is_empty()).await;
        acquirer.delay(0).await;
        let key = key();
        assert_eq!(acquirer.outcome("/reversals", &key, &reversal(&payment)).await, done(&key));
    };
    let (outcome, ()) = tokio::join!(authorizing, reversing);
    assert_eq!(outcome, declined(&payment, 12));
}
