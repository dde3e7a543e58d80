//! The endpoints of apps: create, list, change, rotate and delete them.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use blackbox::{
    payments::{App, Receiver, Refusal as _, Service, Stopped, ids},
    postgres::Cluster,
};
use futures_util::future::join_all;
use serde_json::{Value, json};

const URL: &str = "https://shop.example/events";

async fn create(app: &App, body: &Value) -> Value {
    app.post("/webhooks", body).await.expect(201).json()["webhook"].clone()
}

fn path(webhook: &Value) -> String {
    format!("/webhooks/{}", webhook["id"].as_str().unwrap())
}

async fn fetch(app: &App, webhook: &Value) -> Value {
    app.get(&path(webhook)).await.expect(200).json()["webhook"].clone()
}

fn without_secret(webhook: &Value) -> Value {
    let mut webhook = webhook.clone();
    let secret = webhook.as_object_mut().unwrap().remove("secret").unwrap();
    assert!(secret.is_string(), "{secret}");
    webhook
}

#[tokio::test]
async fn a_webhook_is_created_listed_changed_and_deleted() {
    let service = Service::any().await;
    let app = service.app().await;
    let all = create(&app, &json!({ "url": URL })).await;
    assert_eq!(
        (&all["url"], &all["types"], &all["description"], &all["enabled"]),
        (&json!(URL), &json!([]), &Value::Null, &json!(true))
    );
    let body = json!({
        "url": "HTTPS://Shop.Example",
        "types": ["payout.booked", "transaction.captured", "payout.booked"],
        "description": "Books",
    });
    let some = create(&app, &body).await;
    assert_eq!(some["url"], "https://shop.example/");
    assert_eq!(some["types"], json!(["transaction.captured", "payout.booked"]));
    assert_eq!(some["description"], "Books");

    assert_eq!(fetch(&app, &all).await, without_secret(&all));
    let list = app.list("/webhooks?limit=10").await;
    assert_eq!(list, [without_secret(&some), without_secret(&all)]);
    app.settle("/webhooks?").await;
    let newer = format!("/webhooks?limit=10&after={}", all["id"].as_str().unwrap());
    assert_eq!(ids(&app.list(&newer).await), [some["id"].as_str().unwrap()]);
    let stranger = service.app().await;
    assert!(stranger.list("/webhooks?limit=10").await.is_empty());

    let change = json!({ "url": "https://shop.example/new", "types": [], "enabled": false });
    let _ = app.put(&path(&some), &change).await.expect(204);
    let changed = fetch(&app, &some).await;
    assert_eq!((&changed["url"], &changed["types"]), (&change["url"], &change["types"]));
    assert_eq!(
        (&changed["enabled"], &changed["disabledReason"]),
        (&json!(false), &json!("request"))
    );
    assert_eq!(changed["description"], "Books");
    let _ = app.put(&path(&some), &json!({ "enabled": true })).await.expect(204);
    let enabled = fetch(&app, &some).await;
    assert_eq!((&enabled["enabled"], &enabled["disabledReason"]), (&json!(true), &Value::Null));
    assert_eq!(enabled["url"], change["url"]);
    let _ = app.put(&path(&some), &json!({})).await.expect(204);
    assert_eq!(fetch(&app, &some).await, enabled);

    let _ = app.delete(&path(&some)).await.expect(204);
    app.delete(&path(&some)).await.refused(404, "not_found");
    app.get(&path(&some)).await.refused(404, "not_found");
    assert_eq!(ids(&app.list("/webhooks?limit=10").await), [all["id"].as_str().unwrap()]);
}

#[tokio::test]
async fn a_secret_is_shown_once_and_has_32_random_bytes() {
    let service = Service::any().await;
    let app = service.app().await;
    let webhook = create(&app, &json!({ "url": URL })).await;
    let rotated = app.post(&format!("{}/rotate", path(&webhook)), &json!({})).await.expect(201);
    let rotated = rotated.json()["webhook"].clone();
    assert_eq!(without_secret(&rotated), without_secret(&webhook));
    let secrets = [&webhook, &rotated].map(|webhook| webhook["secret"].as_str().unwrap());
    assert_ne!(secrets[0], secrets[1]);
    for secret in secrets {
        let bytes = BASE64_STANDARD.decode(secret.strip_prefix("whsec_").unwrap()).unwrap();
        assert_eq!(bytes.len(), 32);
        for path in [path(&webhook), "/webhooks?limit=9".to_owned()] {
            let answer = app.get(&path).await.expect(200);
            assert!(!answer.text().contains(&secret[6..]), "{answer:?}");
            assert!(!answer.text().contains("secret"), "{answer:?}");
        }
    }
}

#[tokio::test]
async fn a_repeat_gets_the_webhook_without_its_secret() {
    let service = Service::with(&[]).await;
    let app = service.app().await;
    let body = json!({ "url": URL, "types": ["payout.booked"], "description": "Books" });
    let first = app.post_once("one", "/webhooks", &body).await.expect(201);
    let webhook = first.json()["webhook"].clone();
    let rotate = format!("{}/rotate", path(&webhook));
    let rotated = app.post_once("two", &rotate, &json!({})).await.expect(201);
    let change = json!({ "url": "https://shop.example/new", "enabled": false });
    let _ = app.put(&path(&webhook), &change).await.expect(204);
    for (key, path, body, first) in
        [("one", "/webhooks", &body, &first), ("two", &rotate, &json!({}), &rotated)]
    {
        let repeat = app.post_once(key, path, body).await.expect(201);
        assert_eq!(repeat.header("idempotent-replayed"), Some("true"));
        let mut expected = first.json();
        expected["webhook"]["secret"] = Value::Null;
        assert_eq!(repeat.json(), expected);
    }
    let other = json!({ "url": "https://shop.example/other" });
    app.post_once("one", "/webhooks", &other).await.refused(422, "idempotency_key_reused");
    assert_eq!(app.list("/webhooks?limit=9").await.len(), 1);

    // The key of a request does not lead to the secret in the store, either.
    let outcomes = "SELECT count(*) FROM idempotency WHERE outcome LIKE '%url%'";
    assert_eq!(service.data().number(outcomes), 2);
    for answer in [&first, &rotated] {
        let secret = answer.json()["webhook"]["secret"].as_str().unwrap()[6..].to_owned();
        let found = format!("{outcomes} AND outcome LIKE '%{secret}%'");
        assert_eq!(service.data().number(&found), 0);
        assert_eq!(service.data().number(&format!("{outcomes} AND outcome LIKE '%secret%'")), 0);
    }
}

#[tokio::test]
async fn all_wrong_members_are_reported() {
    let service = Service::any().await;
    let app = service.app().await;
    app.post("/webhooks", &json!({})).await.names(&["url"]);
    let long = "x".repeat(256);
    let wrong = json!({ "url": "shop.example", "types": ["all"], "description": long });
    app.post("/webhooks", &wrong).await.names(&["url", "types", "description"]);
    for types in [json!("payout.booked"), json!({}), json!([1]), json!([["payout.booked"]])] {
        app.post("/webhooks", &json!({ "url": URL, "types": types })).await.names(&["types"]);
    }
    for url in [
        json!(1),
        json!("http://shop.example"),
        json!("https://ann:pw@shop.example"),
        json!("https://shop.example/#x"),
        json!("https://10.0.0.1/"),
        json!(format!("https://shop.example/{}", "x".repeat(2048))),
    ] {
        app.post("/webhooks", &json!({ "url": url })).await.names(&["url"]);
    }
    let webhook = create(&app, &json!({ "url": URL })).await;
    let wrong = json!({ "url": "ftp://x", "types": ["x"], "enabled": "no", "secret": "whsec_",
        "id": "1", "created": "2026-11-21T10:00:00Z", "disabledReason": "request" });
    let fields = ["url", "types", "enabled", "secret", "id", "created", "disabledReason"];
    app.put(&path(&webhook), &wrong).await.names(&fields);
    assert_eq!(fetch(&app, &webhook).await, without_secret(&webhook));
    app.get("/webhooks").await.names(&["limit"]);
}

#[tokio::test]
async fn a_form_sends_types_as_a_list() {
    let service = Service::any().await;
    let app = service.app().await;
    let form = "url=https%3A%2F%2Fshop.example%2F&types[]=dispute.won&types[]=dispute.lost";
    let created = app.post_form("/webhooks", form).await.expect(201).json()["webhook"].clone();
    assert_eq!(created["types"], json!(["dispute.won", "dispute.lost"]));
    for (form, types, enabled) in [
        ("enabled=no", created["types"].clone(), false),
        ("types[]=", json!([]), false),
        ("types[]=fraud.reported&enabled=yes", json!(["fraud.reported"]), true),
    ] {
        let request = app.request(reqwest::Method::PUT, &path(&created));
        let request = request.body_of("application/x-www-form-urlencoded", form);
        let _ = request.send().await.expect(204);
        let changed = fetch(&app, &created).await;
        assert_eq!((&changed["types"], &changed["enabled"]), (&types, &json!(enabled)), "{form}");
    }
}

/// Sends 30 requests to create a webhook at once, and returns how many succeeded. The others must
/// be refused because of the limit.
async fn create_thirty(apps: &[App]) -> usize {
    let body = json!({ "url": URL });
    let create = |app: &App| {
        let (app, body) = (app.clone(), body.clone());
        async move { app.post("/webhooks", &body).await }
    };
    let answers = join_all((0..30).map(|index| create(&apps[index % apps.len()]))).await;
    let (created, refused): (Vec<_>, Vec<_>) =
        answers.into_iter().partition(|answer| answer.status == 201);
    for answer in &refused {
        let fields = answer.names(&[""]);
        assert!(fields[0]["message"].as_str().unwrap().contains("20 webhooks"), "{answer:?}");
    }
    created.len()
}

#[tokio::test]
async fn an_app_has_at_most_twenty_webhooks() {
    let service = Service::any().await;
    let app = service.app().await;
    assert_eq!(create_thirty(std::slice::from_ref(&app)).await, 20);
    let webhooks = app.list("/webhooks?limit=100").await;
    assert_eq!(webhooks.len(), 20);
    let _ = app.delete(&path(&webhooks[7])).await.expect(204);
    create(&app, &json!({ "url": URL })).await;
    app.post("/webhooks", &json!({ "url": URL })).await.names(&[""]);
    create(&service.app().await, &json!({ "url": URL })).await;
}

#[tokio::test]
async fn replicas_share_the_limit_of_webhooks() {
    let database = Cluster::shared().database();
    let place = || Stopped::on(Some(database.clone()), &[]);
    let (one, other) = (place().start().await, place().start().await);
    let app = one.app().await;
    assert_eq!(create_thirty(&[app.clone(), app.at(&other)]).await, 20);
    assert_eq!(app.list("/webhooks?limit=100").await.len(), 20);
}

#[tokio::test]
async fn no_secret_and_no_address_of_a_webhook_is_logged() {
    let receiver = Receiver::new().await;
    let service = Service::with(&[
        ("RUST_LOG", "trace"),
        ("LOG_FORMAT", "json"),
        ("PAYMENTS_WEBHOOK_NETWORKS", "127.0.0.0/8"),
        receiver.trust(),
    ])
    .await;
    let app = service.app().await;
    let url = receiver.url("/hooks/token-in-a-path?token=in-a-query");
    let webhook = create(&app, &json!({ "url": url })).await;
    let rotate = format!("{}/rotate", path(&webhook));
    let rotated = app.post_once("key", &rotate, &json!({})).await.expect(201).json();
    let _ = app.post(&format!("{}/test", path(&webhook)), &json!({})).await.expect(200);
    let _ = app.put(&path(&webhook), &json!({ "url": url })).await.expect(204);
    let _ = app.list("/webhooks?limit=9").await;
    let secrets = [&webhook, &rotated["webhook"]].map(|it| it["secret"].as_str().unwrap());
    let secrets = secrets.map(|secret| secret.strip_prefix("whsec_").unwrap());
    let numbers = secrets.map(|secret| format!("{:?}", BASE64_STANDARD.decode(secret).unwrap()));
    let numbers = numbers.each_ref().map(|list| &list[1..list.len() - 1]);
    assert_eq!(receiver.received().len(), 1);
    let (last, id) = (service.request(reqwest::Method::GET, "/health"), "the-last-request");
    let _ = last.header("x-request-id", id).send().await.expect(200);
    service.process().logged(|line| line.contains(id)).await;
    let log = service.process().log();
    let http = log.iter().filter(|line| line.contains("hyper_util"));
    assert!(http.count() > 5, "the log has no lines of the HTTP client");
    for text in secrets.into_iter().chain(numbers).chain(["token-in-a-path", "in-a-query"]) {
        let line = log.iter().find(|line| line.contains(text));
        assert_eq!(line, None, "{text} is logged");
    }
}
