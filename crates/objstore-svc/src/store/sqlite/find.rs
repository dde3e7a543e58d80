//! Searches for objects by pattern.

use rusqlite::{Connection, params_from_iter};

use super::{
    super::{Page, PageEnd, order::KeyRange, rows},
    read,
};
use crate::domain::{Key, Pattern, StoredObject};

/// Bytes of objects after which a page ends.
const PAGE_BYTES: usize = 64 * 1024;

/// A range of keys to read.
pub(super) struct Search {
    /// `FROM` to `ORDER BY`. There is no `LIMIT`: [`page`] and [`page_end`] stop reading instead.
    clauses: String,
    parameters: Vec<String>,
}

impl Search {
    /// The keys after `after`, and up to and including `until`, if given.
    pub(super) fn new(pattern: &Pattern, after: Option<&Key>, until: Option<&Key>) -> Self {
        let KeyRange { index, condition, columns, parameters } =
            KeyRange::new(pattern, after, until, |_| "?".to_owned());
        let clauses =
            format!("FROM objects INDEXED BY {index} WHERE {condition} ORDER BY {columns}");
        Self { clauses, parameters }
    }
}

pub(super) fn page(
    connection: &Connection,
    search: &Search,
    limit: usize,
) -> rusqlite::Result<Page> {
    let sql = format!("SELECT {} {}", *rows::OBJECT, search.clauses);
    let mut statement = connection.prepare_cached(&sql)?;
    let mut found = statement.query(params_from_iter(&search.parameters))?;
    let mut objects = Vec::new();
    let mut bytes = 0;
    while objects.len() < limit && bytes < PAGE_BYTES {
        let Some(row) = found.next()? else {
            return Ok(Page { objects, more: false });
        };
        let stored: StoredObject = read::row(row)?;
        bytes += stored.object.size();
        objects.push(stored);
    }
    Ok(Page { objects, more: true })
}

pub(super) fn page_end(
    connection: &Connection,
    search: &Search,
    limit: usize,
) -> rusqlite::Result<Option<PageEnd>> {
    let sql = format!("SELECT {} {}", *rows::KEY, search.clauses);
    let mut statement = connection.prepare_cached(&sql)?;
    let mut found = statement.query(params_from_iter(&search.parameters))?;
    let mut end = None;
    for _ in 0..limit {
        match found.next()? {
            Some(row) => end = Some(read::row(row)?),
            None => return Ok(end.map(|key| PageEnd { key, more: false })),
        }
    }
    let more = found.next()?.is_some();
    Ok(end.map(|key| PageEnd { key, more }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn searches_of_every_shape_use_an_index_search() {
        let mut connection = Connection::open_in_memory().unwrap();
        super::super::migrations::migrations::runner().run(&mut connection).unwrap();
        let key = Key::new("t", "ns", "n").unwrap();
        for (pattern, seek) in [
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
            let search = Search::new(&pattern, Some(&key), None);
            let sql = format!("EXPLAIN QUERY PLAN SELECT value {}", search.clauses);
            let plan: Vec<String> = connection
                .prepare(&sql)
                .unwrap()
                .query_map(params_from_iter(&search.parameters), |row| row.get(3))
                .unwrap()
                .collect::<Result<_, _>>()
                .unwrap();
            assert_eq!(plan, [format!("SEARCH objects USING INDEX {seek}")], "{pattern:?}");
        }
    }
}
