//! The consistency of the OpenAPI document.

use blackbox::objstore::DOCUMENT;

#[test]
fn every_example_satisfies_its_schema() {
    let checked = DOCUMENT.check_examples();
    assert!(checked > 30, "{checked} examples were found");
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
    let described: Vec<_> =
        DOCUMENT.at("/paths").as_object().unwrap().keys().map(String::as_str).collect();
    let mut expected = vec![
        "/register",
        "/logout",
        "/get",
        "/set",
        "/find",
        "/delete",
        "/batch",
        "/watch",
        "/unwatch",
        "/watches",
        "/socket",
        "/streams",
        "/streams/{Type}",
        "/streams/{Type}/{Namespace}",
        "/streams/{Type}/{Namespace}/{Name}",
        "/health",
        "/ready",
        "/metrics",
        "/openapi.json",
    ];
    expected.sort_unstable();
    assert_eq!(described, expected);
}

#[test]
fn endpoints_require_the_session_cookie_by_default() {
    assert_eq!(DOCUMENT.at("/security"), &serde_json::json!([{ "session": [] }]));
    assert_eq!(DOCUMENT.at("/components/securitySchemes/session/in"), "cookie");
    assert_eq!(DOCUMENT.at("/components/securitySchemes/session/name"), "token");
    for path in ["get", "set", "find", "delete", "batch", "watch", "unwatch"] {
        assert_eq!(DOCUMENT.at(&format!("/paths/~1{path}/post")).get("security"), None);
    }
    assert_eq!(DOCUMENT.at("/paths/~1socket/get").get("security"), None);
}
