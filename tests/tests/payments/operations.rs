//! `/health`, `/ready`, `/metrics` and `/openapi.json`.

use blackbox::payments::{DOCUMENT, Service};
use reqwest::Method;
use serde_json::Value;

#[tokio::test]
async fn health_ready_metrics_and_the_document_need_no_credentials() {
    let service = Service::with(&[]).await;
    assert_eq!(service.fetch("/health").await.expect(200).text(), r#"{"status":"ok"}"#);
    assert_eq!(service.fetch("/ready").await.expect(200).text(), r#"{"status":"ready"}"#);
    let _ = service.fetch("/metrics").await.expect(200);
    let _ = service.fetch("/openapi.json").await.expect(200);
}

#[tokio::test]
async fn the_document_that_is_served_is_the_one_the_answers_are_held_against() {
    let service = Service::any().await;
    let served: Value = service.fetch("/openapi.json").await.expect(200).json();
    assert_eq!(served, *DOCUMENT.root());
    assert_eq!(served["info"]["version"], "0.1.0");
}

/// How many requests for this path were answered with this status.
async fn counted(service: &Service, path: &str, status: &str) -> f64 {
    let scraped = service.fetch("/metrics").await.expect(200);
    let [path, status] = [path, status].map(|label| format!("\"{label}\""));
    let lines = scraped.text().lines();
    let of_both = lines.filter(|line| line.contains(&path) && line.contains(&status));
    let totals = of_both.filter(|line| line.contains("_total{"));
    totals.map(|line| line.rsplit_once(' ').unwrap().1.parse::<f64>().unwrap()).sum()
}

#[tokio::test]
async fn requests_are_counted_by_route_and_status() {
    let service = Service::with(&[]).await;
    let app = service.app().await;
    for _ in 0..3 {
        let _ = app.get("/me").await.expect(200);
    }
    let _ = service.fetch("/me").await.expect(401);
    assert_eq!(counted(&service, "/me", "200").await, 3.0);
    assert_eq!(counted(&service, "/me", "401").await, 1.0);
    assert_eq!(counted(&service, "/apps", "201").await, 1.0);
}

#[tokio::test]
async fn no_client_can_make_new_series() {
    let service = Service::with(&[]).await;
    let app = service.app().await;
    for number in 0..20 {
        let method = Method::from_bytes(format!("METHOD{number}").as_bytes()).unwrap();
        let path = format!("/path{number}?query{number}");
        let _ = app.request(method.clone(), &path).send().await.expect(404);
        let _ = service.pos(method, &path).send().await.expect(404);
    }
    let _ = app.list(&app.merchants("?limit=1")).await;
    let scraped = service.fetch("/metrics").await.expect(200);
    for word in ["METHOD", "path1", "query1", &app.id] {
        assert!(!scraped.text().contains(word), "{word}");
    }
}

#[tokio::test]
async fn metrics_ask_for_the_token_when_one_is_set() {
    let service = Service::with(&[("METRICS_TOKEN", "open sesame")]).await;
    let scrape = async |credential: &str| {
        let request = service.request(Method::GET, "/metrics");
        request.header("authorization", credential).send().await
    };
    service.fetch("/metrics").await.refused(401, "unauthenticated");
    for credential in ["", "Bearer", "Bearer wrong", "open sesame", "Bearer open sesamex"] {
        scrape(credential).await.refused(401, "unauthenticated");
    }
    let key = service.app().await.key;
    scrape(&format!("Bearer {key}")).await.refused(401, "unauthenticated");
    let _ = scrape("Bearer open sesame").await.expect(200);
    let _ = service.fetch("/health").await.expect(200);
    let _ = service.fetch("/ready").await.expect(200);
}
