//! Lists, framed by line.

use serde_json::Value;

use super::app::text;
use crate::http::Answer;

/// The items of a list. `[` stands on a line of its own, then every item does, then `]`.
///
/// # Panics
///
/// When the framing is another.
pub fn items(answer: &Answer) -> Vec<Value> {
    if answer.text() == "[\n]" {
        return Vec::new();
    }
    let inside = answer.text().strip_prefix("[\n").and_then(|rest| rest.strip_suffix("\n]"));
    let inside = inside.unwrap_or_else(|| panic!("is not framed: {answer:?}"));
    let item = |line: &str| {
        assert!(!line.contains('\n'), "an item takes two lines: {answer:?}");
        serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))
    };
    inside.split(",\n").map(item).collect()
}

/// The ids of items.
///
/// # Panics
///
/// When one has none.
pub fn ids(items: &[Value]) -> Vec<String> {
    items.iter().map(|item| text(&item["id"])).collect()
}
