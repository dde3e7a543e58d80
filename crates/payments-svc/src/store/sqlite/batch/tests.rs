//! Batches in SQLite, compared with the model: the same tables in memory.

use std::collections::BTreeSet;

use common::{
    progress::Progress,
    sql::{Row, RowsByKey, TableReader},
};
use futures_util::FutureExt as _;
use payments_domain::write::{
    Tables, decide,
    generators::{
        WriteSpec, batches, decide_dispute, open_dispute, refund, refuse_or_alert, setup_batches,
        writes,
    },
};
use proptest::{
    prelude::*,
    strategy::ValueTree as _,
    test_runner::{Config, TestRunner},
};

use super::*;
use crate::store::{
    check::Scope,
    sqlite::{
        check::findings,
        tests::{database, plan},
    },
};

struct Database<'a>(&'a Connection);

impl TableReader for Database<'_> {
    fn table<R: Row>(&self) -> RowsByKey<R> {
        let table = R::INSERT.name;
        let sql = format!("SELECT {} FROM {table}", R::of(table));
        let mut statement = self.0.prepare(&sql).unwrap();
        let rows = statement.raw_query().mapped(|row| Ok(R::read(&mut Columns::from(row))?));
        rows.map(|row| row.map(|row| (row.key(), row)).unwrap()).collect()
    }
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
        Self { ids: new_ids(&db).unwrap(), db, tables: Tables::new(), batch: 1 }
    }

    /// Writes a batch to both, and compares the answers and the changes.
    pub(in super::super) fn write(&mut self, batch: &[WriteSpec]) {
        let writes = writes(batch, &self.tables, self.batch);
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

    /// Compares all tables, and runs all rules of `check`.
    fn check(&self) {
        let mut stored = Tables::read(&Database(&self.db));
        stored.captures.values_mut().for_each(|row| row.capture = row.capture());
        // These rows name those of other tables.
        stored.mails_of_members.clear();
        stored.mails_of_users.clear();
        stored.retries_of_webhooks.clear();
        stored.attempts_of_webhooks.clear();
        stored.assert_equal(&self.tables);
        for slice in [Scope::ALL.slice, 3] {
            let scope = Scope { slice, ..Scope::ALL };
            let findings = findings(&self.db, scope, &Progress::new("check")).now_or_never();
            findings.unwrap().unwrap().into_result().unwrap();
        }
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

#[test]
fn refusals_beside_a_lost_dispute_are_loaded_like_in_the_model() {
    let mut both = SqliteAndModel::of(database());
    setup_batches().iter().for_each(|batch| both.write(batch));
    let key = None;
    let mut write = |kind, second, amount| {
        both.write(&[WriteSpec { kind, choice: 1, second, amount, key }]);
    };
    // Of two captures, the first is refused.
    write(refuse_or_alert, 0, 255);
    write(refund, 1, 100);
    write(open_dispute, 0, 50);
    write(decide_dispute, 0, 251);
    // The refund.
    write(refuse_or_alert, 3, 258);
    let reversed = both.tables.trail.values().filter_map(|row| row.reverses);
    assert_eq!(reversed.collect::<Vec<_>>(), [0, 4]);
}

/// Otherwise the comparison with the model proves nothing about a table.
#[test]
fn random_batches_fill_every_table() {
    let mut runner = TestRunner::deterministic();
    let tables = "SELECT name FROM sqlite_schema WHERE type = 'table'
                  AND name <> 'clock' ORDER BY name";
    let mut empty: BTreeSet<String> = database()
        .prepare(tables)
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    for _ in 0..400 {
        if empty.is_empty() {
            break;
        }
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
    for sql in statements.chain([&**BALANCE, &rows::PAYOUT_STATE]) {
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
