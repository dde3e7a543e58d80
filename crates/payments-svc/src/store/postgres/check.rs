//! Recomputes the books from the bottom up.

use std::pin::pin;

use common::postgres::Database;
use futures_util::TryStreamExt as _;
use tokio_postgres::{Error, Row};

use super::super::{
    DatabaseConfig,
    check::{CheckError, Dialect, Findings, Scope, rules},
};
use crate::domain::Id;

/// One snapshot. The joins are of whole tables: a nested loop, which the planner may take where its
/// statistics are old, would make the time grow with the square of the rows.
const SNAPSHOT: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
    SET LOCAL enable_nestloop = off;
    SET LOCAL jit = off";

/// What changed is found by indexes, whatever the planner knows of it.
const BY_INDEX: &str = "SET LOCAL enable_seqscan = off";

/// Checks the books of the store in a database, at one moment, while services may use it.
pub(in super::super) async fn check(
    config: &DatabaseConfig,
    scope: Scope,
) -> Result<(), CheckError> {
    let database = Database::of(config)?;
    let failed = |error| database.failed(error);
    let session = database.connect().await?;
    session.batch_execute(SNAPSHOT).await.map_err(failed)?;
    if scope.since().is_some() {
        session.batch_execute(BY_INDEX).await.map_err(failed)?;
    }
    let mut findings = Findings::default();
    for rule in rules(scope) {
        let sql = rule.statement(scope, Dialect::Postgres);
        // As they come: not all are held in memory.
        let rows = session.query_raw(&sql, scope.since()).await.map_err(failed)?;
        let mut rows = pin!(rows);
        while let Some(row) = rows.try_next().await.map_err(failed)? {
            let (kept, given) = (row.try_get(1), row.try_get(2));
            let place = place(&row).map_err(failed)?;
            findings.note(rule, place, kept.map_err(failed)?, given.map_err(failed)?);
        }
    }
    findings.judge()
}

/// An id, or the code of a currency.
fn place(row: &Row) -> Result<String, Error> {
    match row.try_get::<_, Id>(0) {
        Ok(id) => Ok(id.to_string()),
        Err(_) => row.try_get(0),
    }
}
