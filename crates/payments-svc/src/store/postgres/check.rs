//! `check` in PostgreSQL.

use std::pin::pin;

use common::{
    postgres::Database,
    progress::Progress,
    sql::{Columns, Param},
};
use futures_util::TryStreamExt as _;
use payments_domain::Id;
use tokio_postgres::{GenericClient, types::ToSql};

use super::super::{
    DatabaseConfig,
    check::{CheckError, Dialect, EachRow, Findings, Scope, Source, run},
};

/// Begins one snapshot for all statements.
pub(super) const SNAPSHOT: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

/// Nested loops are off, because statements join large tables: with old statistics, the planner may
/// choose a nested loop, whose time grows with the square of the rows.
pub(super) const PLANNER: &str = "SET LOCAL enable_nestloop = off;
    SET LOCAL jit = off";

/// An index finds the rows of a slice, even without statistics.
const BY_INDEX: &str = "SET LOCAL enable_seqscan = off";

/// Selects an ID that is a minute old. Later, no row is added with this ID or a smaller one: the
/// timeouts of statements end each write sooner. On a replica of the server, too.
const SETTLED: &str = "SELECT id_of(last_value - 60, 0) FROM id_seconds";

/// Checks the ledger. Running services can keep using the database.
pub(in super::super) async fn check(
    config: &DatabaseConfig,
    scope: Scope,
    progress: &Progress,
) -> Result<(), CheckError> {
    let database = Database::of(config)?;
    let session = database.connect_patiently().await?;
    let findings = findings(&database, &*session, false, scope, progress);
    database.unless_stopped(progress, session.cancel_token(), findings).await??.into_result()
}

/// Runs the rules. If the session `is_in_transaction`, all snapshots are its own.
pub(in super::super) async fn findings(
    database: &Database,
    session: &impl GenericClient,
    is_in_transaction: bool,
    scope: Scope,
    progress: &Progress,
) -> Result<Findings, CheckError> {
    let sets = Default::default();
    let mut source = Session { database, session, is_in_transaction, sets };
    run(&mut source, scope, progress).await
}

struct Session<'s, S> {
    database: &'s Database,
    session: &'s S,
    is_in_transaction: bool,
    sets: [Vec<Vec<u8>>; 3],
}

impl<S: GenericClient> Source for Session<'_, S> {
    const DIALECT: Dialect = Dialect::Postgres;

    async fn begin(&mut self) -> Result<Id, CheckError> {
        let begin = if self.is_in_transaction { "" } else { SNAPSHOT };
        let begin = format!("{begin}; {PLANNER}; {BY_INDEX}");
        self.session.batch_execute(&begin).await.map_err(|error| self.database.failed(error))?;
        if self.is_in_transaction {
            return Ok(Id::MAX);
        }
        let mut settled = Id::MIN;
        let each = &mut |mut columns: Columns<'_>| settled = columns.read().unwrap_or(settled);
        self.select(SETTLED, &[], 0, each).await?;
        Ok(settled)
    }

    async fn end(&mut self) -> Result<(), CheckError> {
        if !self.is_in_transaction {
            let ended = self.session.batch_execute("COMMIT").await;
            ended.map_err(|error| self.database.failed(error))?;
        }
        Ok(())
    }

    async fn choose(
        &mut self,
        set: usize,
        sql: &str,
        range: &[Param<'_>],
    ) -> Result<(), CheckError> {
        let mut ids = Vec::new();
        let each = &mut |mut columns: Columns<'_>| ids.extend(columns.read::<Vec<u8>>());
        self.select(sql, range, set.min(1), each).await?;
        self.sets[set] = ids;
        Ok(())
    }

    /// Rows come as a stream, because they may not fit into memory.
    async fn select(
        &self,
        sql: &str,
        params: &[Param<'_>],
        sets: usize,
        each: &mut EachRow<'_>,
    ) -> Result<(), CheckError> {
        let failed = |error| self.database.failed(error);
        let single = params.iter().map(|param| param as &(dyn ToSql + Sync));
        let sets = self.sets.iter().take(sets).map(|set| set as &(dyn ToSql + Sync));
        let params: Vec<_> = single.chain(sets).collect();
        let rows = self.session.query_raw(sql, params).await.map_err(failed)?;
        let mut rows = pin!(rows);
        while let Some(row) = rows.try_next().await.map_err(failed)? {
            each(Columns::from(&row));
        }
        Ok(())
    }
}
