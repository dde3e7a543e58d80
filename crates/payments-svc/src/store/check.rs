//! The `check` command: recomputes the ledger and compares it with the stored values.
//!
//! 1. A [`Rule`] is a sentence and a SQL statement that both engines accept. The statement selects
//!    pairs of values that must be equal: the stored one, and the one that follows from other rows.
//! 2. All rules run in one snapshot, so services can write at the same time.
//! 3. No statement may read a table once for each row of another: on a large ledger, it would not
//!    end. A test checks the plans in SQLite; PostgreSQL runs the rules without nested loops.
//! 4. SQL cannot compute every value. For the others (`computed`), the domain function that booked
//!    the value computes it again. This finds changed data, but not a bug in that function.
//! 5. Before the rules, each row is read as the service reads it. A row that cannot be read makes
//!    requests fail.
//! 6. A check with `--since` reads only what changed after an ID ([`Scope::Since`]). It leaves out
//!    the rules about balances, totals and states, which need all of them, and does not read all
//!    rows.
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
    sqlite::is_interrupted,
};
use payments_domain::{User, write::BatchRows};

use super::rows;

mod computed;
mod disputes;
mod ledger;
mod rule;
mod scope;
mod transactions;

pub(super) use rule::Rule;
pub(super) use scope::{Dialect, Scope};

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

/// The disagreements of a check, at most [`LISTED`] of each rule.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    listed: Vec<Disagreement>,
    /// The rules with further disagreements, and how many.
    unlisted: Vec<(&'static str, u64)>,
}

impl Findings {
    /// Adds a row that the statement of `rule` selected, if its values differ. The rows of a rule
    /// must follow each other.
    pub(super) fn add(&mut self, rule: &Rule, row: String, stored: String, input: &str) {
        if let Some(expected) = rule.disagrees(&stored, input) {
            self.push(Disagreement { rule: rule.name, row, stored, expected });
        }
    }

    /// Reads a row of `table`, and adds it if it cannot be read.
    pub(super) fn read<'r, R>(&mut self, table: &StoredRows, row: &'r R)
    where
        Columns<'r>: From<&'r R>,
    {
        let Err(error) = (table.read)(&mut Columns::from(row)) else { return };
        let place = rows::place(&mut Columns::from(row)).unwrap_or_default();
        self.push(Disagreement {
            rule: READABLE,
            row: place,
            stored: unreadable(table, &error),
            expected: "a value that the service can read".to_owned(),
        });
    }

    fn push(&mut self, found: Disagreement) {
        let rule = found.rule;
        if self.listed.iter().rev().take_while(|known| known.rule == rule).count() < LISTED {
            return self.listed.push(found);
        }
        match self.unlisted.last_mut() {
            Some((last, count)) if *last == rule => *count = count.saturating_add(1),
            _ => self.unlisted.push((rule, 1)),
        }
    }

    /// Fails if there are disagreements.
    pub(super) fn into_result(self) -> Result<(), CheckError> {
        if self.listed.is_empty() { Ok(()) } else { Err(CheckError::Disagree(self)) }
    }
}

impl fmt::Display for Findings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let listed = self.listed.iter().map(Disagreement::to_string);
        let unlisted = self.unlisted.iter().map(|(rule, count)| format!("{rule}: {count} more"));
        formatter.write_str(&listed.chain(unlisted).collect::<Vec<_>>().join("\n"))
    }
}

/// Why a check failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CheckError {
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

/// The tables whose rows are read in this scope.
pub(super) fn tables(scope: Scope) -> impl Iterator<Item = StoredRows> {
    let is_full = matches!(scope, Scope::Everything);
    let tables = BatchRows::TABLES.iter().copied().chain([StoredRows::of::<User>()]);
    tables.filter(move |_| is_full)
}

/// The rules that apply to this scope.
pub(super) fn rules(scope: Scope) -> impl Iterator<Item = &'static Rule> {
    let rules = [ledger::RULES, transactions::RULES, disputes::RULES, computed::RULES];
    let whole: &[_] = match scope {
        Scope::Everything => &[ledger::BALANCES, transactions::STATES],
        Scope::Since(_) => &[],
    };
    rules.into_iter().chain(whole.iter().copied()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn further_disagreements_of_a_rule_are_counted() {
        let [first, second] = [&ledger::RULES[0], &ledger::RULES[1]];
        let mut findings = Findings::default();
        for row in 0..LISTED + 2 {
            findings.add(first, row.to_string(), "1".to_owned(), "2");
        }
        findings.add(second, "a line".to_owned(), "3".to_owned(), "4");
        let message = findings.into_result().unwrap_err().to_string();
        let lines: Vec<_> = message.lines().skip(1).collect();
        assert_eq!(lines.len(), LISTED + 2);
        assert_eq!(lines[0], format!("{}: 0: stored 1, expected 2", first.name));
        assert_eq!(lines[LISTED], format!("{}: a line: stored 3, expected 4", second.name));
        assert_eq!(lines[LISTED + 1], format!("{}: 2 more", first.name));
    }

    #[test]
    fn a_check_without_disagreements_succeeds() {
        assert!(Findings::default().into_result().is_ok());
    }
}
