//! `/health`, `/readme`, and headers that every answer has.

use blackbox::authsvc::Service;
use reqwest::Method;
use serde_json::Value;

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
async fn valid_request_ids_are_echoed_and_others_replaced() {
    let service = Service::any().await;
    let health_with =
        |id: &str| service.request(Method::GET, "/health").header("x-request-id", id).send();
    assert_eq!(health_with("abc-1").await.header("x-request-id"), Some("abc-1"));
    let replaced = health_with("not sane").await;
    assert_ne!(replaced.header("x-request-id"), Some("not sane"));
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
