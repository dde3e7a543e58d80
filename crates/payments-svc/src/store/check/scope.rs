//! The part of the ledger that a check reads.

use payments_domain::Id;

#[derive(Debug, Clone, Copy)]
pub(in super::super) enum Scope {
    Everything,
    /// All rows of the transactions that changed after this ID: new transactions, and transactions
    /// with a new line or dispute. Also payouts that are new, or that came back. Balances are not checked, because a balance is
    /// the sum of all lines.
    Since(Id),
}

/// The engine whose SQL is needed.
#[derive(Debug, Clone, Copy)]
pub(in super::super) enum Dialect {
    Sqlite,
    Postgres,
}

/// The tables that the rules read, reduced to the rows that changed after `$1`. Each definition
/// hides the stored table of the same name.
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
    UNION SELECT line FROM {stored}payouts WHERE return_line > $1
    UNION SELECT return_line FROM {stored}payouts WHERE return_line > $1
    UNION SELECT line FROM {stored}trail WHERE \"transaction\" {in_chosen} AND line IS NOT NULL
    UNION SELECT line FROM {stored}disputes WHERE \"transaction\" {in_chosen}
), transactions AS (SELECT * FROM {stored}transactions WHERE id {in_chosen}
), customs AS (SELECT * FROM {stored}customs WHERE \"transaction\" {in_chosen}
), trail AS (SELECT * FROM {stored}trail WHERE \"transaction\" {in_chosen}
), captures AS (SELECT * FROM {stored}captures WHERE \"transaction\" {in_chosen}
), outbox AS (SELECT * FROM {stored}outbox WHERE \"transaction\" {in_chosen}
), disputes AS (SELECT * FROM {stored}disputes WHERE \"transaction\" {in_chosen}
), slices AS (SELECT * FROM {stored}slices WHERE dispute {in_chosen_disputes}
), evidence AS (SELECT * FROM {stored}evidence WHERE dispute {in_chosen_disputes}
), evidence_files AS (SELECT * FROM {stored}evidence_files WHERE dispute {in_chosen_disputes}
), lines AS (SELECT * FROM {stored}lines WHERE id {in_chosen_lines}
), postings AS (SELECT * FROM {stored}postings WHERE line {in_chosen_lines}
), payouts AS (SELECT * FROM {stored}payouts WHERE line {in_chosen_lines}
) ";

impl Scope {
    /// The parameter of the statements, if they have one.
    pub(in super::super) fn since(self) -> Option<Vec<u8>> {
        match self {
            Self::Everything => None,
            Self::Since(id) => Some(id.as_bytes().to_vec()),
        }
    }

    /// The `WITH` clause of a statement.
    pub(super) fn tables(self, dialect: Dialect) -> String {
        let Self::Since(_) = self else { return String::new() };
        // A definition must name the stored table that it hides: SQLite needs the schema for this,
        // PostgreSQL needs none. In PostgreSQL, an array keeps the planner from choosing a join.
        let (schema, is_one_of): (_, fn(&str) -> String) = match dialect {
            Dialect::Sqlite => ("main.", |ids| format!("IN (SELECT id FROM {ids})")),
            Dialect::Postgres => ("", |ids| format!("= ANY (ARRAY(SELECT id FROM {ids}))")),
        };
        let mut tables = CHANGED.replace("{stored}", schema);
        for ids in ["chosen", "chosen_disputes", "chosen_lines"] {
            tables = tables.replace(&format!("{{in_{ids}}}"), &is_one_of(ids));
        }
        tables
    }
}
