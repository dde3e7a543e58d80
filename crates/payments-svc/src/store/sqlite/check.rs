//! `check` in SQLite.

use std::path::Path;

use common::{
    progress::Progress,
    sql::{Columns, Param, bind},
    sqlite::{open_reader, require_current, stop_with},
};
use payments_domain::Id;
use rusqlite::Connection;

use super::{
    super::check::{CheckError, Dialect, EachRow, Findings, SETS, Scope, Source, run},
    DATABASE,
};

/// Checks the ledger. A running service can keep using the store in `data_dir`.
pub(in super::super) async fn check(
    data_dir: &Path,
    scope: Scope,
    progress: &Progress,
) -> Result<(), CheckError> {
    let database = data_dir.join(DATABASE);
    require_current(&database)?;
    let mut db = open_reader(&database)?;
    stop_with(&mut db, progress, |_| ())?;
    sort_in_files(&db, data_dir)?;
    findings(&db, scope, progress).await?.into_result()
}

pub(super) async fn findings(
    db: &Connection,
    scope: Scope,
    progress: &Progress,
) -> Result<Findings, CheckError> {
    create_sets(db)?;
    run(&mut &*db, scope, progress).await
}

fn create_sets(db: &Connection) -> rusqlite::Result<()> {
    let set = |(name, _)| {
        format!(
            "CREATE TEMP TABLE IF NOT EXISTS {name} (id BLOB PRIMARY KEY) STRICT, WITHOUT ROWID;"
        )
    };
    db.execute_batch(&SETS.map(set).concat())
}

impl Source for &Connection {
    const DIALECT: Dialect = Dialect::Sqlite;

    async fn begin(&mut self) -> Result<Id, CheckError> {
        self.execute_batch("BEGIN")?;
        // A write draws its IDs when all before it are written.
        Ok(Id::MAX)
    }

    async fn end(&mut self) -> Result<(), CheckError> {
        Ok(self.execute_batch("COMMIT")?)
    }

    async fn choose(
        &mut self,
        set: usize,
        sql: &str,
        range: &[Param<'_>],
    ) -> Result<(), CheckError> {
        let (set, _) = SETS[set];
        self.execute_batch(&format!("DELETE FROM {set}"))?;
        self.select(&format!("INSERT INTO {set} {sql}"), range, 0, &mut |_| ()).await
    }

    async fn select(
        &self,
        sql: &str,
        params: &[Param<'_>],
        _sets: usize,
        each: &mut EachRow<'_>,
    ) -> Result<(), CheckError> {
        let mut statement = self.prepare(sql)?;
        bind(&mut statement, params)?;
        let mut rows = statement.raw_query();
        while let Some(row) = rows.next()? {
            each(Columns::from(row));
        }
        Ok(())
    }
}

/// Large sorts use files in the data directory, because memory is limited, and a container may have
/// no other writable directory.
pub(in super::super) fn sort_in_files(db: &Connection, data_dir: &Path) -> rusqlite::Result<()> {
    // Fails if the directory is read-only. Then SQLite uses the system's temporary directory.
    let directory = data_dir.to_string_lossy();
    let _: rusqlite::Result<()> = db.pragma_update(None, "temp_store_directory", directory);
    db.pragma_update(None, "temp_store", "file")
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use rusqlite::Row;

    use super::*;
    use crate::store::{check::statements, sqlite::tests::database};

    /// A step of a query plan: its number, the number of its parent step, its text.
    type Step = (i64, i64, String);

    fn plan(db: &Connection, sql: &str) -> Vec<Step> {
        let mut statement = db.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let step = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(3)?));
        statement.raw_query().mapped(step).collect::<Result<_, _>>().unwrap()
    }

    /// Whether a step inside a loop, or a subquery for each row, scans a table instead of using an index.
    fn is_quadratic(plan: &[Step]) -> bool {
        let is_loop = |step: &str| step.starts_with("SCAN") || step.starts_with("SEARCH");
        plan.iter().filter(|(_, _, step)| step.starts_with("SCAN")).any(|(number, parent, _)| {
            plan.iter().any(|(before, of, outer)| {
                of == parent && before < number && is_loop(outer)
                    || before == parent && outer.contains("CORRELATED")
            })
        })
    }

    #[test]
    fn each_page_of_a_table_is_read() {
        let db = database();
        for row in 0..10 {
            let sql = "INSERT INTO day_totals VALUES ($1, 1, 0, 0, $1)";
            db.execute(sql, [[row; Id::BYTES - 1]]).unwrap();
        }
        let findings = findings(&db, Scope::ALL, &Progress::new("check")).now_or_never().unwrap();
        let message = findings.unwrap().into_result().unwrap_err().to_string();
        let found = message.lines().filter(|line| line.contains("stored day_totals.merchant"));
        assert_eq!(found.count(), 10, "{message}");
    }

    #[test]
    fn no_rule_scans_a_table_inside_a_loop() {
        let db = database();
        create_sets(&db).unwrap();
        for (name, sql) in statements(Dialect::Sqlite) {
            let plan = plan(&db, &sql);
            assert!(!is_quadratic(&plan), "{name}: {plan:#?}");
        }
        for quadratic in [
            "SELECT id, (SELECT sum(balance) FROM lines WHERE \"transaction\" = transactions.id)
             FROM transactions",
            "SELECT 1 FROM transactions, lines WHERE balance < captured",
        ] {
            assert!(is_quadratic(&plan(&db, quadratic)), "{quadratic}");
        }
    }
}
