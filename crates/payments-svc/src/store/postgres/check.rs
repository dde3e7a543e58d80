//! Recomputes the books from the bottom up.

use std::pin::pin;

use common::{postgres::Database, sql::Columns};
use futures_util::TryStreamExt as _;

use super::super::{
    DatabaseConfig,
    check::{CheckError, Dialect, Findings, Scope, rules},
    rows,
};

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
        let found = session.query_raw(&sql, scope.since()).await.map_err(failed)?;
        let mut found = pin!(found);
        while let Some(row) = found.try_next().await.map_err(failed)? {
            let (kept, given) = (row.try_get(1), row.try_get(2));
            let place = rows::place(&mut Columns::from(&row)).unwrap_or_default();
            findings.note(rule, place, kept.map_err(failed)?, given.map_err(failed)?);
        }
    }
    findings.judge()
}
