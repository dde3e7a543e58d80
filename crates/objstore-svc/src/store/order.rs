//! The orders of the keys that are kept: every pattern is a range of one of them.

use crate::domain::{Key, Pattern};

/// An order of the keys, by the places of its parts in a key, and the index that keeps it.
pub(super) struct Order {
    pub(super) parts: [usize; 3],
    pub(super) index: &'static str,
}

const BY_KEY: Order = Order { parts: [0, 1, 2], index: "objects_by_key" };
const BY_NAMESPACE: Order = Order { parts: [1, 2, 0], index: "objects_by_namespace" };
const BY_NAME: Order = Order { parts: [2, 0, 1], index: "objects_by_name" };

/// The order that serves each shape: the parts a shape gives come first in it.
const ORDERS: [&Order; 8] =
    [&BY_KEY, &BY_KEY, &BY_NAMESPACE, &BY_KEY, &BY_NAME, &BY_NAME, &BY_NAMESPACE, &BY_KEY];

const COLUMNS: [&str; 3] = ["type", "namespace", "name"];

/// The keys that a pattern matches, between two of them: a condition in SQL, with `?` or `$1` and so
/// on for what it compares with.
pub(super) struct Range {
    pub(super) order: &'static Order,
    /// What has to hold.
    pub(super) condition: String,
    /// The columns that the keys are sorted by: those that the pattern leaves open.
    pub(super) columns: String,
    /// What the condition compares with.
    pub(super) parameters: Vec<String>,
}

impl Range {
    /// After `after` and up to `until`, where they are given. `place` spells the place of the
    /// parameter with this number, the first of them 1.
    pub(super) fn new(
        pattern: &Pattern,
        after: Option<&Key>,
        until: Option<&Key>,
        place: impl Fn(usize) -> String,
    ) -> Self {
        let shape = pattern.shape();
        let order = ORDERS[shape.index()];
        let parts = &order.parts;
        let given = parts.iter().filter(|&&part| shape.has(part)).count();
        // An engine seeks by the parts that are not given. Compared by all three, it would scan.
        let compared = &parts[given.min(2)..];

        let mut conditions = vec!["TRUE".to_owned()];
        let mut parameters = Vec::new();
        let mut bind = |part: &str| {
            parameters.push(part.to_owned());
            place(parameters.len())
        };
        for &part in &parts[..given] {
            conditions.push(format!("{} = {}", COLUMNS[part], bind(pattern.parts()[part])));
        }
        for (bound, comparison) in [(after, ">"), (until, "<=")] {
            let Some(key) = bound else { continue };
            let places: Vec<_> = compared.iter().map(|&part| bind(key.parts()[part])).collect();
            let places = places.join(", ");
            conditions.push(format!("({}) {comparison} ({places})", columns(compared)));
        }
        Self { order, condition: conditions.join(" AND "), columns: columns(compared), parameters }
    }
}

fn columns(parts: &[usize]) -> String {
    parts.iter().map(|&part| COLUMNS[part]).collect::<Vec<_>>().join(", ")
}
