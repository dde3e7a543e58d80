//! `/metrics`: both formats, the token, and counters that add up.

use std::collections::BTreeMap;

use blackbox::{
    authsvc::{Service, families},
    http::Answer,
};
use reqwest::Method;
use serde_json::json;

/// Every family with its type, without the prefix `authsvc_`.
const FAMILIES: [(&str, &str); 21] = [
    ("requests_total", "counter"),
    ("requests_success_total", "counter"),
    ("requests_failed_total", "counter"),
    ("responses_total", "counter"),
    ("route_requests_total", "counter"),
    ("errors_total", "counter"),
    ("authentication_requests_total", "counter"),
    ("authentication_results_total", "counter"),
    ("profile_field_filtering_total", "counter"),
    ("profile_parse_errors_total", "counter"),
    ("validation_errors_total", "counter"),
    ("failures_total", "counter"),
    ("request_latency_seconds", "summary"),
    ("route_latency_seconds", "summary"),
    ("upstream_requests_total", "counter"),
    ("upstream_responses_total", "counter"),
    ("upstream_latency_seconds", "summary"),
    ("http_clients_total", "counter"),
    ("lifespan_events_total", "counter"),
    ("requests_in_flight", "gauge"),
    ("process_start_time_seconds", "gauge"),
];

#[tokio::test]
async fn every_family_has_help_and_type_from_the_start() {
    let service = Service::with(&[]).await;
    let answer = service.fetch("/metrics").await.expect(200);
    assert_eq!(answer.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    let families = families(answer.text());
    let kinds: BTreeMap<_, _> =
        families.iter().map(|(name, family)| (name.as_str(), family.kind.as_str())).collect();
    let expected = FAMILIES.map(|(name, kind)| (format!("authsvc_{name}"), kind));
    assert_eq!(kinds, expected.iter().map(|(name, kind)| (name.as_str(), *kind)).collect());
    assert!(families.values().all(|family| family.has_help));
    for (name, value) in
        [("requests_total", 1.0), ("requests_success_total", 0.0), ("requests_in_flight", 1.0)]
    {
        let name = format!("authsvc_{name}");
        assert_eq!(families[&name].samples, BTreeMap::from([(name.clone(), value)]));
    }
}

#[tokio::test]
async fn the_json_format_has_every_key_from_the_start() {
    let service = Service::with(&[]).await;
    let scrape = service.scrape().await;
    let mut json = scrape.json().clone();
    assert!(json["uptimeSeconds"].as_f64().unwrap() >= 0.0);
    assert!(json["startTimeSeconds"].as_f64().unwrap() > 1.7e9);
    json["uptimeSeconds"].take();
    json["startTimeSeconds"].take();
    let none = json!({ "sumSeconds": 0.0, "count": 0, "averageSeconds": null });
    let idle = json!({
        "success": 0, "error": 0, "cancelled": 0, "latency": none, "responsesByStatus": {}
    });
    assert_eq!(
        json,
        json!({
            "startTimeSeconds": null,
            "uptimeSeconds": null,
            "requests": { "total": 1, "success": 0, "failed": 0 },
            "latency": none,
            "authentication": { "total": 0, "withProfile": 0, "withoutProfile": 0 },
            "responsesByStatus": {},
            "requestsByRoute": { "GET /metrics": { "requests": 1, "latency": none } },
            "errorsByType": {},
            "requestsInFlight": 1,
            "failuresByFault": { "client": 0, "server": 0 },
            "validationErrorsByField": {},
            "authenticationResults": { "failure": 0, "success": 0 },
            "profileFieldFiltering": { "false": 0, "true": 0 },
            "profileParseErrors": {},
            "upstream": { "login": idle, "profile_fetch": idle },
            "httpClients": { "created": 0, "closed": 0, "close_failed": 0 },
            "lifespanEvents": { "startup": 1, "shutdown": 0 },
        })
    );
}

#[tokio::test]
async fn the_last_format_parameter_wins() {
    let service = Service::any().await;
    for (query, media) in [
        ("", "text/plain"),
        ("?fmt=prometheus", "text/plain"),
        ("?fmt=json", "application/json"),
        ("?fmt=prometheus&fmt=json", "application/json"),
        ("?fmt=xml&fmt=prometheus", "text/plain"),
        ("?f%6Dt=js%6fn", "application/json"),
        ("?other=1", "text/plain"),
    ] {
        let answer = service.request(Method::GET, &format!("/metrics{query}"));
        let answer = answer.send_undescribed().await.expect(200);
        assert!(answer.header("content-type").unwrap().starts_with(media), "{query}");
    }
    for query in ["?fmt=", "?fmt", "?fmt=JSON", "?fmt=xml", "?fmt=json&fmt=xml"] {
        let answer = service.fetch(&format!("/metrics{query}")).await.expect(400);
        assert!(answer.text().contains("fmt must be prometheus or json"), "{query}");
    }
}

async fn scrape_with(service: &Service, credential: Option<&[u8]>, query: &str) -> Answer {
    let request = service.request(Method::GET, &format!("/metrics{query}"));
    match credential {
        Some(credential) => request.header("authorization", credential).send().await,
        None => request.send().await,
    }
}

#[tokio::test]
async fn the_metrics_token_is_checked_first_in_both_formats() {
    let service = Service::with(&[("METRICS_TOKEN", "se same")]).await;
    for query in ["", "?fmt=json", "?fmt=xml"] {
        for credential in [
            None,
            Some(&b""[..]),
            Some(b"Bearer"),
            Some(b"Bearer wrong"),
            Some(b"Basic se same"),
            Some(b"Bearer se same "),
            Some(b"Bearer \tse same"),
            Some(b"Bearer \xe9"),
        ] {
            // A client trims the white space around a header's value.
            if credential == Some(b"Bearer se same ") {
                continue;
            }
            let answer = scrape_with(&service, credential, query).await.expect(401);
            assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
            assert!(answer.text().contains(r#""status":false"#));
        }
    }
    for credential in [&b"Bearer se same"[..], b"bearer se same", b"Bearer    se same"] {
        let _ = scrape_with(&service, Some(credential), "?fmt=json").await.expect(200);
    }
    let _ = scrape_with(&service, Some(b"Bearer se same"), "?fmt=xml").await.expect(400);
    let _ = service.fetch("/health").await.expect(200);
    let scrape = scrape_with(&service, Some(b"Bearer se same"), "?fmt=json").await;
    let scrape = blackbox::authsvc::Scrape::parse(scrape.text());
    assert_eq!(scrape.count("/errorsByType/MetricsAuthorizationError"), 21);
    assert_eq!(scrape.count("/validationErrorsByField/fmt"), 1);
}

#[tokio::test]
async fn without_a_token_any_credential_is_ignored() {
    for settings in [&[][..], &[("METRICS_TOKEN", "")]] {
        let service = Service::with(settings).await;
        let _ = scrape_with(&service, Some(b"Bearer anything"), "").await.expect(200);
    }
}

#[tokio::test]
async fn one_line_end_after_the_token_does_not_count() {
    for line_end in ["\n", "\r\n"] {
        let service = Service::with(&[("METRICS_TOKEN", &format!("token{line_end}"))]).await;
        let _ = scrape_with(&service, Some(b"Bearer token"), "").await.expect(200);
        let _ = service.fetch("/metrics").await.expect(401);
    }
}

#[tokio::test]
async fn both_formats_have_the_same_values() {
    let service = Service::with(&[]).await;
    let _ = service.sign_in("u", "p", json!({ "profile": true })).await.expect(502);
    let _ = service.authenticate("{}").await.expect(400);
    let _ = service.fetch("/metrics?fmt=xml").await.expect(400);
    let text = service.fetch("/metrics").await.expect(200);
    let families = families(text.text());
    let sample = |series: &str| {
        let family = series.split('{').next().unwrap().to_owned();
        families[&family].samples[series]
    };
    let scrape = service.scrape().await;
    for (series, pointer, later) in [
        ("authsvc_requests_total", "/requests/total", 1),
        ("authsvc_requests_success_total", "/requests/success", 1),
        ("authsvc_requests_failed_total", "/requests/failed", 0),
        ("authsvc_responses_total{status=\"400\"}", "/responsesByStatus/400", 0),
        ("authsvc_responses_total{status=\"502\"}", "/responsesByStatus/502", 0),
        ("authsvc_errors_total{type=\"UpstreamError\"}", "/errorsByType/UpstreamError", 0),
        ("authsvc_failures_total{fault=\"server\"}", "/failuresByFault/server", 0),
        ("authsvc_validation_errors_total{field=\"fmt\"}", "/validationErrorsByField/fmt", 0),
        (
            "authsvc_authentication_requests_total{profile=\"true\"}",
            "/authentication/withProfile",
            0,
        ),
        (
            "authsvc_authentication_results_total{result=\"failure\"}",
            "/authenticationResults/failure",
            0,
        ),
        (
            "authsvc_route_requests_total{method=\"POST\",route=\"/authenticate\"}",
            "/requestsByRoute/POST ~1authenticate/requests",
            0,
        ),
        ("authsvc_lifespan_events_total{event=\"startup\"}", "/lifespanEvents/startup", 0),
    ] {
        #[expect(clippy::cast_precision_loss, reason = "small counts")]
        let expected = (scrape.count(pointer) - later) as f64;
        assert_eq!(sample(series), expected, "{series}");
    }
}

#[tokio::test]
async fn every_scrape_adds_up_under_load() {
    let service = Service::with(&[]).await;
    let service = &service;
    let load = async |number: usize| {
        for turn in 0..60 {
            match (number + turn) % 4 {
                0 => drop(service.fetch("/health").await),
                1 => drop(service.authenticate("{}").await),
                2 => drop(service.request(Method::GET, "/x").send_undescribed().await),
                _ => drop(service.sign_in("u", "p", json!({})).await),
            }
        }
    };
    let scrapes = async {
        for _ in 0..100 {
            // Each scrape also checks that its own counters add up.
            assert_eq!(service.scrape().await.abandoned(), 0);
        }
    };
    let loads = futures_util::future::join_all((0..8).map(load));
    futures_util::future::join(loads, scrapes).await;
    let scrape = service.scrape().await;
    assert_eq!(scrape.count("/requestsInFlight"), 1);
    assert_eq!(scrape.count("/requests/total"), 8 * 60 + 101);
}
