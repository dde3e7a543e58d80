//! Batches in SQLite, compared with the model: the same tables in memory.

use std::{collections::BTreeSet, convert::Infallible};

use common::{
    progress::Progress,
    sql::{Group as _, RowWriter, Table},
};
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

    /// Writes a batch to both, compares the answers and the changes, and returns the changes.
    pub(in super::super) fn write(&mut self, batch: &Batch) -> Changes {
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
        expected.1
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
            let changes = both.write(batch);
            let Ok(()) = tables::write(&changes, &mut Recorder::default());
        }
        both.check();
    }
}

/// Records the statements that write rows.
#[derive(Default)]
struct Recorder {
    all: BTreeSet<String>,
    /// The statements that had rows to write.
    used: BTreeSet<String>,
}

impl Recorder {
    /// Also checks that no key comes twice: PostgreSQL would take either row.
    fn record<'a, R: 'a>(
        &mut self,
        verb: &str,
        table: &Table<R>,
        rows: impl IntoIterator<Item = &'a R>,
    ) -> Result<(), Infallible> {
        let statement = format!("{verb} {} {:?} {:?}", table.name, table.key, table.values);
        let mut keys = BTreeSet::new();
        for row in rows {
            let mut params = Vec::new();
            (table.params)(row, &mut params);
            assert_eq!(params.len(), table.key.len() + table.values.len(), "{statement}");
            let key: Vec<_> = params[..table.key.len()].iter().map(Param::owned).collect();
            assert!(keys.insert(key), "{statement}: {params:?} comes twice");
        }
        if !keys.is_empty() {
            self.used.insert(statement.clone());
        }
        self.all.insert(statement);
        Ok(())
    }
}

impl<'a> RowWriter<'a> for Recorder {
    type Error = Infallible;

    fn insert<R: 'a>(
        &mut self,
        table: &Table<R>,
        rows: impl IntoIterator<Item = &'a R>,
    ) -> Result<(), Infallible> {
        self.record("insert", table, rows)
    }

    fn update<R: 'a>(
        &mut self,
        table: &Table<R>,
        rows: impl IntoIterator<Item = &'a R>,
    ) -> Result<(), Infallible> {
        self.record("update", table, rows)
    }

    fn delete<R: 'a>(
        &mut self,
        table: &Table<R>,
        rows: impl IntoIterator<Item = &'a R>,
    ) -> Result<(), Infallible> {
        self.record("delete", table, rows)
    }
}

#[test]
fn every_table_is_filled_and_every_update_is_executed() {
    let mut runner = TestRunner::deterministic();
    let mut recorder = Recorder::default();
    for _ in 0..80 {
        let mut both = SqliteAndModel::of(database());
        let batches = batches().new_tree(&mut runner).unwrap().current();
        for batch in setup_batches().iter().chain(&batches) {
            let Ok(()) = tables::write(&both.write(batch), &mut recorder);
        }
    }
    for statement in recorder.all.difference(&recorder.used) {
        // Retries are replaced, or restart all at once.
        let is_change = statement.starts_with("update ") && !statement.ends_with(" []");
        assert!(!is_change || statement.starts_with("update webhook_retries"), "{statement}");
    }
    let tables = |statements: &BTreeSet<String>| -> BTreeSet<String> {
        let inserts = statements.iter().filter_map(|statement| statement.strip_prefix("insert "));
        inserts.filter_map(|insert| insert.split(' ').next().map(str::to_owned)).collect()
    };
    assert_eq!(tables(&recorder.used), tables(&recorder.all));
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
