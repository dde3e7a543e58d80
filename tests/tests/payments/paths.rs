//! Paths, methods and cross-origin requests.

use blackbox::payments::{Card, Merchant, Service, Transaction, minimal};
use reqwest::Method;
use serde_json::json;

async fn reserved(service: &Service) -> (Merchant, Transaction) {
    let merchant = service.merchant().await;
    let transaction = merchant.pay("EUR", 1000).await;
    (merchant, transaction)
}

/// All paths with their supported methods.
fn routes(merchant: &Merchant, transaction: &Transaction) -> Vec<(String, Vec<Method>)> {
    let id = "6b016ea00000000000000001";
    let (get, post) = (vec![Method::GET], vec![Method::POST]);
    vec![
        ("/apps".to_owned(), post.clone()),
        ("/apps/me/keys".to_owned(), vec![Method::POST, Method::GET]),
        (format!("/apps/me/keys/{id}"), vec![Method::DELETE]),
        ("/me".to_owned(), get.clone()),
        ("/merchants".to_owned(), post.clone()),
        (merchant.app.merchants(""), get.clone()),
        (merchant.path(""), vec![Method::PUT, Method::GET]),
        (merchant.path("/link-secret"), post.clone()),
        (merchant.path("/users"), vec![Method::POST, Method::GET]),
        (merchant.path(&format!("/users/{id}")), vec![Method::DELETE]),
        (merchant.path("/apps"), vec![Method::POST, Method::GET]),
        (merchant.path(&format!("/apps/{id}")), vec![Method::DELETE]),
        (merchant.path("/lines"), get.clone()),
        (format!("/lines/{id}"), get.clone()),
        (merchant.path("/transactions"), vec![Method::POST, Method::GET]),
        (transaction.path(), get.clone()),
        (format!("{}/captures", transaction.path()), post.clone()),
        (format!("{}/refunds", transaction.path()), post.clone()),
        (format!("{}/voids", transaction.path()), post.clone()),
        (merchant.path("/cards"), post.clone()),
        (format!("/cards/{id}"), get.clone()),
        ("/disputes".to_owned(), get.clone()),
        (format!("/disputes/{id}"), get.clone()),
        (format!("/disputes/{id}/evidence"), vec![Method::GET, Method::POST]),
        (format!("/disputes/{id}/evidence/submit"), post.clone()),
        (format!("/disputes/{id}/accept"), post.clone()),
        ("/frauds".to_owned(), get.clone()),
        (format!("/frauds/{id}"), get.clone()),
        ("/payouts".to_owned(), get.clone()),
        (format!("/payouts/{id}/lines"), get.clone()),
        ("/webhooks".to_owned(), vec![Method::POST, Method::GET]),
        (format!("/webhooks/{id}"), vec![Method::GET, Method::PUT, Method::DELETE]),
        (format!("/webhooks/{id}/rotate"), vec![Method::POST]),
        (format!("/webhooks/{id}/test"), vec![Method::POST]),
        (format!("/webhooks/{id}/replay"), vec![Method::POST]),
        (format!("/webhooks/{id}/deliveries"), get.clone()),
        ("/sandbox/clock".to_owned(), post),
        ("/health".to_owned(), get.clone()),
        ("/ready".to_owned(), get.clone()),
        ("/metrics".to_owned(), get.clone()),
        ("/openapi.json".to_owned(), get),
    ]
}

#[tokio::test]
async fn an_unsupported_method_is_405_with_the_allowed_methods() {
    let service = Service::any().await;
    let (merchant, transaction) = reserved(&service).await;
    let brew = Method::from_bytes(b"BREW").unwrap();
    let methods = [
        Method::GET,
        Method::POST,
        Method::PUT,
        Method::DELETE,
        Method::PATCH,
        Method::OPTIONS,
        brew,
    ];
    for (path, taken) in routes(&merchant, &transaction) {
        for method in methods.iter().filter(|method| !taken.contains(method)) {
            let answer = merchant.app.request(method.clone(), &path).send().await;
            answer.refused(405, "method_not_allowed");
            let allow = answer.header("allow").unwrap().split(',').map(str::trim);
            let allowed: Vec<_> = allow.filter(|method| *method != "HEAD").collect();
            let taken: Vec<_> = taken.iter().map(Method::as_str).collect();
            assert!(taken.iter().all(|method| allowed.contains(method)), "{answer:?}");
            assert_eq!(allowed.len(), taken.len(), "{answer:?}");
        }
    }
}

#[tokio::test]
async fn an_unknown_path_is_404() {
    let service = Service::any().await;
    let (merchant, transaction) = reserved(&service).await;
    for path in [
        "/".to_owned(),
        "/merchant".to_owned(),
        "/ME".to_owned(),
        "/me/x".to_owned(),
        "/transactions".to_owned(),
        "/cards".to_owned(),
        "/identities".to_owned(),
        merchant.path("/captures"),
        merchant.path(&format!("/transactions/{}", transaction.id)),
        format!("{}/trail", transaction.path()),
        "/.git/config".to_owned(),
    ] {
        for method in [Method::GET, Method::POST, Method::PUT, Method::DELETE] {
            let answer = merchant.app.request(method, &path).send().await;
            answer.refused(404, "not_found");
        }
    }
}

#[tokio::test]
async fn a_slash_at_the_end_is_accepted_on_both_ports() {
    let service = Service::any().await;
    let app = service.app().await;
    let _ = service.request(Method::POST, "/apps/").send().await.expect(201);
    let _ = app.get("/me/").await.expect(200);
    let answer = app.post("/merchants/", &minimal()).await.expect(201);
    assert!(answer.json()["merchant"]["test"] == false);
    let (merchant, transaction) = reserved(&service).await;
    let app = &merchant.app;
    let _ = app.get(&merchant.path("/")).await.expect(200);
    let _ = app.put(&merchant.path("/"), &json!({})).await.expect(204);
    let _ = app.get(&merchant.path("/lines/?limit=1")).await.expect(200);
    let _ = app.get(&app.merchants("/?limit=1")).await.expect(200);
    let path = format!("{}/captures/", transaction.path());
    let _ = app.post(&path, &json!({ "amount": 10 })).await.expect(201);
    assert_eq!(transaction.fetch().await["capturedAmount"], 10);
    let payment = merchant.payment(Card::VISA, "EUR", 995);
    let _ = service.pay("/transactions/", &payment).await.expect(201);
    let _ = service.pay("/cards/", &json!({})).await.expect(400);
}

#[tokio::test]
async fn a_slash_at_the_end_is_not_another_route_in_metrics() {
    let service = Service::with(&[]).await;
    let app = service.app().await;
    let _ = app.get("/me/").await.expect(200);
    let _ = app.get("/me").await.expect(200);
    let _ = app.put("/me/", &json!({})).await.expect(405);
    let name = r#"payments_http_requests_total{method="GET",route="/me",status="200"}"#;
    assert_eq!(service.metric(name).await, 2);
    let name = r#"payments_http_requests_total{method="PUT",route="/me",status="405"}"#;
    assert_eq!(service.metric(name).await, 1);
}

#[tokio::test]
async fn other_additional_slashes_are_not_found_on_both_ports() {
    let service = Service::any().await;
    let (merchant, _) = reserved(&service).await;
    for path in [
        "//apps",
        "///apps",
        "//apps/",
        "/apps//",
        "//me",
        "/me//",
        "//metrics",
        "///metrics/",
        "/metrics/",
        "//health",
        "/health/",
        "/ready/",
        "/docs/",
    ] {
        for method in [Method::GET, Method::POST] {
            let answer = merchant.app.request(method, path).send().await;
            answer.refused(404, "not_found");
        }
    }
    for path in ["//", "//transactions", "/transactions//", "//cards", "/returned/"] {
        for method in [Method::GET, Method::POST] {
            service.pos(method, path).send_undescribed().await.refused(404, "not_found");
        }
    }
}

#[tokio::test]
async fn cross_origin_requests_are_not_allowed() {
    let service = Service::any().await;
    let app = service.app().await;
    let preflight = app
        .request(Method::OPTIONS, "/merchants")
        .header("origin", "https://shop.example")
        .header("access-control-request-method", "POST");
    let from = |path| app.request(Method::GET, path).header("origin", "https://shop.example");
    for answer in
        [preflight.send().await.expect(405), from("/me").send().await, from("/nope").send().await]
    {
        let is_cross_origin = |name: &str| name.starts_with("access-control");
        assert!(!answer.headers.keys().any(|name| is_cross_origin(name.as_str())), "{answer:?}");
    }
}
