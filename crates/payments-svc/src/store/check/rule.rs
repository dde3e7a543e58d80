//! A rule of the ledger, and the statement that checks it.

pub(in super::super) struct Rule {
    /// The rule as a sentence. It is printed with each disagreement, and is unique.
    pub(in super::super) name: &'static str,
    pub(super) test: Test,
}

/// The SQL of a rule. It selects the row as `place`, the stored value as `kept`, and a third
/// column.
pub(super) enum Test {
    /// The third column is `computed`. Each row must have two equal values.
    Rows(&'static str),
    /// The third column is `computed`. The sums over the rows of a place must be equal.
    Sums(&'static str),
    /// The third column is `given`: text from which the function computes the other value. `None`
    /// if it cannot.
    Domain(&'static str, fn(&str) -> Option<String>),
}

/// Printed instead of a missing value.
const NOTHING: &str = "nothing";

impl Rule {
    /// SQL that selects the row (`place`) and two texts. For [`Test::Rows`] and [`Test::Sums`], it
    /// selects only disagreements; for [`Test::Domain`], pass each row to [`Self::disagrees`].
    /// `tables` is a `WITH` clause that reduces the tables.
    pub(in super::super) fn statement(&self, tables: &str) -> String {
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

    /// The computed value, if it differs from the stored one.
    pub(super) fn disagrees(&self, kept: &str, given: &str) -> Option<String> {
        let computed = match self.test {
            Test::Rows(_) | Test::Sums(_) => return Some(given.to_owned()),
            Test::Domain(_, compute) => compute(given).unwrap_or_else(|| NOTHING.to_owned()),
        };
        (computed != kept).then_some(computed)
    }
}
