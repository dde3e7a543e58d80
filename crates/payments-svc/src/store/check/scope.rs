//! Which part of the books is checked.

use crate::domain::Id;

/// Which part of the books is checked.
#[derive(Debug, Clone, Copy)]
pub(in super::super) enum Scope {
    /// All of them.
    Everything,
    /// The transactions that are newer than this id, or have a line that is, and all that belongs
    /// to them; payouts whose lines are newer. Balances are sums of all lines: they are left out.
    Since(Id),
}

/// Where the engines' SQL differs.
#[derive(Debug, Clone, Copy)]
pub(in super::super) enum Dialect {
    Sqlite,
    Postgres,
}

/// The tables that the rules read, cut down to what changed after `$1`: each stands in the place of
/// the stored table of its name.
const CHANGED: &str = "WITH chosen AS MATERIALIZED (
    SELECT id FROM {stored}transactions WHERE id > $1
    UNION SELECT \"transaction\" FROM {stored}lines WHERE id > $1 AND \"transaction\" IS NOT NULL
    UNION SELECT \"transaction\" FROM {stored}disputes WHERE id > $1
), chosen_disputes AS MATERIALIZED (
    SELECT id FROM {stored}disputes WHERE \"transaction\" {in_chosen}
    UNION SELECT dispute FROM {stored}slices WHERE dispute > $1
), chosen_lines AS MATERIALIZED (
    SELECT id FROM {stored}lines WHERE id > $1
    UNION SELECT line FROM {stored}postings WHERE line > $1
    UNION SELECT line FROM {stored}payouts WHERE line > $1
    UNION SELECT line FROM {stored}trail WHERE \"transaction\" {in_chosen} AND line IS NOT NULL
    UNION SELECT line FROM {stored}disputes WHERE \"transaction\" {in_chosen}
), transactions AS (SELECT * FROM {stored}transactions WHERE id {in_chosen}
), trail AS (SELECT * FROM {stored}trail WHERE \"transaction\" {in_chosen}
), captures AS (SELECT * FROM {stored}captures WHERE \"transaction\" {in_chosen}
), instructions AS (SELECT * FROM {stored}instructions WHERE \"transaction\" {in_chosen}
), disputes AS (SELECT * FROM {stored}disputes WHERE \"transaction\" {in_chosen}
), slices AS (SELECT * FROM {stored}slices WHERE dispute {in_chosen_disputes}
), lines AS (SELECT * FROM {stored}lines WHERE id {in_chosen_lines}
), postings AS (SELECT * FROM {stored}postings WHERE line {in_chosen_lines}
), payouts AS (SELECT * FROM {stored}payouts WHERE line {in_chosen_lines}
) ";

impl Scope {
    /// The id that [`Scope::Since`] begins after: the parameter of a statement, if it has one.
    pub(in super::super) fn since(self) -> Option<Vec<u8>> {
        match self {
            Self::Everything => None,
            Self::Since(id) => Some(id.as_bytes().to_vec()),
        }
    }

    /// The definitions that a statement begins with.
    pub(super) fn tables(self, dialect: Dialect) -> String {
        let Self::Since(_) = self else { return String::new() };
        // In its own definition, the name of a table means that of SQLite's only with its schema,
        // and that of PostgreSQL only without. An array keeps PostgreSQL from a join.
        let (stored, among): (_, fn(&str) -> String) = match dialect {
            Dialect::Sqlite => ("main.", |ids| format!("IN (SELECT id FROM {ids})")),
            Dialect::Postgres => ("", |ids| format!("= ANY (ARRAY(SELECT id FROM {ids}))")),
        };
        let mut tables = CHANGED.replace("{stored}", stored);
        for ids in ["chosen", "chosen_disputes", "chosen_lines"] {
            tables = tables.replace(&format!("{{in_{ids}}}"), &among(ids));
        }
        tables
    }
}
