//! The part of the ledger that a check reads, and its slices.

use payments_domain::Id;

/// The rows of a check, and the size of its snapshots.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scope {
    /// Only what changed after this ID: new transactions, and transactions with a new line or
    /// dispute; payouts that are new, or that came back. Balances are left out, because a balance is
    /// the sum of all lines.
    pub(crate) since: Option<Id>,
    /// The maximum number of transactions, and of lines, whose IDs are in one slice.
    pub(crate) slice: u32,
}

impl Scope {
    /// The whole ledger, in slices whose snapshots last seconds.
    pub(crate) const ALL: Self = Self { since: None, slice: 50_000 };
}

/// The engine whose SQL is needed.
#[derive(Debug, Clone, Copy)]
pub(in super::super) enum Dialect {
    Sqlite,
    Postgres,
}

/// The sets of a slice: IDs outside of its range `$1 <= id <= $2`, to which rows of the range belong,
/// or which a rule compares with them. So a rule sees all rows that belong to an ID, or none.
/// PostgreSQL gets them as arrays, because a replica cannot write; SQLite has temporary tables.
pub(in super::super) const SETS: [(&str, &str); 3] = [
    (
        "other_transactions",
        "SELECT \"transaction\" AS id FROM lines WHERE id {range} AND \"transaction\" NOT {range}
         UNION SELECT \"transaction\" FROM disputes WHERE id {range} AND \"transaction\" NOT {range}
         UNION SELECT \"transaction\" FROM outbox WHERE id {range} AND \"transaction\" NOT {range}",
    ),
    ("other_disputes", "SELECT id FROM ({disputes}) AS disputes WHERE id NOT {range}"),
    (
        "other_lines",
        "SELECT line AS id FROM ({trail}) AS trail WHERE line NOT {range}
         UNION SELECT line FROM ({disputes}) AS disputes WHERE line NOT {range}
         UNION SELECT line FROM payouts WHERE return_line {range} AND line NOT {range}
         UNION SELECT return_line FROM payouts WHERE line {range} AND return_line NOT {range}",
    ),
];

/// The tables that the rules read, with the column and the set of their reduction to a slice.
const TABLES: [(&str, &str, &str); 13] = [
    ("transactions", "id", "other_transactions"),
    ("trail", "\"transaction\"", "other_transactions"),
    ("captures", "\"transaction\"", "other_transactions"),
    ("refused_voids", "\"transaction\"", "other_transactions"),
    ("customs", "\"transaction\"", "other_transactions"),
    ("outbox", "\"transaction\"", "other_transactions"),
    ("disputes", "\"transaction\"", "other_transactions"),
    ("slices", "dispute", "other_disputes"),
    ("evidence", "dispute", "other_disputes"),
    ("evidence_files", "dispute", "other_disputes"),
    ("lines", "id", "other_lines"),
    ("postings", "line", "other_lines"),
    ("payouts", "line", "other_lines"),
];

/// Further tables, reduced to the rows that the tables above name: the column, and the IDs.
const NAMED: [(&str, &str, &str); 4] = [
    ("authorizations", "pending_payment", "SELECT pending_payment FROM transactions"),
    ("pending_payments", "id", "SELECT pending_payment FROM transactions"),
    ("used_links", "pending_payment", "SELECT pending_payment FROM transactions"),
    (
        "merchants",
        "id",
        "SELECT merchant FROM transactions UNION SELECT merchant FROM lines
         UNION SELECT merchant FROM payouts",
    ),
];

const RANGE: &str = "BETWEEN $1 AND $2";

impl Dialect {
    /// Selects a set of [`SETS`]. After the first one, PostgreSQL needs the first one as `$3`.
    pub(super) fn set(self, number: usize) -> String {
        let mut sql = SETS[number].1.replace("{range}", RANGE);
        for table in ["trail", "disputes"] {
            sql = sql
                .replace(&format!("{{{table}}}"), &self.rows(table, "\"transaction\"", SETS[0].0));
        }
        match self {
            Self::Postgres if number > 0 => format!("WITH {} {sql}", array(SETS[0].0, 3)),
            _ => sql,
        }
    }

    /// The `WITH` clause of a rule: each definition hides the stored table of the same name. `$1` and
    /// `$2` are the range. In PostgreSQL, the sets are parameters, too.
    pub(super) fn tables(self) -> String {
        let sets = SETS.iter().zip(3..).map(|((name, _), number)| array(name, number));
        let sets = sets.filter(|_| matches!(self, Self::Postgres));
        let tables = TABLES
            .iter()
            .map(|(table, column, set)| format!("{table} AS ({})", self.rows(table, column, set)));
        let named = NAMED.iter().map(|(table, column, ids)| {
            format!(
                "{table} AS (SELECT * FROM {}{table} WHERE {column} {})",
                self.schema(),
                self.is_one_of(ids)
            )
        });
        let all: Vec<_> = sets.chain(tables).chain(named).collect();
        format!("WITH {} ", all.join(", "))
    }

    /// Selects the rows of a table that belong to the range or to the set.
    fn rows(self, table: &str, column: &str, set: &str) -> String {
        let all = format!("SELECT * FROM {}{table} WHERE {column}", self.schema());
        let others = self.is_one_of(&format!("SELECT id FROM {set}"));
        format!("{all} {RANGE} UNION ALL {all} {others}")
    }

    /// A definition must name the stored table that it hides: SQLite needs the schema for this.
    fn schema(self) -> &'static str {
        match self {
            Self::Sqlite => "main.",
            Self::Postgres => "",
        }
    }

    /// In PostgreSQL, an array keeps the planner from choosing a join.
    fn is_one_of(self, ids: &str) -> String {
        match self {
            Self::Sqlite => format!("IN ({ids})"),
            Self::Postgres => format!("= ANY (ARRAY({ids}))"),
        }
    }
}

/// Defines a set that is a parameter.
fn array(name: &str, number: usize) -> String {
    format!("{name} AS MATERIALIZED (SELECT unnest(${number}::bytea[]) AS id)")
}
