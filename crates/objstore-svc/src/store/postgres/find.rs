//! Searches for objects by pattern.

use common::{
    postgres::{Error, Pool, query},
    sql::Group as _,
};
use tokio_postgres::{Row, types::ToSql};

use super::super::{Page, PageEnd, order::KeyRange, rows};
use crate::domain::{Key, Pattern, StoredObject};

/// Bytes of values after which a page ends.
const PAGE_BYTES: usize = 256 * 1024;

/// A range of keys to read.
pub(super) struct Search(KeyRange);

impl Search {
    /// The keys after `after`, and up to and including `until`, if given.
    pub(super) fn new(pattern: &Pattern, after: Option<&Key>, until: Option<&Key>) -> Self {
        Self(KeyRange::new(pattern, after, until, |number| format!("${number}")))
    }

    /// A statement that selects these columns. Its last parameter is the number of rows.
    fn sql(&self, selected: &str) -> String {
        let KeyRange { condition, columns, parameters, .. } = &self.0;
        let limit = parameters.len() + 1;
        format!(
            "SELECT {selected} FROM objects WHERE {condition} ORDER BY {columns} LIMIT ${limit}"
        )
    }

    async fn query(&self, pool: &Pool, sql: &str, limit: usize) -> Result<Vec<Row>, Error> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let range = self.0.parameters.iter().map(|part| part as &(dyn ToSql + Sync));
        let parameters: Vec<_> = range.chain([&limit as _]).collect();
        let statement = (sql, &parameters[..]);
        let [rows] = pool.acquire(async |connection| query(connection, [statement]).await).await?;
        Ok(rows)
    }
}

/// PostgreSQL knows the length of a value without reading it. So the statement cuts the page by the
/// sum of lengths, and reads no value beyond the page.
pub(super) async fn page(pool: &Pool, search: &Search, limit: usize) -> Result<Page, Error> {
    let columns = &search.0.columns;
    let range = search.sql("*");
    let sql = format!(
        "SELECT {} FROM (
             SELECT *, sum(octet_length(value)) OVER (
                 ORDER BY {columns} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
             ) AS before FROM ({range}) AS range
         ) AS objects WHERE coalesce(before, 0) < {PAGE_BYTES} ORDER BY {columns}",
        *rows::OBJECT
    );
    let found = search.query(pool, &sql, limit).await?;
    let objects = found.iter().map(|row| StoredObject::read(&mut row.into()));
    let objects = objects.collect::<Result<Vec<_>, _>>()?;
    let bytes: usize = objects.iter().map(|stored| stored.object.value.as_bytes().len()).sum();
    let more = objects.len() >= limit || bytes >= PAGE_BYTES;
    Ok(Page { objects, more })
}

pub(super) async fn page_end(
    pool: &Pool,
    search: &Search,
    limit: usize,
) -> Result<Option<PageEnd>, Error> {
    let found = search.query(pool, &search.sql(&rows::KEY), limit + 1).await?;
    let end = found.iter().take(limit).next_back();
    let end = end.map(|row| Key::read(&mut row.into())).transpose()?;
    Ok(end.map(|key| PageEnd { key, more: found.len() > limit }))
}
