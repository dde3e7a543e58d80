//! `/health`, `/ready`, `/metrics` and `/openapi.json`.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use blackbox::{
    http::Answer,
    objstore::{Client, DOCUMENT, Object, Service},
};
use reqwest::Method;
use serde_json::Value;

#[tokio::test]
async fn health_ready_metrics_and_the_document_need_no_session() {
    let service = Service::with(&[]).await;
    let stranger = service.stranger();
    assert_eq!(stranger.fetch("/health").await.expect(200).text(), r#"{"status":"ok"}"#);
    let ready = stranger.fetch("/ready").await.expect(200);
    assert_eq!(ready.text(), r#"{"status":"ready","writes":true}"#);
    let _ = stranger.fetch("/metrics").await.expect(200);
    let _ = stranger.fetch("/openapi.json").await.expect(200);
}

#[tokio::test]
async fn the_served_document_is_the_one_used_in_tests() {
    let service = Service::any().await;
    let answer = service.stranger().fetch("/openapi.json").await.expect(200);
    let served: Value = serde_json::from_str(answer.text()).unwrap();
    assert_eq!(served, *DOCUMENT.root());
}

/// Parses the text format strictly: each series occurs once, after the type of its family. Returns
/// the samples by series.
fn samples(text: &str) -> BTreeMap<String, f64> {
    assert!(text.ends_with('\n'));
    let mut families = BTreeSet::new();
    let mut samples = BTreeMap::new();
    let mut family = String::new();
    for line in text.lines() {
        if let Some(declared) = line.strip_prefix("# TYPE ") {
            let (name, kind) = declared.split_once(' ').unwrap();
            assert!(["counter", "gauge", "histogram", "summary"].contains(&kind), "{line}");
            assert!(families.insert(name.to_owned()), "{name} is split");
            family = name.to_owned();
        } else if !line.starts_with("# HELP ") {
            let (series, value) = line.rsplit_once(' ').unwrap();
            let name = series.split('{').next().unwrap();
            let suffix = name
                .strip_prefix(&family)
                .unwrap_or_else(|| panic!("{line} is not a sample of {family}"));
            assert!(["", "_bucket", "_sum", "_count"].contains(&suffix), "{line}");
            assert!(
                samples.insert(series.to_owned(), value.parse().unwrap()).is_none(),
                "{series} is repeated"
            );
        }
    }
    samples
}

#[tokio::test]
async fn the_metrics_are_well_formed_and_count_requests() {
    let service = Service::with(&[]).await;
    let client = service.client().await;
    let scrape = async || samples(client.fetch("/metrics").await.expect(200).text());
    let posted = |samples: &BTreeMap<String, f64>, path: &str, status: &str| {
        let of_route =
            |series: &&String| series.contains(&format!("\"{path}\"")) && series.contains(status);
        let counted = samples.keys().filter(of_route).filter(|series| series.contains("_total"));
        counted.map(|series| samples[series]).sum::<f64>()
    };
    let before = scrape().await;
    for _ in 0..3 {
        client.set(&Object::fresh()).await;
    }
    client.post("/get", Object::fresh().body()).await.refused(422, "object_not_found");
    let after = scrape().await;
    assert_eq!(posted(&after, "/set", "204") - posted(&before, "/set", "204"), 3.0);
    assert_eq!(posted(&after, "/get", "422") - posted(&before, "/get", "422"), 1.0);
}

#[tokio::test]
async fn unknown_paths_and_methods_create_no_series() {
    let service = Service::with(&[]).await;
    let client = service.client().await;
    for number in 0..20 {
        let method = Method::from_bytes(format!("METHOD{number}").as_bytes()).unwrap();
        let _ = client
            .request(method, &format!("/path{number}?query{number}"))
            .send()
            .await
            .expect(404);
    }
    let scraped = client.fetch("/metrics").await;
    for word in ["METHOD", "path1", "query1"] {
        assert!(!scraped.text().contains(word), "{word}");
    }
    samples(scraped.text());
}

async fn scrape_with(client: &Client, credential: &str) -> Answer {
    client.request(Method::GET, "/metrics").header("authorization", credential).send().await
}

async fn requires_token(service: &Service, token: &str) {
    let client = service.client().await;
    client.fetch("/metrics").await.refused(401, "unauthenticated");
    for credential in [
        "",
        "Bearer",
        "Bearer ",
        "Bearer wrong",
        token,
        &format!("Basic {token}"),
        &format!("Bearer {token}x"),
        &format!("Bearer {}", &token[1..]),
        "Bearer \u{e9}",
    ] {
        scrape_with(&client, credential).await.refused(401, "unauthenticated");
    }
    let _ = scrape_with(&client, &format!("Bearer {token}")).await.expect(200);
    let _ = client.fetch("/health").await.expect(200);
    let _ = client.fetch("/ready").await.expect(200);
}

#[tokio::test]
async fn metrics_require_the_token_if_one_is_set() {
    let service = Service::with(&[("METRICS_TOKEN", "open sesame")]).await;
    requires_token(&service, "open sesame").await;
}

#[tokio::test]
async fn the_metrics_token_may_come_from_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("token");
    fs::write(&file, "from-a-file\n").unwrap();
    let service = Service::with(&[("METRICS_TOKEN_FILE", file.to_str().unwrap())]).await;
    requires_token(&service, "from-a-file").await;
}

#[tokio::test]
async fn with_a_blank_token_metrics_accept_any_credential() {
    let service = Service::with(&[("METRICS_TOKEN", "")]).await;
    let client = service.stranger();
    let _ = client.fetch("/metrics").await.expect(200);
    let _ = scrape_with(&client, "Bearer whatever").await.expect(200);
}
