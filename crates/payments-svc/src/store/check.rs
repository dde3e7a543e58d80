//! What the books have to say, whichever engine keeps them.

use std::fmt;

use common::postgres::OpenError;

mod rules;

use rules::RULES;

/// Two numbers that should be the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Disagreement {
    /// What was compared.
    pub rule: &'static str,
    /// Where they are: the id of a transaction, a line or a merchant, or a currency.
    pub place: String,
    /// What is kept.
    pub kept: i64,
    /// What it should be.
    pub computed: i64,
}

impl fmt::Display for Disagreement {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rule, place, kept, computed } = self;
        write!(formatter, "{rule}: {place}: {kept} is kept, {computed} is computed")
    }
}

/// Why the books are not right, or could not be looked at.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// The embedded store cannot be read.
    #[error("the database cannot be read: {0}")]
    Sqlite(#[from] rusqlite::Error),
    /// The database cannot be read.
    #[error(transparent)]
    Postgres(#[from] OpenError),
    /// The books disagree with themselves.
    #[error("the books disagree:\n{}", lines(.0))]
    Disagree(Vec<Disagreement>),
}

/// Whether nothing was found.
pub(super) fn judge(found: Vec<Disagreement>) -> Result<(), CheckError> {
    if found.is_empty() { Ok(()) } else { Err(CheckError::Disagree(found)) }
}

fn lines(found: &[Disagreement]) -> String {
    found.iter().map(Disagreement::to_string).collect::<Vec<_>>().join("\n")
}

/// The rules, and the statements that find what breaks them: a place and two numbers.
pub(super) fn rules() -> impl Iterator<Item = (&'static str, String)> {
    RULES.iter().map(|(rule, sql)| {
        let sql = format!(
            "SELECT place, CAST(kept AS BIGINT), CAST(coalesce(computed, 0) AS BIGINT)
             FROM ({sql}) AS compared WHERE kept IS DISTINCT FROM computed"
        );
        (*rule, sql)
    })
}
