//! Recomputes the books, whichever engine keeps them.

use std::fmt;

use common::postgres::OpenError;

mod computed;
mod disputes;
mod ledger;
mod rule;
mod scope;
mod transactions;

pub(super) use rule::Rule;
pub(super) use scope::{Dialect, Scope};

/// Disagreements that are printed for each rule. The others are counted.
const LISTED: usize = 100;

/// Two values that should be the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Disagreement {
    /// The rule that is broken.
    pub(crate) rule: &'static str,
    /// The id of a transaction, a line, a dispute or a merchant, or a currency.
    pub(crate) place: String,
    /// The stored value.
    pub(crate) kept: String,
    /// The value that the other rows give.
    pub(crate) computed: String,
}

impl fmt::Display for Disagreement {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rule, place, kept, computed } = self;
        write!(formatter, "{rule}: {place}: {kept} is kept, {computed} is computed")
    }
}

/// The disagreements of a check, at most 100 of each rule.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    listed: Vec<Disagreement>,
    /// The rules with further disagreements, and how many.
    unlisted: Vec<(&'static str, u64)>,
}

impl Findings {
    /// Checks a row that a rule's statement selected.
    pub(super) fn note(&mut self, rule: &Rule, place: String, kept: String, given: &str) {
        let Some(computed) = rule.disagrees(&kept, given) else { return };
        let rule = rule.name;
        if self.listed.iter().rev().take_while(|known| known.rule == rule).count() < LISTED {
            return self.listed.push(Disagreement { rule, place, kept, computed });
        }
        match self.unlisted.last_mut() {
            Some((last, count)) if *last == rule => *count = count.saturating_add(1),
            _ => self.unlisted.push((rule, 1)),
        }
    }

    /// An error if anything was found.
    pub(super) fn judge(self) -> Result<(), CheckError> {
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

/// Why the books are not right, or could not be checked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CheckError {
    /// The embedded store cannot be read.
    #[error("the database cannot be read: {0}")]
    Sqlite(#[from] rusqlite::Error),
    /// The database cannot be read.
    #[error(transparent)]
    Postgres(#[from] OpenError),
    /// The books disagree with themselves.
    #[error("the books disagree:\n{0}")]
    Disagree(Findings),
}

/// The rules of a check.
pub(super) fn rules(scope: Scope) -> impl Iterator<Item = &'static Rule> {
    let rules = [ledger::RULES, transactions::RULES, disputes::RULES, computed::RULES];
    let balances = match scope {
        Scope::Everything => ledger::BALANCES,
        Scope::Since(_) => &[],
    };
    rules.into_iter().chain([balances]).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_lists_its_first_disagreements_and_counts_the_others() {
        let [first, second] = [&ledger::RULES[0], &ledger::RULES[1]];
        let mut findings = Findings::default();
        for place in 0..LISTED + 2 {
            findings.note(first, place.to_string(), "1".to_owned(), "2");
        }
        findings.note(second, "a line".to_owned(), "3".to_owned(), "4");
        let said = findings.judge().unwrap_err().to_string();
        let lines: Vec<_> = said.lines().skip(1).collect();
        assert_eq!(lines.len(), LISTED + 2);
        assert_eq!(lines[0], format!("{}: 0: 1 is kept, 2 is computed", first.name));
        assert_eq!(lines[LISTED], format!("{}: a line: 3 is kept, 4 is computed", second.name));
        assert_eq!(lines[LISTED + 1], format!("{}: 2 more", first.name));
    }

    #[test]
    fn no_disagreement_is_no_error() {
        assert!(Findings::default().judge().is_ok());
    }
}
