//! `Idempotency-Key`: repeated requests have one effect and one answer.

use blackbox::{
    http::Answer,
    payments::{Card, Merchant, Move, Refusal as _, Service, Transaction, email, minimal},
};
use futures_util::future::join_all;
use reqwest::Method;
use serde_json::json;
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

fn key() -> String {
    format!("test {}", Uuid::new_v4())
}

async fn reserved(service: &Service) -> (Merchant, Transaction) {
    let merchant = service.merchant().await;
    let transaction = merchant.pay("EUR", 1000).await;
    (merchant, transaction)
}

async fn capture_once(transaction: &Transaction, key: &str, amount: i64) -> Answer {
    let path = transaction.path_of(Move::Capture);
    transaction.app.post_once(key, &path, &json!({ "amount": amount })).await
}

fn is_replayed(answer: &Answer) -> bool {
    answer.header("idempotent-replayed") == Some("true")
}

/// Checks that the second answer equals the first one and is marked as replayed.
#[track_caller]
fn is_repeat(first: &Answer, second: &Answer) {
    assert!(!is_replayed(first), "{first:?}");
    assert!(is_replayed(second), "{second:?}");
    assert_eq!((first.status, first.text()), (second.status, second.text()));
    assert_eq!(first.header("content-type"), second.header("content-type"));
}

#[tokio::test]
async fn a_repeat_has_no_effect_and_gets_the_first_answer_again() {
    let service = Service::any().await;
    let (_, transaction) = reserved(&service).await;
    let key = key();
    let first = capture_once(&transaction, &key, 100).await.expect(201);
    transaction.capture(1).await;
    is_repeat(&first, &capture_once(&transaction, &key, 100).await);
    assert_eq!(transaction.fetch().await["capturedAmount"], 101);
}

#[tokio::test]
async fn a_repeat_may_add_a_slash_to_the_path() {
    let service = Service::any().await;
    let (_, transaction) = reserved(&service).await;
    let key = key();
    let first = capture_once(&transaction, &key, 100).await.expect(201);
    let path = format!("{}/", transaction.path_of(Move::Capture));
    let second = transaction.app.post_once(&key, &path, &json!({ "amount": 100 })).await;
    is_repeat(&first, &second);
}

#[tokio::test]
async fn without_a_key_the_same_request_is_another_one() {
    let service = Service::any().await;
    let (_, transaction) = reserved(&service).await;
    transaction.capture(100).await;
    transaction.capture(100).await;
    let first = capture_once(&transaction, &key(), 100).await.expect(201);
    let second = capture_once(&transaction, &key(), 100).await.expect(201);
    assert!(!is_replayed(&first) && !is_replayed(&second));
    assert_eq!(transaction.fetch().await["capturedAmount"], 400);
}

#[tokio::test]
async fn every_post_with_credentials_takes_a_key() {
    let service = Service::any().await;
    let (merchant, transaction) = reserved(&service).await;
    let other = service.app().await;
    let repeat = json!({ "transactionId": transaction.id, "currency": "EUR", "amount": 5 });
    for (path, body) in [
        ("/merchants".to_owned(), minimal()),
        (merchant.path("/users"), json!({ "email": email() })),
        (merchant.path("/apps"), json!({ "appId": other.id })),
        (merchant.path("/transactions"), repeat),
        (merchant.path("/cards"), json!({ "transactionId": transaction.id })),
        (transaction.path_of(Move::Capture), json!({ "amount": 100 })),
        (transaction.path_of(Move::Refund), json!({ "amount": 50 })),
        (transaction.path_of(Move::Void), json!({ "amount": 900 })),
    ] {
        println!("{path}");
        let key = key();
        let first = merchant.app.post_once(&key, &path, &body).await.expect(201);
        is_repeat(&first, &merchant.app.post_once(&key, &path, &body).await);
    }
    let app = &merchant.app;
    assert_eq!(app.list(&app.merchants("?limit=10")).await.len(), 2);
    assert_eq!(merchant.list("/transactions?limit=10").await.len(), 2);
    assert_eq!(transaction.fetch().await["trail"].as_array().unwrap().len(), 3);
}

#[tokio::test]
async fn keys_without_credentials_are_ignored() {
    let service = Service::any().await;
    let key = key();
    let create = async || {
        let request = service.request(Method::POST, "/apps").header("idempotency-key", &key);
        request.json(&json!({ "name": "twice" })).send().await.expect(201)
    };
    let (first, second) = (create().await, create().await);
    assert_ne!(first.json()["app"]["id"], second.json()["app"]["id"]);
    assert!(!is_replayed(&second));
}

#[tokio::test]
async fn another_request_under_the_same_key_is_422_and_has_no_effect() {
    let service = Service::any().await;
    let (merchant, transaction) = reserved(&service).await;
    let key = key();
    let _ = capture_once(&transaction, &key, 100).await.expect(201);
    let other = merchant.pay("EUR", 1000).await;
    for (path, body) in [
        (transaction.path_of(Move::Capture), json!({ "amount": 101 })),
        (transaction.path_of(Move::Capture), json!({ "amount": 100, "currency": "EUR" })),
        // Requests that would fail are rejected in the same way.
        (transaction.path_of(Move::Capture), json!({})),
        (transaction.path_of(Move::Capture), json!({ "amount": 2000 })),
        (transaction.path_of(Move::Refund), json!({ "amount": 100 })),
        (transaction.path_of(Move::Void), json!({ "amount": 100 })),
        (other.path_of(Move::Capture), json!({ "amount": 100 })),
        ("/merchants".to_owned(), minimal()),
    ] {
        let answer = merchant.app.post_once(&key, &path, &body).await;
        answer.refused(422, "idempotency_key_reused");
    }
    assert_eq!(transaction.fetch().await["trail"].as_array().unwrap().len(), 1);
    assert_eq!(other.fetch().await["pendingAmount"], 1000);
}

#[tokio::test]
async fn the_same_key_of_two_apps_is_two_keys() {
    let service = Service::any().await;
    let (merchant, transaction) = reserved(&service).await;
    let app = service.app().await;
    merchant.add(&app).await;
    let key = key();
    let first = capture_once(&transaction, &key, 100).await.expect(201);
    let second = capture_once(&transaction.by(&app), &key, 200).await.expect(201);
    assert!(!is_replayed(&first) && !is_replayed(&second));
    assert_eq!(transaction.fetch().await["capturedAmount"], 300);
    is_repeat(&second, &capture_once(&transaction.by(&app), &key, 200).await);
}

#[tokio::test]
async fn fifty_at_once_have_one_effect_and_get_one_answer() {
    let service = Service::any().await;
    let (merchant, transaction) = reserved(&service).await;
    let key = key();
    let answers = join_all((0..50).map(|_| capture_once(&transaction, &key, 10))).await;
    let first = answers.iter().find(|answer| !is_replayed(answer)).unwrap();
    assert_eq!(first.status, 201, "{first:?}");
    assert_eq!(answers.iter().filter(|answer| !is_replayed(answer)).count(), 1);
    for answer in &answers {
        assert_eq!((answer.status, answer.text()), (first.status, first.text()));
    }
    assert_eq!(transaction.fetch().await["capturedAmount"], 10);

    let repeat = json!({ "transactionId": transaction.id, "currency": "EUR", "amount": 5 });
    let (path, key) = (merchant.path("/transactions"), self::key());
    let create = || merchant.app.post_once(&key, &path, &repeat);
    let answers = join_all((0..50).map(|_| create())).await;
    let text = answers[0].text();
    assert!(answers.iter().all(|answer| answer.status == 201 && answer.text() == text));
    assert_eq!(merchant.list("/transactions?limit=10").await.len(), 2);
}

#[tokio::test]
async fn a_decline_is_kept_and_made_once() {
    let service = Service::any().await;
    let merchant = service.merchant().await;
    let original = merchant.pay_with(Card::LATER_EMPTY, "EUR", 100).await;
    let body = json!({ "transactionId": original.id, "currency": "EUR", "amount": 100 });
    let (path, key) = (merchant.path("/transactions"), key());
    let first = merchant.app.post_once(&key, &path, &body).await;
    let failed = first.declined(7);
    let second = merchant.app.post_once(&key, &path, &body).await;
    is_repeat(&first, &second);
    assert_eq!(merchant.ids("/transactions?limit=10").await, [failed, original.id]);
}

#[tokio::test]
async fn other_failures_are_not_kept() {
    let service = Service::any().await;
    let (merchant, transaction) = reserved(&service).await;
    let (app, key) = (&merchant.app, key());
    let path = transaction.path_of(Move::Capture);
    app.post_once(&key, &path, &json!({})).await.names(&["amount"]);
    app.post_once(&key, &path, &json!({ "amount": 1001 })).await.names(&["amount"]);
    let nowhere = "/transactions/ffffffffffffffffffffffff/captures";
    let _ = app.post_once(&key, nowhere, &json!({ "amount": 1 })).await.expect(404);
    let request = app.request(Method::POST, &path).header("idempotency-key", &key);
    let _ = request.body_of("text/plain", "x").send().await.expect(415);
    let first = capture_once(&transaction, &key, 100).await.expect(201);
    is_repeat(&first, &capture_once(&transaction, &key, 100).await);
}

#[tokio::test]
async fn a_key_is_1_to_255_printable_characters() {
    let service = Service::any().await;
    let (_, transaction) = reserved(&service).await;
    let long = |length: usize| format!("{}{}", Uuid::new_v4(), "x".repeat(length - 36));
    for (amount, good) in [(1, long(255)), (2, format!("!~ \"{}\"", Uuid::new_v4()))] {
        let first = capture_once(&transaction, &good, amount).await.expect(201);
        is_repeat(&first, &capture_once(&transaction, &good, amount).await);
    }
    let before = transaction.fetch().await;
    for bad in ["", &long(256), "\u{e9}", "tab\tinside"] {
        let answer = capture_once(&transaction, bad, 3).await.expect(400);
        assert!(answer.json().is_array(), "{answer:?}");
    }
    assert_eq!(transaction.fetch().await, before);
}

#[tokio::test]
async fn access_is_checked_again_before_an_answer_is_repeated() {
    let service = Service::any().await;
    let (merchant, transaction) = reserved(&service).await;
    let app = service.app().await;
    merchant.add(&app).await;
    let key = key();
    let first = capture_once(&transaction.by(&app), &key, 100).await.expect(201);
    let path = merchant.path(&format!("/apps/{}", app.id));
    let _ = merchant.app.delete(&path).await.expect(204);
    let refused = capture_once(&transaction.by(&app), &key, 100).await;
    refused.refused(403, "forbidden");
    merchant.add(&app).await;
    is_repeat(&first, &capture_once(&transaction.by(&app), &key, 100).await);
}

#[tokio::test]
async fn a_key_outlives_a_restart() {
    let service = Service::with(&[]).await;
    let (_, transaction) = reserved(&service).await;
    let key = key();
    let first = capture_once(&transaction, &key, 100).await.expect(201);
    let service = service.kill().await.start().await;
    let transaction = transaction.by(&transaction.app.at(&service));
    is_repeat(&first, &capture_once(&transaction, &key, 100).await);
    assert_eq!(transaction.fetch().await["capturedAmount"], 100);
}

#[tokio::test]
async fn the_key_at_the_acquirer_is_derived_from_the_callers_key() {
    let service = Service::with(&[]).await;
    let (merchant, original) = reserved(&service).await;
    let (key, path) = (key(), merchant.path("/transactions"));
    let body = json!({ "transactionId": original.id, "currency": "EUR", "amount": 100 });
    let _ = merchant.app.post_once(&key, &path, &body).await.expect(201);
    let digest = Sha256::new().chain_update(&merchant.app.id).chain_update(&key).finalize();
    let place = service.stop().await;
    let digest = place.bytes(&hex::encode(digest));
    let with = |key| place.change(&format!("UPDATE transactions SET test = test WHERE {key}"));
    assert_eq!(with(format!("acquirer_key = {digest}")), 1);
    assert_eq!(with("acquirer_key IS NULL".to_owned()), 1, "the payment without a key");
}
