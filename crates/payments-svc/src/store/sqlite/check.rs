//! Runs the rules of `check` in SQLite.

use std::path::Path;

use common::{
    progress::Progress,
    sql::Columns,
    sqlite::{open_reader, stop_with},
};
use rusqlite::{Connection, params_from_iter};

use super::{
    super::{
        check::{CheckError, Dialect, Findings, Rule, Scope, rules, tables},
        rows,
    },
    DATABASE,
};

/// Checks the ledger in one snapshot. A running service can keep using the store in `data_dir`.
pub(in super::super) fn check(
    data_dir: &Path,
    scope: Scope,
    progress: &Progress,
) -> Result<(), CheckError> {
    let mut db = open_reader(&data_dir.join(DATABASE))?;
    stop_with(&mut db, progress, |_| ())?;
    sort_in_files(&db, data_dir)?;
    findings(&*db.unchecked_transaction()?, scope, progress)?.into_result()
}

pub(super) fn findings(
    db: &Connection,
    scope: Scope,
    progress: &Progress,
) -> rusqlite::Result<Findings> {
    let mut findings = Findings::default();
    progress.begin("tables", tables(scope).map(|_| 1).sum());
    for table in tables(scope) {
        let mut statement = db.prepare(&(table.select)())?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            findings.read(&table, row);
        }
        progress.advance();
    }
    progress.begin("rules", rules(scope).map(|_| 1).sum());
    for rule in rules(scope) {
        run(db, rule, scope, &mut findings)?;
        progress.advance();
    }
    Ok(findings)
}

/// Large sorts use files in the data directory, because memory is limited, and a container may have
/// no other writable directory.
pub(in super::super) fn sort_in_files(db: &Connection, data_dir: &Path) -> rusqlite::Result<()> {
    // Fails if the directory is read-only. Then SQLite uses the system's temporary directory.
    let directory = data_dir.to_string_lossy();
    let _: rusqlite::Result<()> = db.pragma_update(None, "temp_store_directory", directory);
    db.pragma_update(None, "temp_store", "file")
}

fn run(
    db: &Connection,
    rule: &Rule,
    scope: Scope,
    findings: &mut Findings,
) -> rusqlite::Result<()> {
    let mut statement = db.prepare(&rule.statement(scope, Dialect::Sqlite))?;
    let mut rows = statement.query(params_from_iter(scope.since()))?;
    while let Some(row) = rows.next()? {
        let place = rows::place(&mut Columns::from(row))?;
        findings.add(rule, place, row.get(1)?, row.get_ref(2)?.as_str()?);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use payments_domain::Id;
    use rusqlite::Row;

    use super::*;
    use crate::store::sqlite::tests::database;

    /// A step of a query plan: its number, the number of its parent step, its text.
    type Step = (i64, i64, String);

    fn plan(db: &Connection, sql: &str, scope: Scope) -> Vec<Step> {
        let mut statement = db.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let step = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(3)?));
        let steps = statement.query_map(params_from_iter(scope.since()), step);
        steps.unwrap().collect::<Result<_, _>>().unwrap()
    }

    /// Whether a step inside a loop scans a table instead of using an index.
    fn is_quadratic(plan: &[Step]) -> bool {
        let is_loop = |step: &str| step.starts_with("SCAN") || step.starts_with("SEARCH");
        plan.iter().any(|(number, parent, step)| {
            let outer =
                |(before, of, outer): &Step| of == parent && before < number && is_loop(outer);
            step.contains("CORRELATED") || step.starts_with("SCAN") && plan.iter().any(outer)
        })
    }

    #[test]
    fn no_rule_scans_a_table_inside_a_loop() {
        let db = database();
        for scope in [Scope::Everything, Scope::Since(Id::MIN)] {
            for rule in rules(scope) {
                let plan = plan(&db, &rule.statement(scope, Dialect::Sqlite), scope);
                assert!(!is_quadratic(&plan), "{}: {plan:#?}", rule.name);
            }
        }
        for quadratic in [
            "SELECT id, (SELECT sum(balance) FROM lines WHERE \"transaction\" = transactions.id)
             FROM transactions",
            "SELECT 1 FROM transactions, lines WHERE balance < captured",
        ] {
            assert!(is_quadratic(&plan(&db, quadratic, Scope::Everything)), "{quadratic}");
        }
    }
}
