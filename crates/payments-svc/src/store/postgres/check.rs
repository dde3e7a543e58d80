//! Runs the rules of `check` in PostgreSQL.

use std::pin::pin;

use common::{postgres::Database, progress::Progress, sql::Columns};
use futures_util::TryStreamExt as _;
use tokio_postgres::GenericClient;

use super::super::{
    DatabaseConfig,
    check::{CheckError, Dialect, Findings, Scope, rules, tables},
    rows,
};

/// Begins one snapshot for all statements.
pub(super) const SNAPSHOT: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

/// Nested loops are off, because the rules join whole tables: with old statistics, the planner may
/// choose a nested loop, whose time grows with the square of the rows.
pub(in super::super) const PLANNER: &str = "SET LOCAL enable_nestloop = off;
    SET LOCAL jit = off";

/// A check with `--since` finds the changes by index, even without statistics.
const BY_INDEX: &str = "SET LOCAL enable_seqscan = off";

/// Checks the ledger in one snapshot. Running services can keep using the database.
pub(in super::super) async fn check(
    config: &DatabaseConfig,
    scope: Scope,
    progress: &Progress,
) -> Result<(), CheckError> {
    let database = Database::of(config)?;
    let failed = |error| database.failed(error);
    let session = database.connect().await?;
    session.batch_execute(SNAPSHOT).await.map_err(failed)?;
    session.batch_execute(PLANNER).await.map_err(failed)?;
    if scope.since().is_some() {
        session.batch_execute(BY_INDEX).await.map_err(failed)?;
    }
    let findings = findings(&database, &*session, scope, progress);
    database.unless_stopped(progress, session.cancel_token(), findings).await??.into_result()
}

/// Runs the rules in the open transaction of `session`.
pub(in super::super) async fn findings(
    database: &Database,
    session: &impl GenericClient,
    scope: Scope,
    progress: &Progress,
) -> Result<Findings, CheckError> {
    let failed = |error| database.failed(error);
    let mut findings = Findings::default();
    progress.begin("tables", tables(scope).map(|_| 1).sum());
    for table in tables(scope) {
        let rows = session.query_raw(&(table.select)(), None::<i64>).await.map_err(failed)?;
        let mut rows = pin!(rows);
        while let Some(row) = rows.try_next().await.map_err(failed)? {
            findings.read(&table, &row);
        }
        progress.advance();
    }
    progress.begin("rules", rules(scope).map(|_| 1).sum());
    for rule in rules(scope) {
        let sql = rule.statement(scope, Dialect::Postgres);
        // A stream, because the rows may not fit into memory.
        let rows = session.query_raw(&sql, scope.since()).await.map_err(failed)?;
        let mut rows = pin!(rows);
        while let Some(row) = rows.try_next().await.map_err(failed)? {
            let (kept, given) = (row.try_get(1), row.try_get(2));
            let place = rows::place(&mut Columns::from(&row)).unwrap_or_default();
            findings.add(rule, place, kept.map_err(failed)?, given.map_err(failed)?);
        }
        progress.advance();
    }
    Ok(findings)
}
