//! The OpenAPI document by itself.

use blackbox::objstore::DOCUMENT;
use serde_json::Value;

/// Every place of the document that has this member.
fn places_with(member: &str) -> Vec<String> {
    fn visit(value: &Value, place: &str, member: &str, found: &mut Vec<String>) {
        let below: Vec<(String, &Value)> = match value {
            Value::Object(members) => {
                let escaped = |name: &str| name.replace('~', "~0").replace('/', "~1");
                members.iter().map(|(name, value)| (escaped(name), value)).collect()
            }
            Value::Array(items) => {
                items.iter().enumerate().map(|(index, value)| (index.to_string(), value)).collect()
            }
            _ => return,
        };
        if value.get(member).is_some() {
            found.push(place.to_owned());
        }
        for (name, value) in below {
            visit(value, &format!("{place}/{name}"), member, found);
        }
    }
    let mut found = Vec::new();
    visit(DOCUMENT.root(), "", member, &mut found);
    found
}

fn at(place: &str) -> &'static Value {
    DOCUMENT.root().pointer(place).unwrap_or_else(|| panic!("{place} is missing"))
}

#[test]
fn every_example_satisfies_its_schema() {
    let mut checked = 0;
    for place in places_with("examples") {
        let examples = at(&format!("{place}/examples"));
        match (examples, at(&place).get("schema")) {
            (Value::Object(examples), Some(_)) => {
                for example in examples.values() {
                    let example = match example["$ref"].as_str() {
                        Some(reference) => at(reference.trim_start_matches('#')),
                        None => example,
                    };
                    DOCUMENT.check_value(&format!("{place}/schema"), &example["value"]);
                    checked += 1;
                }
            }
            (Value::Array(examples), None) => {
                for example in examples {
                    DOCUMENT.check_value(&place, example);
                    checked += 1;
                }
            }
            _ => {}
        }
    }
    assert!(checked > 30, "{checked} examples were found");
}

#[test]
fn every_reference_leads_somewhere() {
    for place in places_with("$ref") {
        let reference = at(&format!("{place}/$ref")).as_str().unwrap();
        at(reference.strip_prefix('#').unwrap());
    }
}

#[test]
fn the_document_describes_the_endpoints_of_the_specification_and_the_few_beside_it() {
    let described: Vec<_> = at("/paths").as_object().unwrap().keys().map(String::as_str).collect();
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
    assert_eq!(at("/security"), &serde_json::json!([{ "session": [] }]));
    assert_eq!(at("/components/securitySchemes/session/in"), "cookie");
    assert_eq!(at("/components/securitySchemes/session/name"), "token");
    for path in ["get", "set", "find", "delete", "watch", "unwatch"] {
        assert_eq!(at(&format!("/paths/~1{path}/post")).get("security"), None);
    }
    assert_eq!(at("/paths/~1socket/get").get("security"), None);
}
