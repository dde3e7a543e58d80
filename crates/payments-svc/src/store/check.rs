//! The `check` command: recomputes the ledger and compares it with the stored values.
//!
//! 1. A [`Rule`] is a sentence and a SQL statement that both engines accept. The statement selects
//!    pairs of values that must be equal: the stored one, and the one that follows from other rows.
//! 2. A check reads the ledger in slices by ID, each in a snapshot of its own. So services can write
//!    at the same time, and no snapshot is old. A slice has all rows that its rules compare. Sums of
//!    all lines are added up from slice to slice.
//! 3. No statement may read a table once for each row of another: on a large ledger, it would not
//!    end. A test checks the plans in SQLite; PostgreSQL runs the rules without nested loops.
//! 4. SQL cannot compute every value. For the others (`computed`), the domain function that booked
//!    the value computes it again. This finds changed data, but not a bug in that function.
//! 5. Before the rules, each row is read as the service reads it. A row that cannot be read makes
//!    requests fail.
//! 6. A check with `--since` begins at this ID. It leaves out balances, totals and wrong states, which
//!    need all rows, and does not read all rows.
//! 7. Memory is bounded: rows are streamed, and at most [`LISTED`] disagreements of a rule are
//!    kept.
//!
//! The name of a rule is its text in the output. `docs/failures.md` explains how to read it.

use std::fmt;

use common::{
    exit::{DIFFERENT, Fatal},
    postgres::OpenError,
    progress::Interrupted,
    sql::{ColumnError, Columns, StoredRows},
    sqlite::{DirectoryError, is_interrupted},
};
use payments_domain::{User, write::BatchRows};

use super::rows;

mod computed;
mod disputes;
mod ledger;
mod rule;
mod run;
mod scope;
mod sums;
mod transactions;

use rule::Rule;
pub(super) use run::{EachRow, Source, run};
pub(crate) use scope::Scope;
pub(super) use scope::{Dialect, SETS};

/// The maximum number of disagreements that are printed for each rule. Further ones are only
/// counted.
const LISTED: usize = 100;

/// The rule of [`tables`].
const READABLE: &str = "each value can be read";

/// Two values that should be equal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Disagreement {
    /// The name of the violated rule.
    pub(crate) rule: &'static str,
    /// The ID of the wrong row (a transaction, line, dispute, payout, outbox entry, pending payment
    /// or merchant), or a currency.
    pub(crate) row: String,
    pub(crate) stored: String,
    /// The value that follows from other rows.
    pub(crate) expected: String,
}

impl fmt::Display for Disagreement {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rule, row, stored, expected } = self;
        write!(formatter, "{rule}: {row}: stored {stored}, expected {expected}")
    }
}

/// The disagreements of a check.
#[derive(Debug, Default)]
pub(crate) struct Findings(Vec<Violations>);

/// The disagreements of one rule, at most [`LISTED`].
#[derive(Debug)]
struct Violations {
    rule: &'static str,
    listed: Vec<Disagreement>,
    unlisted: u64,
}

impl Findings {
    /// Adds a row that the statement of `rule` selected, if its values differ.
    fn add(&mut self, rule: &Rule, mut columns: Columns<'_>) {
        let row = rows::place(&mut columns).unwrap_or_default();
        let mut text = || columns.text().unwrap_or("an unreadable value");
        let (stored, input) = (text(), text());
        if let Some(expected) = rule.disagrees(stored, input) {
            self.push(Disagreement { rule: rule.name, row, stored: stored.to_owned(), expected });
        }
    }

    /// Reads a row of `table`, and adds it if it cannot be read.
    fn read(&mut self, table: &StoredRows, mut columns: Columns<'_>) {
        let Err(error) = (table.read)(&mut columns.clone()) else { return };
        self.push(Disagreement {
            rule: READABLE,
            row: rows::place(&mut columns).unwrap_or_default(),
            stored: unreadable(table, &error),
            expected: "a value that the service can read".to_owned(),
        });
    }

    fn push(&mut self, found: Disagreement) {
        let rule = found.rule;
        let place = self.0.iter().position(|known| known.rule == rule).unwrap_or_else(|| {
            self.0.push(Violations { rule, listed: Vec::new(), unlisted: 0 });
            self.0.len() - 1
        });
        let violations = &mut self.0[place];
        // Two slices can have the same row.
        if violations.listed.contains(&found) {
            return;
        }
        if violations.listed.len() < LISTED {
            violations.listed.push(found);
        } else {
            violations.unlisted = violations.unlisted.saturating_add(1);
        }
    }

    /// Fails if there are disagreements.
    pub(super) fn into_result(self) -> Result<(), CheckError> {
        if self.0.is_empty() { Ok(()) } else { Err(CheckError::Disagree(self)) }
    }
}

impl fmt::Display for Findings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines = self.0.iter().flat_map(|Violations { rule, listed, unlisted }| {
            let more = (*unlisted > 0).then(|| format!("{rule}: {unlisted} more"));
            listed.iter().map(Disagreement::to_string).chain(more)
        });
        formatter.write_str(&lines.collect::<Vec<_>>().join("\n"))
    }
}

/// Why a check failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CheckError {
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    #[error("the database cannot be read: {0}")]
    Sqlite(#[source] rusqlite::Error),
    #[error(transparent)]
    Postgres(#[from] OpenError),
    #[error("the ledger has wrong values:\n{0}")]
    Disagree(Findings),
    #[error("interrupted: not every rule was checked")]
    Interrupted(#[from] Interrupted),
}

impl Fatal for CheckError {
    fn exit_code(&self) -> u8 {
        match self {
            Self::Directory(error) => error.exit_code(),
            Self::Sqlite(error) => error.exit_code(),
            Self::Postgres(error) => error.exit_code(),
            Self::Disagree(_) => DIFFERENT,
            Self::Interrupted(error) => error.exit_code(),
        }
    }
}

impl From<rusqlite::Error> for CheckError {
    fn from(error: rusqlite::Error) -> Self {
        if is_interrupted(&error) { Interrupted.into() } else { Self::Sqlite(error) }
    }
}

/// The column that cannot be read, such as `transactions.currency`.
fn unreadable(table: &StoredRows, error: &ColumnError) -> String {
    let column = table.columns.get(error.column()).map_or("", |(name, _)| name);
    format!("{}.{column}", table.table)
}

/// The rows of all tables. Some rows of a batch have a part of the columns. Rows with another key than
/// that of their table are left out: pages need this key, and others have the same columns.
fn tables() -> Vec<StoredRows> {
    let all = || BatchRows::TABLES.iter().copied().chain([StoredRows::of::<User>()]);
    let has_key = |rows: &StoredRows| {
        let of_table = all().filter(|other| other.table == rows.table);
        of_table.max_by_key(|other| other.columns.len()).is_some_and(|row| row.key == rows.key)
    };
    all().filter(has_key).collect()
}

/// The rules for a slice.
fn rules() -> impl Iterator<Item = &'static Rule> {
    [ledger::RULES, transactions::RULES, disputes::RULES, computed::RULES].into_iter().flatten()
}

/// All statements of a check, with their names.
#[cfg(test)]
pub(super) fn statements(dialect: Dialect) -> Vec<(&'static str, String)> {
    let tables = dialect.tables();
    let rules = rules().map(|rule| (rule.name, rule.statement(&tables)));
    let sets = SETS.iter().enumerate().map(|(number, (name, _))| (*name, dialect.set(number)));
    let whole = [&ledger::EVERY_BALANCE].map(|rule| (rule.name, rule.statement("")));
    let state = (transactions::STATE.name, transactions::STATE.statement("").replace("{page}", ""));
    rules.chain(sets).chain(whole).chain([state]).collect()
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::*;

    /// Adds a row with these columns to the findings.
    fn add(findings: &mut Findings, rule: &Rule, [row, stored, computed]: [&str; 3]) {
        let db = Connection::open_in_memory().unwrap();
        let select = "SELECT $1, $2, $3";
        db.query_one(select, [row, stored, computed], |row| {
            findings.add(rule, row.into());
            Ok(())
        })
        .unwrap();
    }

    #[test]
    fn each_column_of_a_batch_is_read() {
        for rows in BatchRows::TABLES {
            let read = tables().into_iter().filter(|read| read.table == rows.table);
            let read: Vec<_> = read.flat_map(|read| read.columns).collect();
            let unread = rows.columns.iter().find(|column| !read.contains(column));
            assert_eq!(unread, None, "{}", rows.table);
        }
    }

    #[test]
    fn further_disagreements_of_a_rule_are_counted() {
        let [first, second] = [&ledger::RULES[0], &ledger::RULES[1]];
        let mut findings = Findings::default();
        for row in (0..LISTED + 2).chain([0]) {
            add(&mut findings, first, [&row.to_string(), "1", "2"]);
        }
        add(&mut findings, second, ["a line", "3", "4"]);
        let message = findings.into_result().unwrap_err().to_string();
        let lines: Vec<_> = message.lines().skip(1).collect();
        assert_eq!(lines.len(), LISTED + 2);
        assert_eq!(lines[0], format!("{}: 0: stored 1, expected 2", first.name));
        assert_eq!(lines[LISTED], format!("{}: 2 more", first.name));
        assert_eq!(lines[LISTED + 1], format!("{}: a line: stored 3, expected 4", second.name));
    }

    #[test]
    fn a_check_without_disagreements_succeeds() {
        assert!(Findings::default().into_result().is_ok());
    }
}
