//! A rule of the books, and the statement that checks it.

use super::scope::{Dialect, Scope};

/// A rule that the books follow.
pub(in super::super) struct Rule {
    /// The rule as a sentence.
    pub(in super::super) name: &'static str,
    pub(super) test: Test,
}

/// How a rule is checked. No statement may read a table once for each row of another: on a large
/// ledger it would not end. A test looks at the plans.
pub(super) enum Test {
    /// Selects a place, the kept and the computed value.
    Rows(&'static str),
    /// The same; the values of a place are added up first.
    Sums(&'static str),
    /// Selects a place, the kept value, and text that the domain computes the other value from.
    Domain(&'static str, fn(&str) -> Option<String>),
}

/// Printed where there is no value.
const NOTHING: &str = "nothing";

impl Rule {
    /// The statement: it selects a place and two texts. Those of [`Test::Rows`] and [`Test::Sums`]
    /// differ.
    pub(in super::super) fn statement(&self, scope: Scope, dialect: Dialect) -> String {
        let tables = scope.tables(dialect);
        let text = |value: &str| format!("coalesce(CAST({value} AS TEXT), '{NOTHING}')");
        let (columns, sql, filter) = match self.test {
            Test::Rows(sql) => {
                ([text("kept"), text("computed")], sql, "WHERE kept IS DISTINCT FROM computed")
            }
            Test::Sums(sql) => (
                [text("sum(kept)"), text("sum(computed)")],
                sql,
                "GROUP BY place HAVING sum(kept) <> sum(computed)",
            ),
            Test::Domain(sql, _) => ([text("kept"), text("given")], sql, ""),
        };
        let [kept, given] = columns;
        format!("{tables}SELECT place, {kept}, {given} FROM ({sql}) AS compared {filter}")
    }

    /// The value that `given` stands for, if it is not the kept one.
    pub(super) fn disagrees(&self, kept: &str, given: &str) -> Option<String> {
        let computed = match self.test {
            Test::Rows(_) | Test::Sums(_) => return Some(given.to_owned()),
            Test::Domain(_, compute) => compute(given).unwrap_or_else(|| NOTHING.to_owned()),
        };
        (computed != kept).then_some(computed)
    }
}
