//! Recomputes what the books say, from the bottom up, and tells where they disagree.

use std::{fmt, path::Path};

use rusqlite::{Connection, Row};

use super::DATABASE;
use crate::domain::Id;

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
    /// The database cannot be read.
    #[error("the database cannot be read: {0}")]
    Sqlite(#[from] rusqlite::Error),
    /// The books disagree with themselves.
    #[error("the books disagree:\n{}", lines(.0))]
    Disagree(Vec<Disagreement>),
}

fn lines(found: &[Disagreement]) -> String {
    found.iter().map(Disagreement::to_string).collect::<Vec<_>>().join("\n")
}

/// Rules, and the statements that find what breaks them: a place, what is kept, what is computed.
const RULES: [(&str, &str); 14] = [
    (
        "the journal adds up to nothing in every currency",
        "SELECT currency, 0, sum(amount) AS total FROM postings GROUP BY currency HAVING total <> 0",
    ),
    (
        "the postings of a line add up to nothing in every currency",
        "SELECT line, 0, sum(amount) AS total FROM postings GROUP BY line, currency HAVING total <> 0",
    ),
    (
        "every posting has its line",
        "SELECT line, 1, 0 FROM postings WHERE line NOT IN (SELECT id FROM lines) GROUP BY line",
    ),
    (
        "a line is the merchant's side of its postings",
        "SELECT id, balance, total FROM lines JOIN (
             SELECT id AS of, coalesce(sum(postings.amount), 0) AS total
             FROM lines LEFT JOIN postings ON line = id AND account = 'merchant' GROUP BY id
         ) ON of = id WHERE balance <> total",
    ),
    (
        "the fee of a line is what its postings give to the fees",
        "SELECT id, fee, total FROM lines JOIN (
             SELECT id AS of, coalesce(sum(postings.amount), 0) AS total
             FROM lines LEFT JOIN postings ON line = id AND account = 'fees' GROUP BY id
         ) ON of = id WHERE fee <> total",
    ),
    (
        "a merchant's balance is the sum of its lines",
        "SELECT balances.merchant, balances.balance, coalesce(sum(lines.balance), 0) AS total
         FROM balances LEFT JOIN lines ON lines.merchant = balances.merchant
         GROUP BY balances.merchant HAVING balances.balance <> total",
    ),
    (
        "what was captured is what the trail says",
        "SELECT id, captured, total FROM transactions JOIN (
             SELECT id AS of, coalesce(sum(trail.amount), 0) AS total FROM transactions
             LEFT JOIN trail ON \"transaction\" = id AND movement = 'capture' GROUP BY id
         ) ON of = id WHERE captured <> total",
    ),
    (
        "what was refunded is what the trail says",
        "SELECT id, refunded, total FROM transactions JOIN (
             SELECT id AS of, coalesce(sum(trail.amount), 0) AS total FROM transactions
             LEFT JOIN trail ON \"transaction\" = id AND movement = 'refund' GROUP BY id
         ) ON of = id WHERE refunded <> total",
    ),
    (
        "what was voided is what the trail says",
        "SELECT id, voided, total FROM transactions JOIN (
             SELECT id AS of, coalesce(sum(trail.amount), 0) AS total FROM transactions
             LEFT JOIN trail ON \"transaction\" = id AND movement = 'void' GROUP BY id
         ) ON of = id WHERE voided <> total",
    ),
    (
        "the steps of a trail have no gaps",
        "SELECT id, steps, total FROM transactions JOIN (
             SELECT id AS of, count(step) AS total FROM transactions
             LEFT JOIN trail ON \"transaction\" = id GROUP BY id
         ) ON of = id WHERE steps <> total",
    ),
    (
        "a step's balance is its line's",
        "SELECT lines.id, lines.balance, coalesce(trail.balance, 0) FROM lines
         LEFT JOIN trail ON trail.line = lines.id AND trail.\"transaction\" = lines.\"transaction\"
         WHERE trail.balance IS NOT lines.balance",
    ),
    (
        "what was captured is what its captures are",
        "SELECT id, captured, total FROM transactions JOIN (
             SELECT id AS of, coalesce(sum(captures.amount), 0) AS total FROM transactions
             LEFT JOIN captures ON \"transaction\" = id GROUP BY id
         ) ON of = id WHERE captured <> total",
    ),
    (
        "what was refunded is what was taken out of its captures",
        "SELECT id, refunded, total FROM transactions JOIN (
             SELECT id AS of, coalesce(sum(amount_out), 0) AS total FROM transactions
             LEFT JOIN captures ON \"transaction\" = id GROUP BY id
         ) ON of = id WHERE refunded <> total",
    ),
    (
        "what captures are worth, less what was given back and the flat fees, is what their steps made",
        "SELECT id, kept, total FROM (
             SELECT \"transaction\" AS id, sum(gross - gross_out - fee + fee_out) AS kept
             FROM captures GROUP BY 1
         ) JOIN (
             SELECT \"transaction\" AS of, sum(balance + fee_flat) AS total FROM trail GROUP BY 1
         ) ON of = id WHERE kept <> total",
    ),
];

/// Checks the books of the store in `data_dir`, at one moment, while a service may use it.
pub fn check(data_dir: &Path) -> Result<(), CheckError> {
    let db = common::sqlite::open_reader(&data_dir.join(DATABASE))?;
    let snapshot = db.unchecked_transaction()?;
    let mut found = Vec::new();
    for (rule, sql) in RULES {
        found.extend(broken(&snapshot, rule, sql)?);
    }
    if found.is_empty() { Ok(()) } else { Err(CheckError::Disagree(found)) }
}

fn broken(db: &Connection, rule: &'static str, sql: &str) -> rusqlite::Result<Vec<Disagreement>> {
    let place = |row: &Row<'_>| match row.get::<_, Id>(0) {
        Ok(id) => Ok(id.to_string()),
        Err(_) => row.get::<_, String>(0),
    };
    db.prepare(sql)?
        .query_map([], |row| {
            Ok(Disagreement { rule, place: place(row)?, kept: row.get(1)?, computed: row.get(2)? })
        })?
        .collect()
}
