//! Searches: every pattern is a range of one of three orders of the keys.

use rusqlite::{Connection, params_from_iter, types::Value as Parameter};

use super::{super::Page, read};
use crate::domain::{Key, Pattern};

/// Bytes after which a page takes no more objects.
const PAGE_BYTES: usize = 256 * 1024;

/// An order of the keys, by the places of its parts in a key, and the index that keeps it.
struct Order {
    parts: [usize; 3],
    index: &'static str,
}

const BY_KEY: Order = Order { parts: [0, 1, 2], index: "objects_by_key" };
const BY_NAMESPACE: Order = Order { parts: [1, 2, 0], index: "objects_by_namespace" };
const BY_NAME: Order = Order { parts: [2, 0, 1], index: "objects_by_name" };

/// The order that serves each shape: the parts a shape gives come first in it.
const ORDERS: [&Order; 8] =
    [&BY_KEY, &BY_KEY, &BY_NAMESPACE, &BY_KEY, &BY_NAME, &BY_NAME, &BY_NAMESPACE, &BY_KEY];

const COLUMNS: [&str; 3] = ["type", "namespace", "name"];

/// The keys that a pattern matches, between two of them.
pub(super) struct Range {
    /// The condition, and the order it is read in.
    clauses: String,
    parameters: Vec<Parameter>,
}

impl Range {
    /// After `after` and up to `until`, where they are given.
    pub(super) fn new(pattern: &Pattern, after: Option<&Key>, until: Option<&Key>) -> Self {
        let shape = pattern.shape();
        let order = ORDERS[shape.index()];
        let columns = order.parts.map(|part| COLUMNS[part]).join(", ");
        let mut parameters = Vec::new();
        let mut conditions = Vec::new();
        for part in order.parts.into_iter().filter(|&part| shape.has(part)) {
            conditions.push(format!("{} = ?", COLUMNS[part]));
            parameters.push(pattern.parts()[part].to_owned().into());
        }
        let bounds = [(after, ">"), (until, "<=")];
        for (bound, comparison) in bounds.into_iter().filter_map(|(key, it)| Some((key?, it))) {
            conditions.push(format!("({columns}) {comparison} (?, ?, ?)"));
            parameters.extend(order.parts.map(|part| bound.parts()[part].to_owned().into()));
        }
        if conditions.is_empty() {
            conditions.push("TRUE".to_owned());
        }
        let clauses = format!(
            "FROM objects INDEXED BY {} WHERE {} ORDER BY {columns} LIMIT ?",
            order.index,
            conditions.join(" AND "),
        );
        Self { clauses, parameters }
    }

    fn parameters(&self, limit: usize) -> impl Iterator<Item = Parameter> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.parameters.iter().cloned().chain([limit.into()])
    }
}

pub(super) fn page(connection: &Connection, range: &Range, limit: usize) -> rusqlite::Result<Page> {
    let sql = format!("SELECT type, namespace, name, value, owner, revision {}", range.clauses);
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query(params_from_iter(range.parameters(limit)))?;
    let mut objects = Vec::new();
    let mut bytes = 0;
    while bytes < PAGE_BYTES {
        let Some(row) = rows.next()? else {
            let more = objects.len() == limit;
            return Ok(Page { objects, more });
        };
        let stored = read::stored(row)?;
        bytes += stored.object.size();
        objects.push(stored);
    }
    Ok(Page { objects, more: true })
}

pub(super) fn page_end(
    connection: &Connection,
    range: &Range,
    limit: usize,
) -> rusqlite::Result<Option<Key>> {
    let sql = format!("SELECT type, namespace, name {}", range.clauses);
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query(params_from_iter(range.parameters(limit + 1)))?;
    let mut last = None;
    let mut seen = 0;
    while let Some(row) = rows.next()? {
        seen += 1;
        if seen > limit {
            return Ok(last);
        }
        if seen == limit {
            last = Some(read::key(row, 0)?);
        }
    }
    Ok(None)
}
