//! Requests to webhooks: the addresses that they may reach, and their signatures, which the
//! published libraries of Standard Webhooks verify.

use std::path::Path;

use blackbox::{
    payments::{App, Received, Receiver, Service},
    process,
};
use serde_json::{Value, json};
use tokio::process::Command;

/// Allows the addresses of this machine.
const LOCAL: (&str, &str) = ("PAYMENTS_WEBHOOK_NETWORKS", "127.0.0.0/8");

/// Verifies each case with the library for JavaScript, and prints a line for it.
const NODE: &str = r#"
const { Webhook } = require("standardwebhooks");
for (const { secret, headers, body } of JSON.parse(require("fs").readFileSync(0, "utf8"))) {
    try {
        new Webhook(secret).verify(body, headers);
        console.log("valid");
    } catch (error) {
        console.log(error.message);
    }
}
"#;

/// The same with the library for Python.
const PYTHON: &str = r#"
import json, sys
from standardwebhooks.webhooks import Webhook, WebhookVerificationError
for case in json.load(sys.stdin):
    try:
        Webhook(case["secret"]).verify(case["body"], case["headers"])
        print("valid")
    except WebhookVerificationError as error:
        print(error)
"#;

/// A new webhook: its path and its secret.
async fn webhook(app: &App, url: &str) -> (String, String) {
    let created = app.post("/webhooks", &json!({ "url": url })).await.expect(201).json();
    let webhook = &created["webhook"];
    let secret = webhook["secret"].as_str().unwrap().to_owned();
    (format!("/webhooks/{}", webhook["id"].as_str().unwrap()), secret)
}

/// Tests a webhook. Returns the outcome and the status.
async fn test(app: &App, webhook: &str) -> (String, Value) {
    let answer = app.post(&format!("{webhook}/test"), &json!({})).await.expect(200).json();
    let delivery = &answer["delivery"];
    (delivery["outcome"].as_str().unwrap().to_owned(), delivery["status"].clone())
}

pub(crate) fn case(secret: &str, Received { headers, body, .. }: &Received) -> Value {
    json!({ "secret": secret, "headers": headers, "body": body })
}

/// The results of both libraries.
pub(crate) async fn verify(cases: &[Value]) -> [Vec<String>; 2] {
    let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/tools");
    let mut node = Command::new("node");
    node.arg("-e").arg(NODE).env("NODE_PATH", tools.join("standardwebhooks/node_modules"));
    let mut python = Command::new(tools.join("python/bin/python"));
    python.arg("-c").arg(PYTHON);
    [run(node, cases).await, run(python, cases).await]
}

async fn run(mut command: Command, cases: &[Value]) -> Vec<String> {
    let ended = process::run_with(&mut command, &json!(cases).to_string()).await;
    assert!(ended.status.success(), "install the libraries with: scripts/install test");
    String::from_utf8(ended.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[tokio::test]
async fn published_libraries_verify_a_request_and_no_changed_one() {
    let receiver = Receiver::new().await;
    let service = Service::with(&[receiver.trust(), LOCAL]).await;
    let app = service.app().await;
    let (path, secret) = webhook(&app, &receiver.url("/events?shop=1")).await;
    let (_, other) = webhook(&app, &receiver.url("/")).await;
    assert_eq!(test(&app, &path).await, ("delivered".to_owned(), json!(204)));

    let request = receiver.received().remove(0);
    assert_eq!(request.path, "/events?shop=1");
    assert_eq!(request.headers["content-type"], "application/json");
    assert_eq!(request.headers["user-agent"], "payments-svc");
    let body: Value = serde_json::from_str(&request.body).unwrap();
    assert_eq!((&body["type"], &body["test"]), (&json!("webhook.test"), &json!(true)));
    assert_eq!(body["id"], request.headers["webhook-id"]);

    let changed = |change: fn(&mut Received)| {
        let mut request = request.clone();
        change(&mut request);
        case(&secret, &request)
    };
    let later = |header: &str| (header.parse::<i64>().unwrap() + 1).to_string();
    let mut delayed = request.clone();
    let timestamp = &request.headers["webhook-timestamp"];
    delayed.headers.insert("webhook-timestamp".to_owned(), later(timestamp));
    let cases = [
        case(&secret, &request),
        case(&other, &request),
        changed(|request| request.body.push(' ')),
        changed(|request| drop(request.headers.insert("webhook-id".to_owned(), "x".to_owned()))),
        case(&secret, &delayed),
    ];
    for results in verify(&cases).await {
        assert_eq!(results.len(), cases.len(), "{results:?}");
        assert_eq!(results[0], "valid");
        assert!(results[1..].iter().all(|result| result != "valid"), "{results:?}");
    }
}

#[tokio::test]
async fn both_secrets_sign_for_a_day_after_a_rotation() {
    let receiver = Receiver::new().await;
    let service = Service::with(&[receiver.trust(), LOCAL]).await;
    let app = service.app().await;
    let (path, first) = webhook(&app, &receiver.url("/")).await;
    let rotated = app.post(&format!("{path}/rotate"), &json!({})).await.expect(201).json();
    let second = rotated["webhook"]["secret"].as_str().unwrap();
    assert_ne!(first, second);
    test(&app, &path).await;
    let both = receiver.received().remove(0);
    assert_eq!(both.headers["webhook-signature"].split(' ').count(), 2, "{both:?}");

    // 23 hours later, then 24.
    let mut service = service;
    for hours in [23, 1] {
        let place = service.stop().await;
        let milliseconds = hours * 3_600_000;
        let sql = format!("UPDATE webhooks SET previous_until = previous_until - {milliseconds}");
        assert_eq!(place.change(&sql), 1);
        service = place.start().await;
        test(&app.at(&service), &path).await;
    }
    let [_, nearly, after] = receiver.received().try_into().unwrap();
    let cases = [
        case(&first, &both),
        case(second, &both),
        case(&first, &nearly),
        case(second, &nearly),
        case(second, &after),
        case(&first, &after),
    ];
    for results in verify(&cases).await {
        let (valid, last) = results.split_at(5);
        assert!(valid.iter().all(|result| result == "valid"), "{results:?}");
        assert!(last.len() == 1 && last[0] != "valid", "{results:?}");
    }
}

#[tokio::test]
async fn by_default_no_request_reaches_this_machine() {
    let receiver = Receiver::new().await;
    let service = Service::with(&[receiver.trust()]).await;
    let app = service.app().await;
    for host in ["127.0.0.1", "2130706433", "[::1]", "[::ffff:127.0.0.1]", "169.254.169.254"] {
        let url = format!("https://{host}:{}/", receiver.port());
        let answer = app.post("/webhooks", &json!({ "url": url })).await.expect(400);
        assert_eq!(answer.json()[0]["field"], "url", "{answer:?}");
    }
    // The addresses of a name are checked when the request is sent.
    let (path, _) = webhook(&app, &receiver.url("/")).await;
    assert_eq!(test(&app, &path).await, ("address_forbidden".to_owned(), Value::Null));
    let plain = json!({ "url": format!("http://localhost:{}/", receiver.port()) });
    let answer = app.post("/webhooks", &plain).await.expect(400);
    assert_eq!(answer.json()[0]["field"], "url", "{answer:?}");
    assert_eq!((receiver.connections(), receiver.received().len()), (0, 0));
}

#[tokio::test]
async fn an_endpoint_is_refused_again_when_a_setting_is_withdrawn() {
    let receiver = Receiver::new().await;
    let service =
        Service::with(&[receiver.trust(), LOCAL, ("PAYMENTS_WEBHOOKS_INSECURE", "true")]).await;
    let app = service.app().await;
    let mut paths = Vec::new();
    for url in [
        receiver.url("/"),
        format!("https://127.0.0.1:{}/", receiver.port()),
        format!("http://127.0.0.1:{}/", receiver.port()),
    ] {
        paths.push(webhook(&app, &url).await.0);
    }
    for path in &paths[..2] {
        assert_eq!(test(&app, path).await.0, "delivered");
    }
    // The receiver speaks TLS only.
    assert_eq!(test(&app, &paths[2]).await.0, "connection_failed");
    let connections = receiver.connections();
    let place = service.stop().await.with("PAYMENTS_WEBHOOK_NETWORKS", "10.0.0.0/8");
    let service = place.with("PAYMENTS_WEBHOOKS_INSECURE", "false").start().await;
    let app = app.at(&service);
    for path in &paths {
        assert_eq!(test(&app, path).await.0, "address_forbidden");
    }
    assert_eq!(receiver.connections(), connections);
}

#[tokio::test]
async fn redirects_errors_and_proxy_variables_have_no_effect() {
    let receiver = Receiver::new().await;
    let proxy = "http://127.0.0.1:9";
    let names = ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];
    let mut settings = vec![receiver.trust(), LOCAL];
    settings.extend(names.map(|name| (name, proxy)));
    let service = Service::with(&settings).await;
    let app = service.app().await;
    let (path, _) = webhook(&app, &receiver.url("/")).await;
    for status in [301, 302, 307, 308, 400, 410, 500, 503] {
        receiver.answer(status);
        assert_eq!(test(&app, &path).await, ("refused".to_owned(), json!(status)));
    }
    receiver.answer(200);
    assert_eq!(test(&app, &path).await, ("delivered".to_owned(), json!(200)));
    let received = receiver.received();
    assert!(received.iter().all(|request| request.path == "/"), "{received:?}");
    assert_eq!((received.len(), receiver.connections()), (9, 1));
}

#[tokio::test]
async fn a_certificate_of_an_unknown_authority_is_refused() {
    let receiver = Receiver::new().await;
    let service = Service::with(&[LOCAL]).await;
    let app = service.app().await;
    let (path, _) = webhook(&app, &receiver.url("/")).await;
    assert_eq!(test(&app, &path).await, ("tls_failed".to_owned(), Value::Null));
    assert!(receiver.received().is_empty());
}

#[tokio::test]
async fn tests_of_webhooks_are_limited_per_app() {
    let service = Service::with(&[("PAYMENTS_WEBHOOK_TEST_LIMIT", "2/1h")]).await;
    let (app, other) = (service.app().await, service.app().await);
    let (path, _) = webhook(&app, "https://localhost/").await;
    for _ in 0..2 {
        assert_eq!(test(&app, &path).await.0, "address_forbidden");
    }
    let limited = app.post(&format!("{path}/test"), &json!({})).await.expect(429);
    assert!(limited.header("retry-after").is_some(), "{limited:?}");
    let (path, _) = webhook(&other, "https://localhost/").await;
    assert_eq!(test(&other, &path).await.0, "address_forbidden");
}
