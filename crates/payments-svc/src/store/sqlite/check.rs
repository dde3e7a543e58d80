//! Recomputes the books from the bottom up.

use std::path::Path;

use common::sql::Columns;
use rusqlite::{Connection, params_from_iter};

use super::{
    super::{
        check::{CheckError, Dialect, Findings, Rule, Scope, rules},
        rows,
    },
    DATABASE,
};

/// Checks the books of the store in `data_dir`, at one moment, while a service may use it.
pub(in super::super) fn check(data_dir: &Path, scope: Scope) -> Result<(), CheckError> {
    let db = common::sqlite::open_reader(&data_dir.join(DATABASE))?;
    spill(&db, data_dir)?;
    findings(&*db.unchecked_transaction()?, scope)?.judge()
}

pub(super) fn findings(db: &Connection, scope: Scope) -> rusqlite::Result<Findings> {
    let mut findings = Findings::default();
    for rule in rules(scope) {
        test(db, rule, scope, &mut findings)?;
    }
    Ok(findings)
}

/// Sorts that are large go to files beside the database: memory is bounded, and a container may have
/// no other place.
fn spill(db: &Connection, data_dir: &Path) -> rusqlite::Result<()> {
    // Refused where the directory cannot be written to; then they go to the system's directory.
    let directory = data_dir.to_string_lossy();
    let _: rusqlite::Result<()> = db.pragma_update(None, "temp_store_directory", directory);
    db.pragma_update(None, "temp_store", "file")
}

fn test(
    db: &Connection,
    rule: &Rule,
    scope: Scope,
    findings: &mut Findings,
) -> rusqlite::Result<()> {
    let mut statement = db.prepare(&rule.statement(scope, Dialect::Sqlite))?;
    let mut found = statement.query(params_from_iter(scope.since()))?;
    while let Some(row) = found.next()? {
        let place = rows::place(&mut Columns::from(row))?;
        findings.note(rule, place, row.get(1)?, row.get_ref(2)?.as_str()?);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use rusqlite::Row;

    use super::*;
    use crate::{domain::Id, store::sqlite::migrate};

    /// A step of a plan: its number, that of the step it is part of, and what it does.
    type Step = (i64, i64, String);

    fn plan(db: &Connection, sql: &str, scope: Scope) -> Vec<Step> {
        let mut statement = db.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let step = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(3)?));
        let steps = statement.query_map(params_from_iter(scope.since()), step);
        steps.unwrap().collect::<Result<_, _>>().unwrap()
    }

    /// Whether a table is scanned inside a loop, and not searched by an index.
    fn is_quadratic(plan: &[Step]) -> bool {
        let is_loop = |step: &str| step.starts_with("SCAN") || step.starts_with("SEARCH");
        plan.iter().any(|(number, parent, step)| {
            let outer =
                |(before, of, outer): &Step| of == parent && before < number && is_loop(outer);
            step.contains("CORRELATED") || step.starts_with("SCAN") && plan.iter().any(outer)
        })
    }

    #[test]
    fn no_rule_reads_a_table_for_each_row_of_another() {
        let mut db = Connection::open_in_memory().unwrap();
        migrate(&mut db).unwrap();
        for scope in [Scope::Everything, Scope::Since(Id::FIRST)] {
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
