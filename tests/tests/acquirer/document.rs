//! The OpenAPI document of the protocol, independent of the answers.

use blackbox::acquirer::DOCUMENT;

#[test]
fn every_example_satisfies_its_schema() {
    let checked = DOCUMENT.check_examples();
    assert!(checked > 25, "only {checked} examples were found");
}

#[test]
fn every_reference_resolves() {
    DOCUMENT.check_references();
}

#[test]
fn the_document_describes_exactly_the_expected_endpoints() {
    let paths = DOCUMENT.at("/paths").as_object().unwrap();
    let mut described: Vec<_> = paths
        .iter()
        .flat_map(|(path, item)| {
            item.as_object().unwrap().keys().map(move |method| format!("{method} {path}"))
        })
        .collect();
    described.sort_unstable();
    let mut expected = [
        "post /authorizations",
        "post /authorizations/{key}/complete",
        "post /captures",
        "post /refunds",
        "post /voids",
        "post /reversals",
        "post /evidence",
        "post /acceptances",
        "get /operations/{key}",
        "get /facts",
    ];
    expected.sort_unstable();
    assert_eq!(described, expected);
}
