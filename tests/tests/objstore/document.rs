//! The OpenAPI document by itself.

use blackbox::objstore::DOCUMENT;

#[test]
fn every_example_satisfies_its_schema() {
    let checked = DOCUMENT.check_examples();
    assert!(checked > 30, "{checked} examples were found");
}

#[test]
fn every_reference_leads_somewhere() {
    DOCUMENT.check_references();
}

#[test]
fn the_document_describes_the_endpoints_of_the_specification_and_the_few_beside_it() {
    let described: Vec<_> =
        DOCUMENT.at("/paths").as_object().unwrap().keys().map(String::as_str).collect();
    let mut expected = vec![
        "/register",
        "/get",
        "/set",
        "/find",
        "/delete",
        "/watch",
        "/unwatch",
        "/socket",
        "/health",
        "/ready",
        "/metrics",
        "/openapi.json",
    ];
    expected.sort_unstable();
    assert_eq!(described, expected);
}

#[test]
fn every_endpoint_asks_for_the_cookie_unless_it_says_otherwise() {
    assert_eq!(DOCUMENT.at("/security"), &serde_json::json!([{ "session": [] }]));
    assert_eq!(DOCUMENT.at("/components/securitySchemes/session/in"), "cookie");
    assert_eq!(DOCUMENT.at("/components/securitySchemes/session/name"), "token");
    for path in ["get", "set", "find", "delete", "watch", "unwatch"] {
        assert_eq!(DOCUMENT.at(&format!("/paths/~1{path}/post")).get("security"), None);
    }
    assert_eq!(DOCUMENT.at("/paths/~1socket/get").get("security"), None);
}
