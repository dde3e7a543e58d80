//! Recomputes what the books say, from the bottom up.

use std::path::Path;

use rusqlite::{Connection, Row};

use super::{
    super::check::{CheckError, Disagreement, judge, rules},
    DATABASE,
};
use crate::domain::Id;

/// Checks the books of the store in `data_dir`, at one moment, while a service may use it.
pub(in super::super) fn check(data_dir: &Path) -> Result<(), CheckError> {
    let db = common::sqlite::open_reader(&data_dir.join(DATABASE))?;
    let snapshot = db.unchecked_transaction()?;
    let mut found = Vec::new();
    for (rule, sql) in rules() {
        found.extend(broken(&snapshot, rule, &sql)?);
    }
    judge(found)
}

fn broken(db: &Connection, rule: &'static str, sql: &str) -> rusqlite::Result<Vec<Disagreement>> {
    let place = |row: &Row<'_>| match row.get::<_, Id>(0) {
        Ok(id) => Ok(id.to_string()),
        Err(_) => row.get::<_, String>(0),
    };
    db.prepare(sql)?
        .query_map([], |row| {
            Ok(Disagreement { rule, place: place(row)?, kept: row.get(1)?, computed: row.get(2)? })
        })?
        .collect()
}
