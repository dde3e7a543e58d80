//! The API keys of an app: rotation, deletion, and the time of the last use.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use blackbox::{
    http::Answer,
    payments::{App, Merchant, Refusal as _, Service, ids, int},
    process::DEADLINE,
    soak::rounds,
};
use futures_util::future::{join, join_all};
use jiff::Timestamp;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use crate::replicas::two;

const KEYS: &str = "/apps/me/keys";

const UNKNOWN: &str = "ffffffffffffffffffffffff";

/// The limit that docs/payments-svc.md promises.
const MOST: usize = 20;

async fn keys(app: &App) -> Vec<Value> {
    app.list(&format!("{KEYS}?limit=1000")).await
}

/// Waits until the key with this id has been used. Returns the time.
async fn last_used(app: &App, id: &str) -> Timestamp {
    let used = async {
        loop {
            let keys = keys(app).await;
            let key = keys.iter().find(|key| key["id"] == id).unwrap();
            if let Some(used) = key["lastUsed"].as_str() {
                break used.parse().unwrap();
            }
            sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(DEADLINE, used).await.unwrap()
}

/// Sends requests of every kind with a key that must not work anymore.
async fn is_refused(old: &App, merchant: &Merchant, transaction: &str) {
    let id = &merchant.id;
    for (method, path) in [
        (Method::GET, "/me".to_owned()),
        (Method::POST, KEYS.to_owned()),
        (Method::GET, KEYS.to_owned()),
        (Method::DELETE, format!("{KEYS}/{UNKNOWN}")),
        (Method::POST, "/merchants".to_owned()),
        (Method::GET, old.merchants("?limit=1")),
        (Method::GET, format!("/merchants/{id}")),
        (Method::GET, "/merchants/malformed".to_owned()),
        (Method::GET, format!("/merchants/{UNKNOWN}")),
        (Method::POST, format!("/merchants/{id}/transactions")),
        (Method::GET, format!("/merchants/{id}/lines?limit=1")),
        (Method::GET, format!("/transactions/{transaction}")),
        (Method::POST, format!("/transactions/{transaction}/captures")),
        (Method::POST, format!("/transactions/{UNKNOWN}/captures")),
        (Method::GET, "/disputes".to_owned()),
        (Method::GET, format!("/frauds?limit=1&filter[merchantId]={id}")),
    ] {
        old.request(method, &path).send().await.refused(401, "unauthenticated");
    }
}

#[tokio::test]
async fn a_further_key_belongs_to_the_same_app() {
    let service = Service::any().await;
    let app = service.app_named("Corner shop").await;
    let answer = app.post(KEYS, &json!({ "name": "till 2" })).await.expect(201);
    let created = answer.json()["key"].clone();
    let second = app.with_key(created["key"].as_str().unwrap());
    assert_ne!(second.key, app.key);
    let identity = app.get("/me").await.expect(200).json();
    assert_eq!(second.get("/me").await.expect(200).json(), identity);

    let listed = app.get(&format!("{KEYS}?limit=10")).await.expect(200);
    assert!(![&app.key, &second.key].iter().any(|key| listed.text().contains(*key)));
    let listed = keys(&second).await;
    assert_eq!(ids(&listed), [created["id"].as_str().unwrap(), &app.id]);
    assert_eq!((&listed[0]["name"], &listed[1]["name"]), (&json!("till 2"), &Value::Null));
    for (key, created) in [(&listed[0], &created), (&listed[1], &identity["identity"])] {
        assert_eq!(key["created"], created["created"]);
    }
}

#[tokio::test]
async fn the_name_of_a_key_is_optional() {
    let service = Service::any().await;
    let app = service.app().await;
    for body in [json!({}), json!([]), json!({ "name": null }), json!({ "name": "" })] {
        let answer = app.post(KEYS, &body).await.expect(201);
        assert_eq!(answer.json()["key"]["name"], Value::Null, "{body}");
    }
    let answer = app.post_form(KEYS, "name=till+2").await.expect(201);
    assert_eq!(answer.json()["key"]["name"], "till 2");
    app.post(KEYS, &json!({ "name": 2 })).await.names(&["name"]);
    assert_eq!(keys(&app).await.len(), 6);
}

#[tokio::test]
async fn a_deleted_key_is_401_at_the_next_request() {
    let service = Service::any().await;
    let merchant = service.merchant().await;
    let transaction = merchant.pay("EUR", 1000).await;
    transaction.capture(1).await;
    let old = merchant.app.clone();
    let (_, new) = old.further_key("new").await;
    let _ = old.delete_key(&old.id).await.expect(204);
    is_refused(&old, &merchant, &transaction.id).await;
    transaction.by(&new).capture(1).await;
    assert_eq!(keys(&new).await.len(), 1);
    new.delete_key(&old.id).await.refused(404, "not_found");
}

#[tokio::test]
async fn a_key_may_delete_itself_but_not_the_last_one() {
    let service = Service::any().await;
    let app = service.app().await;
    app.delete_key(&app.id).await.names(&["keyId"]);
    let (second, other) = app.further_key("second").await;
    let _ = other.delete_key(&second).await.expect(204);
    other.get("/me").await.refused(401, "unauthenticated");
    app.delete_key(&app.id).await.names(&["keyId"]);
    let _ = app.get("/me").await.expect(200);
}

#[tokio::test]
async fn keys_of_other_apps_cannot_be_deleted() {
    let service = Service::any().await;
    let (app, other) = (service.app().await, service.app().await);
    let (further, _) = other.further_key("second").await;
    app.further_key("second").await;
    for key in [&other.id, &further] {
        app.delete_key(key).await.refused(403, "forbidden");
    }
    app.delete_key(UNKNOWN).await.refused(404, "not_found");
    app.delete_key("malformed").await.refused(404, "not_found");
    assert_eq!(keys(&other).await.len(), 2);
}

#[tokio::test]
async fn an_app_has_at_most_20_keys() {
    let service = Service::any().await;
    let app = service.app().await;
    let body = json!({});
    let created = join_all((0..MOST + 5).map(|_| app.post(KEYS, &body))).await;
    let refused: Vec<&Answer> = created.iter().filter(|answer| answer.status != 201).collect();
    assert_eq!(refused.len(), 6);
    for answer in refused {
        answer.names(&[""]);
    }
    assert_eq!(keys(&app).await.len(), MOST);
    let _ = app.delete_key(&ids(&keys(&app).await)[0]).await.expect(204);
    app.further_key("in its place").await;
}

/// Deletes the only two keys of an app at the same time, each with itself, through these apps.
async fn race(app: [&App; 2]) {
    let (second, other) = app[0].further_key("second").await;
    let other = app[1].with_key(&other.key);
    let deleted = join(app[0].delete_key(&app[0].id), other.delete_key(&second)).await;
    let (kept, refused) = match [deleted.0.status, deleted.1.status].map(|code| code.as_u16()) {
        [204, 400] => (other, deleted.1),
        [400, 204] => (app[0].clone(), deleted.0),
        _ => panic!("{deleted:?}"),
    };
    refused.names(&["keyId"]);
    assert_eq!(keys(&kept).await.len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_deletions_at_once_leave_one_key() {
    let service = Service::any().await;
    for _ in 0..rounds(10, 500) {
        let app = service.app().await;
        race([&app, &app]).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_deletions_on_two_replicas_leave_one_key() {
    let (_, services) = two(&[("PAYMENTS_APP_LIMIT", "off")]).await;
    for _ in 0..rounds(10, 500) {
        let app = services[0].app().await;
        race([&app, &app.at(&services[1])]).await;
    }
}

#[tokio::test]
async fn every_replica_knows_a_new_key_and_forgets_a_deleted_one() {
    let (_, services) = two(&[]).await;
    let merchant = services[0].merchant().await;
    let transaction = merchant.pay("EUR", 1000).await;
    let old = merchant.app.clone();
    for (here, there) in [(0, 1), (1, 0)] {
        let (id, key) = old.at(&services[here]).further_key("one more").await;
        for service in [&services[there], &services[here]] {
            transaction.by(&key.at(service)).capture(1).await;
        }
        let _ = old.at(&services[there]).delete_key(&id).await.expect(204);
        for service in &services {
            is_refused(&key.at(service), &merchant, &transaction.id).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_rotate_while_requests_go_on() {
    let service = Service::any().await;
    let merchant = service.merchant().await;
    let transaction = merchant.pay("EUR", 1_000_000).await;
    let current = tokio::sync::RwLock::new((merchant.app.id.clone(), merchant.app.clone()));
    let is_over = AtomicBool::new(false);
    let capture = async || {
        let mut made = 0;
        while !is_over.load(Ordering::Relaxed) {
            // A key is deleted only after the requests with it were answered.
            let current = current.read().await;
            transaction.by(&current.1).capture(1).await;
            made += 1;
        }
        made
    };
    let rotate = async {
        for round in 0..10 {
            let (old, app) = current.read().await.clone();
            *current.write().await = app.further_key(&round.to_string()).await;
            let _ = current.read().await.1.delete_key(&old).await.expect(204);
            app.get("/me").await.refused(401, "unauthenticated");
        }
        is_over.store(true, Ordering::Relaxed);
    };
    let (made, ()) = join(join_all([capture(), capture(), capture()]), rotate).await;
    let by = current.into_inner().1;
    let captured = int(&transaction.by(&by).fetch().await["capturedAmount"]);
    assert!(captured > 0);
    assert_eq!(captured, made.iter().sum::<i64>());
}

#[tokio::test]
async fn a_repeated_creation_makes_one_key_and_shows_it_once() {
    let service = Service::any().await;
    let app = service.app().await;
    let name = format!("rotation {}", app.id);
    let body = json!({ "name": "second" });
    let first = app.post_once(&name, KEYS, &body).await.expect(201).json()["key"].clone();
    let mut shown = first.clone();
    shown["key"] = Value::Null;
    for _ in 0..2 {
        let repeat = app.post_once(&name, KEYS, &body).await.expect(201);
        assert_eq!(repeat.header("idempotent-replayed"), Some("true"));
        assert_eq!(repeat.json()["key"], shown);
    }
    let other = app.post_once(&name, KEYS, &json!({ "name": "third" })).await;
    other.refused(422, "idempotency_key_reused");
    assert_eq!(keys(&app).await.len(), 2);
    let created = app.with_key(first["key"].as_str().unwrap());
    let _ = created.get("/me").await.expect(200);
    // The repeat shows the key as it was created, also after its deletion.
    let _ = app.delete_key(first["id"].as_str().unwrap()).await.expect(204);
    assert_eq!(app.post_once(&name, KEYS, &body).await.expect(201).json()["key"], shown);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_one_of_many_concurrent_repeats_shows_the_key() {
    let service = Service::any().await;
    let app = service.app().await;
    let name = format!("rotation {}", app.id);
    let body = json!({});
    let answers = join_all((0..20).map(|_| app.post_once(&name, KEYS, &body))).await;
    let created = answers.iter().map(|answer| answer.json()["key"].clone());
    let shown: Vec<_> = created.filter_map(|key| key["key"].as_str().map(str::to_owned)).collect();
    let [key] = &*shown else { panic!("{answers:?}") };
    let _ = app.with_key(key).get("/me").await.expect(200);
    assert_eq!(keys(&app).await.len(), 2);
}

#[tokio::test]
async fn the_last_use_is_shown_to_the_hour() {
    let service = Service::any().await;
    let app = service.app().await;
    let begin = Timestamp::now();
    let (id, second) = app.further_key("second").await;
    assert_eq!(keys(&app).await[0]["lastUsed"], Value::Null);
    let _ = second.get("/me").await.expect(200);
    let used = last_used(&app, &id).await;
    assert_eq!(used.as_millisecond() % 3_600_000, 0, "{used}");
    assert!(used <= Timestamp::now());
    assert!(begin.duration_since(used).as_secs() < 3600, "{begin} {used}");
    last_used(&app, &app.id).await;
}

#[tokio::test]
async fn a_use_is_written_once_an_hour() {
    let place = Service::with(&[]).await.stop().await;
    place.define("CREATE TABLE uses AS SELECT id FROM api_keys WHERE false");
    place.after("UPDATE OF last_used ON api_keys", "INSERT INTO uses VALUES (NEW.id)");
    let service = place.start().await;
    let uses = || service.data().number("SELECT count(*) FROM uses");
    let app = service.app().await;
    let (first, second) = app.further_key("second").await;
    let _ = app.get("/me").await.expect(200);
    last_used(&app, &app.id).await;
    let begin = Timestamp::now().as_second() / 3600;
    let before = uses();
    for _ in 0..50 {
        let _ = app.get("/me").await.expect(200);
    }
    // The job has run again after the requests when this use is stored.
    let _ = second.get("/me").await.expect(200);
    last_used(&app, &first).await;
    if Timestamp::now().as_second() / 3600 == begin {
        assert_eq!(uses(), before + 1);
    }
}

#[tokio::test]
async fn a_use_before_a_stop_is_stored() {
    let service = Service::with(&[]).await;
    let app = service.app().await;
    let (id, second) = app.further_key("second").await;
    let _ = second.get("/me").await.expect(200);
    let service = service.stop().await.start().await;
    let used = keys(&app.at(&service)).await.into_iter().find(|key| key["id"] == id).unwrap();
    assert!(used["lastUsed"].is_string(), "{used}");
}
