//! The OpenAPI document itself, independent of the answers of the service.

use blackbox::payments::{DOCUMENT, Service};
use serde_json::{Value, json};

/// The operations of the document: method, path and description.
fn operations() -> Vec<(String, &'static str, &'static Value)> {
    let paths = DOCUMENT.at("/paths").as_object().unwrap();
    let methods = ["get", "post", "put", "delete", "options"];
    let all = paths.iter().flat_map(|(path, item)| {
        let of = |method: &str| Some((method.to_owned(), path.as_str(), item.get(method)?));
        methods.into_iter().filter_map(of).collect::<Vec<_>>()
    });
    all.collect()
}

#[test]
fn every_example_satisfies_its_schema() {
    let checked = DOCUMENT.check_examples();
    assert!(checked > 60, "only {checked} examples were found");
}

#[tokio::test]
async fn the_served_document_names_the_payment_page_as_configured() {
    let address = async |settings: &[_]| {
        let service = Service::with(settings).await;
        let document = service.fetch("/openapi.json").await.expect(200).json();
        let of = |path| {
            let server = &document["paths"][path]["servers"][0]["variables"]["posUrl"];
            server["default"].as_str().unwrap().to_owned()
        };
        assert_eq!(of("/transactions"), of("/cards"));
        (of("/transactions"), service.pos_url().to_owned())
    };
    let (address_by_default, own) = address(&[]).await;
    assert_eq!(address_by_default, own);
    for url in ["https://pay.example/page/", "https://pay.example/page"] {
        assert_eq!(address(&[("PAYMENTS_POS_URL", url)]).await.0, "https://pay.example/page");
    }
}

#[test]
fn a_form_leaves_optional_parameters_empty() {
    DOCUMENT.check_parameters();
}

#[test]
fn every_reference_resolves() {
    DOCUMENT.check_references();
}

#[test]
fn the_document_describes_exactly_the_expected_endpoints() {
    let described = operations().into_iter().map(|(method, path, _)| format!("{method} {path}"));
    let mut described: Vec<_> = described.collect();
    described.sort_unstable();
    let mut expected = vec![
        "post /apps",
        "post /apps/me/keys",
        "get /apps/me/keys",
        "delete /apps/me/keys/{keyId}",
        "get /me",
        "post /merchants",
        "put /merchants/{merchantId}",
        "get /identities/{appId}/merchants",
        "get /merchants/{merchantId}",
        "post /merchants/{merchantId}/link-secret",
        "post /merchants/{merchantId}/users",
        "delete /merchants/{merchantId}/users/{userId}",
        "get /merchants/{merchantId}/users",
        "post /merchants/{merchantId}/apps",
        "delete /merchants/{merchantId}/apps/{appId}",
        "get /merchants/{merchantId}/apps",
        "get /merchants/{merchantId}/lines",
        "get /lines/{lineId}",
        "post /merchants/{merchantId}/transactions",
        "get /merchants/{merchantId}/transactions",
        "get /transactions/{transactionId}",
        "post /transactions/{transactionId}/captures",
        "post /transactions/{transactionId}/refunds",
        "post /transactions/{transactionId}/voids",
        "post /merchants/{merchantId}/cards",
        "get /cards/{cardId}",
        "get /disputes",
        "get /disputes/{disputeId}",
        "get /disputes/{disputeId}/evidence",
        "get /disputes/{disputeId}/evidence/files/{fileId}",
        "post /disputes/{disputeId}/evidence",
        "post /disputes/{disputeId}/evidence/submit",
        "post /disputes/{disputeId}/accept",
        "get /events",
        "get /events/{eventId}",
        "get /frauds",
        "get /frauds/{fraudId}",
        "get /payouts",
        "get /payouts/{payoutId}/lines",
        "post /webhooks",
        "get /webhooks",
        "get /webhooks/{webhookId}",
        "put /webhooks/{webhookId}",
        "delete /webhooks/{webhookId}",
        "post /webhooks/{webhookId}/rotate",
        "post /webhooks/{webhookId}/test",
        "post /webhooks/{webhookId}/replay",
        "get /webhooks/{webhookId}/deliveries",
        "post /sandbox/clock",
        "post /acquirer/events",
        "post /stripe/events",
        "post /transactions",
        "options /transactions",
        "post /cards",
        "options /cards",
        "get /health",
        "get /ready",
        "get /metrics",
        "get /openapi.json",
    ];
    expected.sort_unstable();
    assert_eq!(described, expected);
}

#[test]
fn endpoints_require_the_key_unless_declared_otherwise() {
    assert_eq!(DOCUMENT.at("/security"), &json!([{ "apiKey": [] }]));
    let scheme = DOCUMENT.at("/components/securitySchemes/apiKey");
    assert_eq!((&scheme["type"], &scheme["scheme"]), (&json!("http"), &json!("basic")));
    for (method, path, operation) in operations() {
        let others = ["/apps", "/metrics", "/acquirer/events", "/stripe/events"];
        let open = ["/transactions", "/cards", "/health", "/ready", "/openapi.json"];
        let (other, open) = (others.contains(&path), open.contains(&path));
        assert_eq!(operation.get("security").is_some(), open || other, "{method} {path}");
        assert_eq!(operation["responses"].get("401").is_some(), !open, "{method} {path}");
    }
}

#[test]
fn every_post_with_credentials_takes_an_idempotency_key() {
    let key = json!({ "$ref": "#/components/parameters/IdempotencyKey" });
    for (method, path, operation) in operations() {
        // A test of a webhook changes nothing.
        let is_repeatable = path == "/webhooks/{webhookId}/test";
        let keyed = method == "post" && operation.get("security").is_none() && !is_repeatable;
        let parameters = operation["parameters"].as_array().cloned().unwrap_or_default();
        assert_eq!(parameters.contains(&key), keyed, "{method} {path}");
        for status in ["409", "422"] {
            let described = operation["responses"].get(status).is_some();
            assert_eq!(described, keyed, "{method} {path} {status}");
        }
    }
}
