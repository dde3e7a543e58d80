//! `/health`, `/ready`, `/metrics` and `/openapi.json`.

use blackbox::payments::{Card, DOCUMENT, Link, Refusal as _, Service, minimal, next};
use reqwest::Method;
use serde_json::{Value, json};

#[tokio::test]
async fn health_ready_metrics_and_the_document_need_no_credentials() {
    let service = Service::with(&[]).await;
    assert_eq!(service.fetch("/health").await.expect(200).text(), r#"{"status":"ok"}"#);
    let ready = service.fetch("/ready").await.expect(200);
    assert_eq!(ready.text(), r#"{"status":"ready","writes":true}"#);
    let _ = service.fetch("/metrics").await.expect(200);
    let _ = service.fetch("/openapi.json").await.expect(200);
}

#[tokio::test]
async fn the_served_document_is_the_one_the_tests_use() {
    let service = Service::any().await;
    let mut served: Value = service.fetch("/openapi.json").await.expect(200).json();
    // The address of the payment page depends on the service.
    for path in ["/transactions", "/cards"] {
        let place = format!("/paths/{}/servers", path.replace('/', "~1"));
        *served.pointer_mut(&place).unwrap() = DOCUMENT.at(&place).clone();
    }
    assert_eq!(served, *DOCUMENT.root());
}

/// The number of requests for this path that were answered with this status.
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
async fn clients_cannot_create_metric_series() {
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
async fn declines_are_counted_and_logged_by_code_and_origin() {
    let service = Service::with(&[]).await;
    let merchant = service.merchant().await;
    let original = merchant.pay_with(Card::LATER_EMPTY, "EUR", 100).await;
    let repeated = json!({ "transactionId": original.id, "currency": "EUR", "amount": 100 });
    merchant.post("/transactions", &repeated).await.declined(7);
    let _ = merchant.fail(100).await;
    let wrong_code = Card("4100000000000004");
    let saved = json!({ "key": merchant.key, "card": wrong_code.details() });
    assert_eq!(service.pay("/cards", &saved).await.expect(400).json()["code"], 2);
    let _ = service.pay_at(&Link::to(&merchant), Card::DECLINED).await;
    let (form, _) = service.pay_at(&Link::to(&merchant), Card::CHALLENGED[0].0).await;
    let form = form.replace("/?", "/challenge?");
    for _ in 0..2 {
        let _ = next(&service.send_form(&form, "answer=cancel").await);
    }
    let live = merchant.app.merchant_with(&minimal()).await;
    live.charge(&live.payment(Card::LIVE, "EUR", 100)).await.declined(27);
    let saved = json!({ "key": live.key, "card": Card::LIVE.details() });
    assert_eq!(service.pay("/cards", &saved).await.expect(400).json()["code"], 28);

    let scraped = service.fetch("/metrics").await.expect(200);
    let lines = scraped.text().lines();
    let mut counted: Vec<_> =
        lines.filter_map(|line| line.strip_prefix("payments_declines_total")).collect();
    counted.sort_unstable();
    assert_eq!(
        counted,
        [
            "{code=\"27\",origin=\"transactions\"} 1",
            "{code=\"28\",origin=\"cards\"} 1",
            "{code=\"31\",origin=\"page\"} 1",
            "{code=\"4\",origin=\"cards\"} 1",
            "{code=\"7\",origin=\"api\"} 1",
            "{code=\"8\",origin=\"page\"} 1",
            "{code=\"8\",origin=\"transactions\"} 1",
        ]
    );
    service.process().logged(|line| line.contains("\"code\":28")).await;
    let log = service.process().log();
    let declined: Vec<_> = log.iter().filter(|line| line.contains("declined")).collect();
    assert_eq!(declined.len(), counted.len(), "{declined:?}");
    for line in declined {
        assert!(line.contains(&merchant.id) || line.contains(&live.id), "{line}");
        assert!(!line.contains("41000000"), "{line}");
    }
}

#[tokio::test]
async fn metrics_require_the_token_when_one_is_set() {
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
