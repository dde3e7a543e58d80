//! Searches: every pattern is a range of one of three orders of the keys.

use rusqlite::{Connection, params_from_iter, types::Value as Parameter};

use super::{
    super::{Page, PageEnd},
    read,
};
use crate::domain::{Key, Pattern};

/// Bytes after which a page takes no more objects.
const PAGE_BYTES: usize = 64 * 1024;

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
    /// The condition, and the order it is read in. Without a limit: who reads stops, and SQLite
    /// prepares a statement again whenever a limit is bound.
    clauses: String,
    parameters: Vec<Parameter>,
}

impl Range {
    /// After `after` and up to `until`, where they are given.
    pub(super) fn new(pattern: &Pattern, after: Option<&Key>, until: Option<&Key>) -> Self {
        let shape = pattern.shape();
        let Order { parts, index } = ORDERS[shape.index()];
        let given = parts.iter().filter(|&&part| shape.has(part)).count();
        // SQLite seeks by the parts that are not given. Compared by all three, it would scan.
        let compared = &parts[given.min(2)..];

        let mut conditions = vec!["TRUE".to_owned()];
        let mut parameters = Vec::new();
        for &part in &parts[..given] {
            conditions.push(format!("{} = ?", COLUMNS[part]));
            parameters.push(pattern.parts()[part].to_owned().into());
        }
        for (bound, comparison) in [(after, ">"), (until, "<=")] {
            let Some(key) = bound else { continue };
            let places = vec!["?"; compared.len()].join(", ");
            conditions.push(format!("({}) {comparison} ({places})", columns(compared)));
            parameters.extend(compared.iter().map(|&part| key.parts()[part].to_owned().into()));
        }
        let clauses = format!(
            "FROM objects INDEXED BY {index} WHERE {} ORDER BY {}",
            conditions.join(" AND "),
            columns(parts),
        );
        Self { clauses, parameters }
    }
}

fn columns(parts: &[usize]) -> String {
    parts.iter().map(|&part| COLUMNS[part]).collect::<Vec<_>>().join(", ")
}

pub(super) fn page(connection: &Connection, range: &Range, limit: usize) -> rusqlite::Result<Page> {
    let sql = format!("SELECT type, namespace, name, value, owner, revision {}", range.clauses);
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query(params_from_iter(&range.parameters))?;
    let mut objects = Vec::new();
    let mut bytes = 0;
    while objects.len() < limit && bytes < PAGE_BYTES {
        let Some(row) = rows.next()? else {
            return Ok(Page { objects, more: false });
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
) -> rusqlite::Result<Option<PageEnd>> {
    let sql = format!("SELECT type, namespace, name {}", range.clauses);
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query(params_from_iter(&range.parameters))?;
    let mut end = None;
    for _ in 0..limit {
        match rows.next()? {
            Some(row) => end = Some(read::key(row, 0)?),
            None => return Ok(end.map(|key| PageEnd { key, more: false })),
        }
    }
    let more = rows.next()?.is_some();
    Ok(end.map(|key| PageEnd { key, more }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_of_every_pattern_is_sought_in_an_index() {
        let mut connection = Connection::open_in_memory().unwrap();
        super::super::migrations::migrations::runner().run(&mut connection).unwrap();
        let key = Key::new("t", "ns", "n").unwrap();
        for (pattern, sought) in [
            (["", "", ""], "objects_by_key ((type,namespace,name)>(?,?,?))"),
            (["t", "", ""], "objects_by_key (type=? AND (namespace,name)>(?,?))"),
            (["", "ns", ""], "objects_by_namespace (namespace=? AND (name,type)>(?,?))"),
            (["t", "ns", ""], "objects_by_key (type=? AND namespace=? AND name>?)"),
            (["", "", "n"], "objects_by_name (name=? AND (type,namespace)>(?,?))"),
            (["t", "", "n"], "objects_by_name (name=? AND type=? AND namespace>?)"),
            (["", "ns", "n"], "objects_by_namespace (namespace=? AND name=? AND type>?)"),
            (["t", "ns", "n"], "objects_by_key (type=? AND namespace=? AND name=?)"),
        ] {
            let [kind, namespace, name] = pattern;
            let pattern = Pattern::new(kind, namespace, name).unwrap();
            let range = Range::new(&pattern, Some(&key), None);
            let sql = format!("EXPLAIN QUERY PLAN SELECT value {}", range.clauses);
            let plan: Vec<String> = connection
                .prepare(&sql)
                .unwrap()
                .query_map(params_from_iter(&range.parameters), |row| row.get(3))
                .unwrap()
                .collect::<Result<_, _>>()
                .unwrap();
            assert_eq!(plan, [format!("SEARCH objects USING INDEX {sought}")], "{pattern:?}");
        }
    }
}
