//! Recomputes what the books say, from the bottom up.

use common::postgres::Database;
use tokio_postgres::Row;

use super::super::{
    DatabaseConfig,
    check::{CheckError, Disagreement, judge, rules},
};
use crate::domain::Id;

/// Checks the books of the store in a database, at one moment, while services may use it.
pub(in super::super) async fn check(config: &DatabaseConfig) -> Result<(), CheckError> {
    let database = Database::of(config)?;
    let failed = |error| database.failed(error);
    let session = database.connect().await?;
    let snapshot = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
    session.batch_execute(snapshot).await.map_err(failed)?;
    let mut found = Vec::new();
    for (rule, sql) in rules() {
        let rows = session.query(&sql, &[]).await.map_err(failed)?;
        for row in &rows {
            found.push(disagreement(rule, row).map_err(failed)?);
        }
    }
    judge(found)
}

fn disagreement(rule: &'static str, row: &Row) -> Result<Disagreement, tokio_postgres::Error> {
    let place = match row.try_get::<_, Id>(0) {
        Ok(id) => id.to_string(),
        Err(_) => row.try_get(0)?,
    };
    Ok(Disagreement { rule, place, kept: row.try_get(1)?, computed: row.try_get(2)? })
}
