//! Keys, card numbers and security codes are never logged or stored. Only the answer that creates
//! a key shows it.

use std::{fs, path::Path};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use blackbox::{
    http::Answer,
    payments::{Card, Link, Merchant, Service, minimal},
};
use reqwest::Method;
use serde_json::json;

/// Charged, declined and unknown cards. No number is a part of an id.
const NUMBERS: [&str; 5] = [
    "4100000000000207",
    "4100000000000008",
    "4100000000000030",
    "9876543210987654",
    "4000056655665556",
];

/// Ways in which the security code 739 could be written to a log or an answer.
const CODES: [&str; 7] =
    ["\"739\"", "\\\"739\\\"", "=739&", "=739\"", "code: 739", "code=739", "code\":739"];

/// Sends requests with these cards to the payment endpoints, and returns the answers.
async fn use_cards(service: &Service, merchant: &Merchant) -> Vec<Answer> {
    let mut answers = Vec::new();
    for number in NUMBERS {
        let mut body = merchant.payment(Card(number), "EUR", 1000);
        answers.push(merchant.charge(&body).await);
        let form = format!(
            "key={}&currency=EUR&amount=1000&card[number]={number}&card[expiry][month]=2&card[expiry][year]=2048&card[code]=739",
            merchant.key
        );
        for media in ["application/x-www-form-urlencoded", "text/plain", "application/json"] {
            let request = service.pos(Method::POST, "/transactions");
            answers.push(request.body_of(media, form.as_str()).send().await);
        }
        let card = json!({ "key": merchant.key, "card": Card(number).details() });
        answers.push(service.pay("/cards", &card).await);
        body["card"]["expiry"]["year"] = 2020.into();
        answers.push(merchant.charge(&body).await);
        body["card"]["number"] = format!("{number}{number}").into();
        answers.push(merchant.charge(&body).await);
        body["card"]["number"] = json!({ "of": number });
        body["amount"] = number.into();
        answers.push(merchant.charge(&body).await);
        let query = format!("/transactions?number={number}&code=739");
        answers.push(service.pos(Method::POST, &query).send().await);
    }
    answers
}

/// Uses these cards on the payment page, and returns the answers. Covers payments, typing errors,
/// challenges and returning to the page.
async fn use_cards_on_the_page(service: &Service, merchant: &Merchant) -> Vec<Answer> {
    let mut answers = Vec::new();
    let link = Link::to(merchant).with("text", "Two mugs").with("recurring", "y");
    for number in NUMBERS {
        let form = service.open(&link).await;
        for body in [
            format!("number={number}&expiry=13%2F48&code=739"),
            format!("number={number}&expiry=02%2F48&code=739&code=739"),
            format!("number={number}&expiry=02%2F48&code=739%FF"),
            format!("number={number}{number}&expiry=02%2F48&code=739"),
            format!("number=1&expiry={number}&code=739{number}"),
            format!("number={number}&expiry=02+%2F+48&code=739"),
            format!("number={number}&expiry=02+%2F+48&code=739"),
        ] {
            answers.push(service.send_form(&form, &body).await);
            answers.push(service.show(&form).await);
        }
        let text = service.pos(Method::POST, &form).body_of("text/plain", number);
        answers.push(text.send_undescribed().await);
        let challenge = form.replace("/?", "/challenge?");
        for answer in [number, "confirm"] {
            let body = format!("answer={answer}&number={number}&code=739");
            answers.push(service.send_form(&challenge, &body).await);
            answers.push(service.show(&form).await);
        }
    }
    let made = merchant.list("/transactions?limit=100").await;
    assert!(made.iter().any(|made| made["tds"] == "full"), "no payment was challenged");
    answers
}

/// Reads all files of a directory and its subdirectories.
fn files(directory: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let mut found = Vec::new();
    for path in entries {
        if path.is_dir() {
            found.extend(files(&path));
        } else if path.is_file() {
            found.push((path.display().to_string(), fs::read(&path).unwrap()));
        }
    }
    found
}

fn contains(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

#[tokio::test]
async fn no_secret_is_logged_stored_or_shown() {
    let service = Service::with(&[
        ("RUST_LOG", "trace"),
        ("LOG_FORMAT", "json"),
        ("METRICS_TOKEN", "metrics-token-8c1f"),
    ])
    .await;
    let merchant = service.merchant().await;
    let app = &merchant.app;
    let mut answers = use_cards(&service, &merchant).await;
    answers.extend(use_cards_on_the_page(&service, &merchant).await);
    let original = merchant.pay_with(Card::LATER_EMPTY, "EUR", 1000).await;
    original.capture(100).await;
    let repeat = json!({ "transactionId": original.id, "currency": "EUR", "amount": 1 });
    answers.push(merchant.post("/transactions", &repeat).await.expect(400));
    answers.push(app.post_once("key", "/merchants", &minimal()).await.expect(201));
    let till = json!({ "name": "till" });
    let created = app.post_once("till", "/apps/me/keys", &till).await.expect(201).json();
    let further = created["key"]["key"].as_str().unwrap();
    let _ = service.request(Method::GET, "/me").basic_auth("", further).send().await.expect(200);
    answers.push(app.post_once("till", "/apps/me/keys", &till).await.expect(201));
    answers.push(app.get("/apps/me/keys?limit=10").await.expect(200));
    answers.push(app.post("/merchants", &json!({ "name": [app.key], "email": app.key })).await);
    answers.push(app.get(&format!("/merchants/{}", app.key)).await.expect(404));
    let wrong = service.request(Method::GET, "/me").basic_auth(&app.key, "");
    answers.push(wrong.send().await.expect(401));
    for list in ["/apps?limit=10", "/users?limit=10", "/transactions?limit=100", "/lines?limit=9"] {
        answers.push(merchant.get(list).await.expect(200));
    }
    let scrape = service.request(Method::GET, "/metrics");
    answers.push(scrape.header("authorization", "Bearer metrics-token-8c1f").send().await);
    let (last, id) = (service.request(Method::GET, "/health"), "the-last-request");
    let _ = last.header("x-request-id", id).send().await.expect(200);
    service.process().logged(|line| line.contains(id)).await;

    let credentials = BASE64_STANDARD.encode(format!(":{}", app.key));
    let of_further = BASE64_STANDARD.encode(format!(":{further}"));
    let mut secrets = vec![app.key.as_str(), &credentials, further, &of_further];
    secrets.push("metrics-token-8c1f");
    secrets.extend(NUMBERS);
    let log = service.process().log();
    assert!(log.len() > 50, "the log has only {} lines at level trace", log.len());
    for secret in secrets.iter().chain(&CODES) {
        let line = log.iter().find(|line| line.contains(secret));
        assert_eq!(line, None, "{secret} is logged");
        let answer = answers.iter().find(|answer| answer.text().contains(secret));
        assert!(answer.is_none(), "{secret} is in {answer:?}");
    }
    for (name, bytes) in files(service.data().data()) {
        let stored = secrets.iter().find(|secret| contains(&bytes, secret));
        assert_eq!(stored, None, "in {name}");
    }
    let place = service.stop().await;
    for (name, bytes) in files(place.data()) {
        let stored = secrets.iter().find(|secret| contains(&bytes, secret));
        assert_eq!(stored, None, "in {name}");
    }
}

#[tokio::test]
async fn only_creating_an_app_returns_its_key() {
    let service = Service::any().await;
    let merchant = service.merchant().await;
    let (app, other) = (&merchant.app, service.app().await);
    merchant.add(&other).await;
    let transaction = merchant.pay("EUR", 1000).await;
    transaction.capture(10).await;
    for path in [
        "/me".to_owned(),
        "/apps/me/keys?limit=10".to_owned(),
        app.merchants("?limit=10"),
        merchant.path(""),
        merchant.path("/apps?limit=10"),
        merchant.path("/users?limit=10"),
        merchant.path("/lines?limit=10"),
        merchant.path("/transactions?limit=10"),
        transaction.path(),
        "/metrics".to_owned(),
    ] {
        let answer = app.request(Method::GET, &path).send().await;
        for key in [&app.key, &other.key] {
            assert!(!answer.text().contains(key.as_str()), "{answer:?}");
        }
    }
}
