//! Authorizations: test cards, stored cards, and malformed bodies.

use blackbox::acquirer::{Acquirer, Call, authorization, card, id, key};
use serde_json::{Value, json};

use crate::declined;

const DECLINED: [(&str, u64); 14] = [
    ("4100000000000027", 2),
    ("4100000000000035", 3),
    ("4100000000000043", 4),
    ("4100000000000050", 5),
    ("4100000000000068", 6),
    ("4100000000000076", 7),
    ("4100000000000084", 8),
    ("4100000000000092", 9),
    ("4100000000000100", 10),
    ("4100000000000118", 11),
    ("4100000000000126", 12),
    ("4100000000000258", 25),
    ("4100000000000290", 29),
    (card::UNKNOWN, 29),
];

#[tokio::test]
async fn each_test_card_has_its_outcome() {
    let acquirer = Acquirer::start().await;
    for number in [card::VISA, card::MASTERCARD, card::LATER_EMPTY] {
        let key = key();
        let outcome = acquirer.outcome("/authorizations", &key, &authorization(number)).await;
        let reference = format!("card-{}", &number[12..]);
        let expected = json!({
            "key": key, "status": "approved", "cardReference": reference, "threeDSecure": "none",
        });
        assert_eq!(outcome, expected);
        assert_eq!(acquirer.ask(&key).await.expect(200).json(), outcome);
    }
    let without_check_digit = [("4100000000000000", 3)];
    for (number, code) in DECLINED.into_iter().chain(without_check_digit) {
        let key = key();
        let outcome = acquirer.outcome("/authorizations", &key, &authorization(number)).await;
        assert_eq!(outcome, declined(&key, code), "{number}");
        assert_eq!(acquirer.ask(&key).await.expect(200).json(), outcome);
    }
}

#[tokio::test]
async fn an_expired_card_is_declined_with_code_6() {
    let acquirer = Acquirer::start().await;
    let mut body = authorization(card::VISA);
    body["card"]["expiry"] = json!({ "month": 12, "year": 2025 });
    let key = key();
    assert_eq!(acquirer.outcome("/authorizations", &key, &body).await, declined(&key, 6));
}

#[tokio::test]
async fn a_card_that_demands_3d_secure_needs_a_return_url() {
    let acquirer = Acquirer::start().await;
    for number in [card::FULL, card::ATTEMPT, card::FAILS] {
        let key = key();
        let outcome = acquirer.outcome("/authorizations", &key, &authorization(number)).await;
        assert_eq!(outcome, declined(&key, 30));
    }
}

#[tokio::test]
async fn an_amount_of_0_checks_the_card_and_holds_nothing() {
    let acquirer = Acquirer::start().await;
    let mut body = authorization(card::VISA);
    body["amount"] = json!(0);
    let checked = key();
    let outcome = acquirer.outcome("/authorizations", &checked, &body).await;
    assert_eq!(outcome["status"], "approved");
    let key = key();
    let outcome = acquirer.outcome("/captures", &key, &crate::part(&checked, 1)).await;
    assert_eq!(outcome, crate::refused(&key, "exceeds the authorized amount"));
}

/// The body of a merchant who uses a card again.
fn again(reference: &Value) -> Value {
    json!({
        "merchantId": id(),
        "initiator": "merchant",
        "currency": "EUR",
        "amount": 500,
        "cardReference": reference,
    })
}

#[tokio::test]
async fn a_merchant_pays_again_with_the_reference_of_a_card() {
    let acquirer = Acquirer::start().await;
    for (number, code) in [(card::VISA, None), (card::LATER_EMPTY, Some(7))] {
        let first = acquirer.outcome("/authorizations", &key(), &authorization(number)).await;
        let key = key();
        let body = again(&first["cardReference"]);
        let outcome = acquirer.outcome("/authorizations", &key, &body).await;
        match code {
            None => assert_eq!(outcome["status"], "approved"),
            Some(code) => assert_eq!(outcome, declined(&key, code)),
        }
    }
    let key = key();
    let outcome = acquirer.outcome("/authorizations", &key, &again(&json!("unknown"))).await;
    assert_eq!(outcome, declined(&key, 2));
}

#[tokio::test]
async fn a_malformed_body_is_400_and_reaches_no_book() {
    let acquirer = Acquirer::start().await;
    for (pointer, value) in [
        ("/merchantId", json!("6b016ea0")),
        ("/merchantId", Value::Null),
        ("/initiator", json!("robot")),
        ("/initiator", json!("merchant")),
        ("/currency", json!("eur")),
        ("/currency", json!("ABC")),
        ("/amount", json!(-1)),
        ("/amount", json!(9.95)),
        ("/amount", json!("995")),
        ("/amount", json!(1_000_000_000_001_u64)),
        ("/descriptor", json!("")),
        ("/descriptor", json!("a text of 23 characters")),
        ("/descriptor", json!("Café")),
        ("/card", Value::Null),
        ("/card/number", json!("4100 0000 0000 0001")),
        ("/card/number", json!("41000000000")),
        ("/card/code", json!("12")),
        ("/card/code", json!(123)),
        ("/card/expiry/month", json!(13)),
        ("/card/expiry/month", json!(0)),
        ("/card/expiry/year", json!(66)),
    ] {
        let mut body = authorization(card::VISA);
        *body.pointer_mut(pointer).unwrap() = value;
        let answer = acquirer.post("/authorizations", &key(), &body).await.expect(400);
        let error = answer.json()["error"].as_str().unwrap().to_owned();
        assert!(!error.contains(card::VISA), "{error}");
    }
    for (name, value) in [
        ("cardReference", json!("card-0001")),
        ("returnUrl", json!("javascript:alert(1)")),
        ("returnUrl", json!("/challenge")),
        ("returnUrl", json!(format!("https://pay.example/{}", "x".repeat(2048)))),
        ("returnUrl", json!("https://pay.example/\r\nSet-Cookie: a=b")),
    ] {
        let mut body = authorization(card::VISA);
        body[name] = value;
        let _ = acquirer.post("/authorizations", &key(), &body).await.expect(400);
    }
    for body in ["", "{", "[]", "{} {}", "null", "\u{feff}{}"] {
        let call =
            Call { body: body.to_owned(), ..Call::post("/authorizations", &key(), &Value::Null) };
        let _ = acquirer.send(&call.signed()).await.expect(400);
    }
    assert_eq!(acquirer.operations().await, [] as [Value; 0]);
}

#[tokio::test]
async fn unknown_members_are_ignored() {
    let acquirer = Acquirer::start().await;
    let mut body = authorization(card::VISA);
    body["later"] = json!({ "version": 2 });
    let outcome = acquirer.outcome("/authorizations", &key(), &body).await;
    assert_eq!(outcome["status"], "approved");
}
