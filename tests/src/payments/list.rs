//! Parses lists, which the service frames by line.

use serde_json::Value;

use super::app::text;
use crate::http::Answer;

/// The items of a list. Checks that `[`, each item and `]` are on separate lines.
pub fn items(answer: &Answer) -> Vec<Value> {
    if answer.text() == "[\n]" {
        return Vec::new();
    }
    let inside = answer.text().strip_prefix("[\n").and_then(|rest| rest.strip_suffix("\n]"));
    let inside = inside.unwrap_or_else(|| panic!("is not framed by line: {answer:?}"));
    let item = |line: &str| {
        assert!(!line.contains('\n'), "an item takes two lines: {answer:?}");
        serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))
    };
    inside.split(",\n").map(item).collect()
}

/// The ids of the items.
pub fn ids(items: &[Value]) -> Vec<String> {
    items.iter().map(|item| text(&item["id"])).collect()
}
