//! What the books have to say, whichever engine keeps them.

use std::fmt;

use super::postgres;

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
    Postgres(#[from] postgres::OpenError),
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

/// Rules, and the statements that select what they compare: a place, what is kept, what it should
/// be. They are written so that each engine understands them.
const RULES: [(&str, &str); 17] = [
    (
        "the journal adds up to nothing in every currency",
        "SELECT currency AS place, 0 AS kept, sum(amount) AS computed FROM postings GROUP BY currency",
    ),
    (
        "the postings of a line add up to nothing in every currency",
        "SELECT line AS place, 0 AS kept, sum(amount) AS computed
         FROM postings GROUP BY line, currency",
    ),
    (
        "every posting has its line",
        "SELECT line AS place, 1 AS kept, 0 AS computed
         FROM postings WHERE NOT EXISTS (SELECT 1 FROM lines WHERE id = line) GROUP BY line",
    ),
    (
        "a line is the merchant's side of its postings",
        "SELECT id AS place, balance AS kept, coalesce(sum(postings.amount), 0) AS computed
         FROM lines LEFT JOIN postings ON line = id AND account = 'merchant' GROUP BY id",
    ),
    (
        "the fee of a line is what its postings give to the fees",
        "SELECT id AS place, fee AS kept, coalesce(sum(postings.amount), 0) AS computed
         FROM lines LEFT JOIN postings ON line = id AND account = 'fees' GROUP BY id",
    ),
    (
        "a merchant's balance is the sum of its lines",
        "SELECT id AS place,
             coalesce((SELECT sum(balance) FROM balances WHERE merchant = merchants.id), 0) AS kept,
             coalesce((SELECT sum(balance) FROM lines WHERE merchant = merchants.id), 0) AS computed
         FROM merchants",
    ),
    (
        "what was captured is what the trail says",
        "SELECT id AS place, captured AS kept, coalesce(sum(trail.amount), 0) AS computed
         FROM transactions LEFT JOIN trail ON \"transaction\" = id AND movement = 'capture'
         GROUP BY id",
    ),
    (
        "what was refunded is what the trail says",
        "SELECT id AS place, refunded AS kept, coalesce(sum(trail.amount), 0) AS computed
         FROM transactions LEFT JOIN trail ON \"transaction\" = id AND movement = 'refund'
         GROUP BY id",
    ),
    (
        "what was voided is what the trail says",
        "SELECT id AS place, voided AS kept, coalesce(sum(trail.amount), 0) AS computed
         FROM transactions LEFT JOIN trail ON \"transaction\" = id AND movement = 'void'
         GROUP BY id",
    ),
    (
        "the steps of a trail have no gaps",
        "SELECT id AS place, steps AS kept, count(step) AS computed
         FROM transactions LEFT JOIN trail ON \"transaction\" = id GROUP BY id",
    ),
    (
        "a step's balance is its line's",
        "SELECT lines.id AS place, lines.balance AS kept, trail.balance AS computed
         FROM lines LEFT JOIN trail
         ON trail.line = lines.id AND trail.\"transaction\" = lines.\"transaction\"
         WHERE kind <> 'payout'",
    ),
    (
        "what was captured is what its captures are",
        "SELECT id AS place, captured AS kept, coalesce(sum(captures.amount), 0) AS computed
         FROM transactions LEFT JOIN captures ON \"transaction\" = id GROUP BY id",
    ),
    (
        "what was refunded is what was taken out of its captures",
        "SELECT id AS place, refunded AS kept, coalesce(sum(amount_out), 0) AS computed
         FROM transactions LEFT JOIN captures ON \"transaction\" = id GROUP BY id",
    ),
    (
        "what captures are worth, less what was given back and the flat fees, is what their steps made",
        "SELECT worth.\"transaction\" AS place, worth.total AS kept, made.total AS computed
         FROM (
             SELECT \"transaction\", sum(gross - gross_out - fee + fee_out) AS total
             FROM captures GROUP BY \"transaction\"
         ) AS worth JOIN (
             SELECT \"transaction\", sum(balance + fee_flat) AS total
             FROM trail GROUP BY \"transaction\"
         ) AS made ON made.\"transaction\" = worth.\"transaction\"",
    ),
    (
        "a payout is what its line takes",
        "SELECT payouts.id AS place, payouts.amount AS kept, -lines.balance AS computed
         FROM payouts LEFT JOIN lines
         ON lines.id = line AND lines.merchant = payouts.merchant AND kind = 'payout'",
    ),
    (
        "a payout is what its line gives to the bank",
        "SELECT payouts.id AS place, payouts.amount AS kept, postings.amount AS computed
         FROM payouts LEFT JOIN postings ON postings.line = payouts.line AND account = 'bank'",
    ),
    (
        "lines of payouts, and no others, have their payout and no transaction",
        "SELECT lines.id AS place, CASE WHEN kind = 'payout' THEN 2 ELSE 0 END AS kept,
             CASE WHEN payouts.id IS NULL THEN 0 ELSE 1 END
                 + CASE WHEN \"transaction\" IS NULL THEN 1 ELSE 0 END AS computed
         FROM lines LEFT JOIN payouts ON line = lines.id",
    ),
];

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
