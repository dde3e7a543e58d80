//! Chooses the index for a search. Every pattern is one contiguous range of one of three indexes.
//!
//! Both engines keep three indexes on the parts of a key. For every pattern, one of them starts
//! with the parts that the pattern gives. So a search reads one range of one index, and never
//! sorts.

use crate::domain::{Key, Pattern};

/// The index of each order, by the first part of `Shape::order`.
const INDEXES: [&str; 3] = ["objects_by_key", "objects_by_namespace", "objects_by_name"];

const COLUMNS: [&str; 3] = ["type", "namespace", "name"];

/// The keys that match a pattern, between two bounds, as parts of an SQL statement.
pub(super) struct KeyRange {
    pub(super) index: &'static str,
    /// For `WHERE`, with placeholders for the parameters.
    pub(super) condition: String,
    /// For `ORDER BY`: the columns of the parts that are empty in the pattern. If none is empty,
    /// the last column, because SQL needs at least one.
    pub(super) columns: String,
    /// The values of the placeholders, in their order.
    pub(super) parameters: Vec<String>,
}

impl KeyRange {
    /// The keys after `after`, and up to and including `until`, if given. `placeholder` returns the
    /// placeholder of the parameter with a number, counted from 1: `?` or `$1`.
    pub(super) fn new(
        pattern: &Pattern,
        after: Option<&Key>,
        until: Option<&Key>,
        placeholder: impl Fn(usize) -> String,
    ) -> Self {
        let shape = pattern.shape();
        let parts = shape.order();
        let given = parts.iter().filter(|&&part| shape.has(part)).count();
        // Compare only the parts that are not given: then the engine seeks in the index. If all
        // three parts were compared, it would scan.
        let compared = &parts[given.min(2)..];

        let mut conditions = vec!["TRUE".to_owned()];
        let mut parameters = Vec::new();
        let mut bind = |part: &str| {
            parameters.push(part.to_owned());
            placeholder(parameters.len())
        };
        for &part in &parts[..given] {
            conditions.push(format!("{} = {}", COLUMNS[part], bind(pattern.parts()[part])));
        }
        for (bound, comparison) in [(after, ">"), (until, "<=")] {
            let Some(key) = bound else { continue };
            let placeholders: Vec<_> =
                compared.iter().map(|&part| bind(key.parts()[part])).collect();
            let placeholders = placeholders.join(", ");
            conditions.push(format!("({}) {comparison} ({placeholders})", columns(compared)));
        }
        let (index, columns) = (INDEXES[parts[0]], columns(compared));
        Self { index, condition: conditions.join(" AND "), columns, parameters }
    }
}

fn columns(parts: &[usize]) -> String {
    parts.iter().map(|&part| COLUMNS[part]).collect::<Vec<_>>().join(", ")
}
