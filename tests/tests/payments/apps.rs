//! Apps and their credentials.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use blackbox::{http::Answer, payments::Service};
use jiff::Timestamp;
use reqwest::Method;
use serde_json::{Value, json};

async fn create(service: &Service, body: &Value) -> Value {
    let answer = service.request(Method::POST, "/apps").json(body).send().await.expect(201);
    answer.json()["app"].clone()
}

async fn me_as(service: &Service, credential: impl AsRef<[u8]>) -> Answer {
    service.request(Method::GET, "/me").header("authorization", credential).send().await
}

fn basic(text: &str) -> String {
    format!("Basic {}", BASE64_STANDARD.encode(text))
}

#[tokio::test]
async fn creating_an_app_returns_its_key_once() {
    let service = Service::any().await;
    let app = service.app_named("Corner shop").await;
    let identity = app.get("/me").await.expect(200);
    let shown = identity.json()["identity"].clone();
    assert_eq!((&shown["id"], &shown["name"]), (&json!(app.id), &json!("Corner shop")));
    assert!(!identity.text().contains(&app.key));
}

#[tokio::test]
async fn the_name_of_an_app_is_optional() {
    let service = Service::any().await;
    for body in [json!({}), json!([]), json!({ "name": null }), json!({ "name": "" })] {
        assert_eq!(create(&service, &body).await["name"], Value::Null, "{body}");
    }
    let answer = service.request(Method::POST, "/apps").send().await.expect(201);
    assert_eq!(answer.json()["app"]["name"], Value::Null);
    let named = create(&service, &json!({ "name": "Café ☕ \"quoted\"" })).await;
    assert_eq!(named["name"], "Café ☕ \"quoted\"");
}

#[tokio::test]
async fn every_app_has_a_unique_id_and_key() {
    let service = Service::any().await;
    let (first, second) = (service.app_named("same").await, service.app_named("same").await);
    assert_ne!(first.id, second.id);
    assert_ne!(first.key, second.key);
    assert!(first.id < second.id, "ids do not increase");
}

#[tokio::test]
async fn credentials_are_ignored_when_an_app_is_created() {
    let service = Service::any().await;
    for credential in [basic(":"), basic(":wrong"), "Basic".to_owned(), "Bearer x".to_owned()] {
        let request = service.request(Method::POST, "/apps").header("authorization", credential);
        let _ = request.json(&json!({})).send().await.expect(201);
    }
}

#[tokio::test]
async fn the_username_is_ignored() {
    let service = Service::any().await;
    let app = service.app().await;
    for username in ["", "somebody", "ünïcode", &app.id, &app.key] {
        let answer = me_as(&service, basic(&format!("{username}:{}", app.key))).await.expect(200);
        assert_eq!(answer.json()["identity"]["id"], app.id, "{username}");
    }
}

#[tokio::test]
async fn the_scheme_may_be_written_in_any_case() {
    let service = Service::any().await;
    let app = service.app().await;
    for scheme in ["basic", "BASIC", "bAsIc"] {
        let credential = basic(&format!(":{}", app.key)).replace("Basic", scheme);
        let _ = me_as(&service, credential).await.expect(200);
    }
}

#[tokio::test]
async fn missing_malformed_or_wrong_credentials_are_401() {
    let service = Service::any().await;
    let app = service.app().await;
    let key = &app.key;
    let whole = basic(&format!(":{key}"));
    let merchant = app.merchant("EUR").await;
    for (label, credential) in [
        ("nothing", String::new()),
        ("no scheme", whole.replace("Basic ", "")),
        ("the scheme alone", "Basic".to_owned()),
        ("the scheme and a space", "Basic ".to_owned()),
        ("another scheme", whole.replace("Basic", "Bearer")),
        ("the key as it is", format!("Basic {key}")),
        ("no base64", "Basic !!!!".to_owned()),
        ("cut off", whole[..whole.len() - 6].to_owned()),
        ("no colon", basic(key)),
        ("the key as the username", basic(&format!("{key}:"))),
        ("no key", basic(":")),
        ("another key", basic(":4b1f0a4e-6f0f-4d53-9f0c-0d6f8c2a9b11")),
        ("the public key of a merchant", basic(&format!(":{}", merchant.key))),
        ("the id of the app", basic(&format!(":{}", app.id))),
        ("a space before the key", basic(&format!(": {key}"))),
        ("a space after the key", basic(&format!(":{key} "))),
        ("two colons", basic(&format!("::{key}"))),
        ("the key without hyphens", basic(&format!(":{}", key.replace('-', "")))),
        ("the key in upper case", basic(&format!(":{}", key.to_uppercase()))),
    ] {
        println!("{label}");
        me_as(&service, credential).await.refused(401, "unauthenticated");
    }
    me_as(&service, b"Basic \xff").await.refused(401, "unauthenticated");
    service.fetch("/me").await.refused(401, "unauthenticated");
}

#[tokio::test]
async fn every_path_except_apps_requires_the_key() {
    let service = Service::any().await;
    let id = "6b016ea00000000000000001";
    for (method, path) in [
        (Method::GET, "/me".to_owned()),
        (Method::POST, "/apps/me/keys".to_owned()),
        (Method::GET, "/apps/me/keys?limit=1".to_owned()),
        (Method::DELETE, format!("/apps/me/keys/{id}")),
        (Method::POST, "/merchants".to_owned()),
        (Method::GET, format!("/identities/{id}/merchants?limit=1")),
        (Method::PUT, format!("/merchants/{id}")),
        (Method::GET, format!("/merchants/{id}")),
        (Method::POST, format!("/merchants/{id}/users")),
        (Method::GET, format!("/merchants/{id}/users?limit=1")),
        (Method::DELETE, format!("/merchants/{id}/users/{id}")),
        (Method::POST, format!("/merchants/{id}/apps")),
        (Method::GET, format!("/merchants/{id}/apps?limit=1")),
        (Method::DELETE, format!("/merchants/{id}/apps/{id}")),
        (Method::GET, format!("/merchants/{id}/lines?limit=1")),
        (Method::GET, format!("/lines/{id}")),
        (Method::POST, format!("/merchants/{id}/transactions")),
        (Method::GET, format!("/merchants/{id}/transactions?limit=1")),
        (Method::GET, format!("/transactions/{id}")),
        (Method::POST, format!("/transactions/{id}/captures")),
        (Method::POST, format!("/transactions/{id}/refunds")),
        (Method::POST, format!("/transactions/{id}/voids")),
        (Method::POST, format!("/merchants/{id}/cards")),
        (Method::GET, format!("/cards/{id}")),
    ] {
        let answer = service.request(method, &path).send().await;
        answer.refused(401, "unauthenticated");
        assert!(answer.header("www-authenticate").unwrap().starts_with("Basic"), "{answer:?}");
    }
}

#[tokio::test]
async fn an_app_and_its_id_show_the_creation_time() {
    let service = Service::any().await;
    let app = service.app().await;
    let identity = app.get("/me").await.expect(200).json()["identity"].clone();
    let created: Timestamp = identity["created"].as_str().unwrap().parse().unwrap();
    let second = i64::from_str_radix(&app.id[..8], 16).unwrap();
    assert!((created.as_second() - second).abs() <= 1, "{identity}");
    assert_eq!(app.get("/me").await.json()["identity"], identity);
}
