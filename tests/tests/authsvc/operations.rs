//! `/health`, `/readme`, and headers that every answer has.

use blackbox::authsvc::{Service, Site};
use demo_portal::{Behaviour, Operation};
use reqwest::Method;
use serde_json::{Value, json};

#[tokio::test]
async fn health_answers_ok_with_a_timestamp() {
    let service = Service::any().await;
    let answer = service.fetch("/health").await.expect(200);
    let body: Value = serde_json::from_str(answer.text()).unwrap();
    assert_eq!((&body["status"], &body["message"]), (&true.into(), &"ok".into()));
    let timestamp = body["timestamp"].as_str().unwrap();
    let (date, rest) = timestamp.split_once('T').unwrap();
    assert_eq!(date.len(), "2026-01-01".len());
    let time = rest.strip_suffix("+05:30").unwrap();
    assert_eq!(time.len(), "12:34:56.123456".len(), "{timestamp}");
}

#[tokio::test]
async fn readme_redirects_to_the_configured_url() {
    let service = Service::with(&[("README_URL", "https://example.test/project")]).await;
    let answer = service.fetch("/readme").await.expect(308);
    assert_eq!(answer.header("location"), Some("https://example.test/project"));
    assert_eq!(service.scrape().await.count("/responsesByStatus/308"), 1);
    assert_eq!(service.scrape().await.count("/requests/failed"), 0);
}

#[tokio::test]
async fn every_error_has_a_code() {
    let limits = [("METRICS_TOKEN", "t"), ("SIGN_IN_LIMIT_USERNAME", "1/1h")];
    let site = Site::with(&limits).await;
    let known = site.student();
    let wrong = async || Service::sign_in(&site, &known.username, "wrong", json!({})).await;
    for (answer, status, code) in [
        (site.fetch("/nowhere").await, 404, "not_found"),
        (site.fetch("/authenticate").await, 405, "method_not_allowed"),
        (site.fetch("/metrics").await, 401, "metrics_token_wrong"),
        (site.authenticate("{}").await, 400, "request_invalid"),
        (wrong().await, 401, "credentials_rejected"),
        (wrong().await, 429, "rate_limited"),
    ] {
        assert_eq!(answer.expect(status).header("x-error-code"), Some(code));
    }
    for (operation, answer, status, code) in [
        (Operation::Login, Behaviour::answer(500, ""), 502, "portal_login_failed"),
        (Operation::Profile, Behaviour::answer(500, ""), 502, "portal_profile_failed"),
        (Operation::Profile, Behaviour::answer(200, ""), 422, "profile_unreadable"),
    ] {
        let known = site.student();
        site.portal.script(&known.username, operation, answer);
        let answer = site.profile(&known).await.expect(status);
        assert_eq!(answer.header("x-error-code"), Some(code));
    }
    let answer = site.sign_in(&site.student()).await.expect(200);
    assert_eq!(answer.header("x-error-code"), None);
}

#[tokio::test]
async fn valid_request_ids_are_echoed_and_others_replaced() {
    let service = Service::any().await;
    let health_with =
        |id: &str| service.request(Method::GET, "/health").header("x-request-id", id).send();
    assert_eq!(health_with("abc-1").await.header("x-request-id"), Some("abc-1"));
    let replaced = health_with("not sane").await;
    assert_ne!(replaced.header("x-request-id"), Some("not sane"));
}

#[tokio::test]
async fn a_trace_is_logged_and_reaches_the_portal_only_by_the_setting() {
    let id = "0af7651916cd43dd8448eb211c80319c";
    for (format, setting, is_sent) in [("json", "false", false), ("text", "true", true)] {
        let settings =
            [("RUST_LOG", "debug"), ("LOG_FORMAT", format), ("PORTAL_TRACEPARENT", setting)];
        let site = Site::with(&settings).await;
        let known = site.student();
        let request = site.request(Method::POST, "/authenticate");
        let request = request.header("traceparent", format!("00-{id}-b7ad6b7169203331-01"));
        let body = json!({ "username": known.username, "password": known.password });
        let _ = request.json(&body).send().await.expect(200);
        let end = match format {
            "json" => format!(r#""trace_id":"{id}"}}"#),
            _ => format!(" trace_id={id}"),
        };
        let is_wanted = |line: &str| line.contains("request answered") && line.ends_with(&end);
        site.process().logged(is_wanted).await;
        for call in site.portal.received(&known.username) {
            let sent = call.header("traceparent");
            let is_same = sent.is_some_and(|sent| sent.starts_with(&format!("00-{id}-")));
            assert_eq!((sent.is_some(), is_same), (is_sent, is_sent), "{sent:?}");
        }
    }
}

#[tokio::test]
async fn answers_to_sign_ins_forbid_caching() {
    let service = Service::any().await;
    let answer = service.authenticate("{}").await.expect(400);
    assert_eq!(answer.header("cache-control"), Some("no-store"));
}

#[tokio::test]
async fn without_a_portal_url_sign_ins_are_502() {
    let service = Service::with(&[]).await;
    assert!(service.process().log().iter().any(|line| line.contains("PORTAL_URL is not set")));
    let answer = service.sign_in("u", "p", serde_json::json!({})).await.expect(502);
    assert!(answer.text().contains(r#""status":false"#));
    let scrape = service.scrape().await;
    assert_eq!(scrape.count("/errorsByType/UpstreamError"), 1);
    assert_eq!(scrape.count("/httpClients/created"), 0);
}
