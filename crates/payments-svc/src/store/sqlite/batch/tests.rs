//! Batches in SQLite, compared with the model: the same tables in memory.

use std::collections::BTreeSet;

use common::{progress::Progress, sql::Group as _};
use proptest::{
    prelude::*,
    strategy::ValueTree as _,
    test_runner::{Config, TestRunner},
};

use super::*;
use crate::{
    domain::write::{
        RetryRow, decide,
        tests::{
            generators::{Batch, batches, setup_batches},
            model::Tables,
        },
    },
    store::{
        check::Scope,
        sqlite::{check::findings, migrate},
    },
};

fn database() -> Connection {
    let mut db = Connection::open_in_memory().unwrap();
    migrate(&mut db).unwrap();
    db
}

/// The steps of the query plan.
fn plan(db: &Connection, sql: &str) -> Vec<String> {
    let mut plan = db.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
    let steps = plan.raw_query().mapped(|row| row.get("detail")).collect::<Result<_, _>>();
    steps.unwrap()
}

/// A database, and tables in memory that must have the same rows.
pub(in super::super) struct SqliteAndModel {
    db: Connection,
    ids: IdGenerator,
    pub(in super::super) tables: Tables,
    batch: u32,
}

impl SqliteAndModel {
    /// `db` must be empty.
    pub(in super::super) fn of(db: Connection) -> Self {
        Self { db, ids: new_ids(), tables: Tables::default(), batch: 1 }
    }

    /// Writes a batch to both, and compares the answers and the changes.
    pub(in super::super) fn write(&mut self, batch: &Batch) {
        let writes = batch.writes(&self.tables, self.batch);
        let borrowed: Vec<&Write> = writes.iter().collect();
        let open = self.db.transaction().unwrap();
        let known = load(&open, &borrowed, &mut self.ids).unwrap();
        let drawn = (known.now, known.ids.as_slice().to_vec());
        let expected = self.tables.load(&Needs::of(&writes), drawn, (1, 0));
        let expected = decide(expected, &borrowed).unwrap();
        let (answers, changes) = decide(known, &borrowed).unwrap();
        assert_eq!((&answers, &changes), (&expected.0, &expected.1), "{writes:#?}");
        write(&open, &changes, self.ids.last()).unwrap();
        open.commit().unwrap();
        self.tables.apply(changes);
        self.batch += 1;
    }

    /// Runs all rules of `check`, and compares the retries of deliveries, which no batch loads.
    fn check(&self) {
        let sql = format!("SELECT {} FROM webhook_retries", RetryRow::of("webhook_retries"));
        let mut statement = self.db.prepare(&sql).unwrap();
        let retries =
            statement.raw_query().mapped(|row| Ok(RetryRow::read(&mut Columns::from(row))?));
        let retries: Vec<RetryRow> = retries.collect::<Result<_, _>>().unwrap();
        assert!(retries.iter().eq(self.tables.webhook_retries.values()));
        findings(&self.db, Scope::Everything, &Progress::new("check"))
            .unwrap()
            .into_result()
            .unwrap();
    }
}

proptest! {
    #![proptest_config(Config::with_cases(64))]
    #[test]
    fn a_batch_in_sqlite_equals_the_model(batches in batches()) {
        let mut both = SqliteAndModel::of(database());
        for batch in setup_batches().iter().chain(&batches) {
            both.write(batch);
        }
        both.check();
    }
}

/// Otherwise the comparison with the model proves nothing about a table.
#[test]
fn random_batches_fill_every_table() {
    let mut runner = TestRunner::deterministic();
    let tables = "SELECT name FROM sqlite_schema WHERE type = 'table'
                  AND name NOT IN ('payout_runs', 'clock') ORDER BY name";
    let mut empty: BTreeSet<String> = database()
        .prepare(tables)
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    for _ in 0..80 {
        let mut both = SqliteAndModel::of(database());
        let batches = batches().new_tree(&mut runner).unwrap().current();
        setup_batches().iter().chain(&batches).for_each(|batch| both.write(batch));
        empty.retain(|table| {
            let sql = format!("SELECT NOT EXISTS (SELECT 1 FROM \"{table}\")");
            both.db.query_row(&sql, [], |row| row.get(0)).unwrap()
        });
    }
    assert_eq!(empty, BTreeSet::new());
}

#[test]
fn every_row_is_found_by_an_index() {
    let db = database();
    let statements = QUERIES.iter().map(|(sql, _)| sql.as_str());
    for sql in statements.chain([&BALANCE, HELD, &rows::PAYOUT_STATE]) {
        let plan = plan(&db, sql);
        assert!(plan.iter().any(|step| step.starts_with("SEARCH")), "{sql}: {plan:?}");
        let is_scan = |step: &String| {
            step.starts_with("SCAN") && !matches!(&**step, "SCAN CONSTANT ROW" | "SCAN needed")
        };
        assert!(!plan.iter().any(is_scan), "{sql}: {plan:?}");
    }
}

#[test]
fn parameters_are_numbered_by_their_first_appearance() {
    let db = database();
    for (sql, query) in &*QUERIES {
        let statement = db.prepare(sql).unwrap();
        let count = query.key.len() + (query.values)(&Needs::default()).len();
        assert_eq!(statement.parameter_count(), count, "{sql}");
        for place in 1..=count {
            assert_eq!(statement.parameter_name(place), Some(&*format!("${place}")), "{sql}");
        }
    }
}
