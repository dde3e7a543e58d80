//! The journal, its lines, payouts and balances.

use super::rule::{
    Rule,
    Test::{Rows, Sums},
};

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "the journal adds up to nothing in every currency",
        test: Rows(
            "SELECT currency AS place, 0 AS kept, sum(amount) AS computed
             FROM postings GROUP BY currency",
        ),
    },
    Rule {
        name: "the postings of a line add up to nothing in every currency",
        test: Rows(
            "SELECT line AS place, 0 AS kept, sum(amount) AS computed
             FROM postings GROUP BY line, currency",
        ),
    },
    Rule {
        name: "every posting has its line",
        test: Rows(
            "SELECT DISTINCT line AS place, 1 AS kept, 0 AS computed
             FROM postings LEFT JOIN lines ON lines.id = line WHERE lines.id IS NULL",
        ),
    },
    Rule {
        name: "a posting is in its merchant's currency, the acquirer's in that of its line",
        test: Rows(
            "SELECT line AS place, postings.currency AS kept,
                 CASE WHEN account = 'acquirer'
                         OR account = 'exchange' AND postings.currency = lines.currency
                     THEN lines.currency ELSE merchants.currency END AS computed
             FROM postings JOIN lines ON lines.id = line
             LEFT JOIN merchants ON merchants.id = lines.merchant",
        ),
    },
    Rule {
        name: "a line is in its transaction's currency, that of a payout in its merchant's",
        test: Rows(
            "SELECT lines.id AS place, lines.currency AS kept,
                 CASE WHEN \"transaction\" IS NULL
                     THEN merchants.currency ELSE transactions.currency END AS computed
             FROM lines LEFT JOIN merchants ON merchants.id = lines.merchant
             LEFT JOIN transactions ON transactions.id = \"transaction\"",
        ),
    },
    Rule {
        name: "a line is the merchant's side of its postings",
        test: Sums(
            "SELECT id AS place, balance AS kept, 0 AS computed FROM lines
             UNION ALL SELECT line, 0, amount FROM postings WHERE account = 'merchant'",
        ),
    },
    Rule {
        name: "the fee of a line is what its postings give to the fees",
        test: Sums(
            "SELECT id AS place, fee AS kept, 0 AS computed FROM lines
             UNION ALL SELECT line, 0, amount FROM postings WHERE account = 'fees'",
        ),
    },
    Rule {
        name: "what moved is what its postings take from the acquirer",
        test: Sums(
            "SELECT id AS place, -amount AS kept, 0 AS computed
             FROM lines WHERE kind IN ('capture', 'refund')
             UNION ALL SELECT line, amount, 0 FROM trail WHERE movement = 'lost'
             UNION ALL SELECT line, 0, postings.amount FROM postings JOIN lines ON lines.id = line
             WHERE account = 'acquirer' AND kind IN ('capture', 'refund', 'lost')",
        ),
    },
    Rule {
        name: "a line is its transaction's merchant's",
        test: Rows(
            "SELECT lines.id AS place, 1 AS kept, 0 AS computed
             FROM lines LEFT JOIN transactions ON transactions.id = \"transaction\"
             WHERE \"transaction\" IS NOT NULL
                 AND lines.merchant IS DISTINCT FROM transactions.merchant",
        ),
    },
    Rule {
        name: "a line of a transaction is that of one step, or of a dispute that was opened",
        test: Sums(
            "SELECT id AS place, 1 AS kept, 0 AS computed
             FROM lines WHERE \"transaction\" IS NOT NULL
             UNION ALL SELECT lines.id, 0, 1 FROM trail JOIN lines ON lines.id = line
             WHERE trail.\"transaction\" = lines.\"transaction\" AND movement = kind
             UNION ALL SELECT lines.id, 0, 1 FROM disputes JOIN lines ON lines.id = line
             WHERE disputes.\"transaction\" = lines.\"transaction\" AND kind = 'dispute'",
        ),
    },
    Rule {
        name: "a payout is what its line takes",
        test: Rows(
            "SELECT payouts.id AS place, payouts.amount AS kept, -lines.balance AS computed
             FROM payouts LEFT JOIN lines
             ON lines.id = line AND lines.merchant = payouts.merchant AND kind = 'payout'",
        ),
    },
    Rule {
        name: "the amount of a payout's line is what it does to the balance",
        test: Rows(
            "SELECT id AS place, amount AS kept, balance AS computed
             FROM lines WHERE kind = 'payout'",
        ),
    },
    Rule {
        name: "a payout is what its line gives to the bank",
        test: Rows(
            "SELECT payouts.id AS place, payouts.amount AS kept, postings.amount AS computed
             FROM payouts LEFT JOIN postings ON postings.line = payouts.line AND account = 'bank'",
        ),
    },
    Rule {
        name: "a payout is in its merchant's currency",
        test: Rows(
            "SELECT payouts.id AS place, payouts.currency AS kept, merchants.currency AS computed
             FROM payouts LEFT JOIN merchants ON merchants.id = merchant",
        ),
    },
    Rule {
        name: "lines of payouts, and no others, have their payout and no transaction",
        test: Rows(
            "SELECT lines.id AS place, CASE WHEN kind = 'payout' THEN 2 ELSE 0 END AS kept,
                 CASE WHEN payouts.id IS NULL THEN 0 ELSE 1 END
                     + CASE WHEN \"transaction\" IS NULL THEN 1 ELSE 0 END AS computed
             FROM lines LEFT JOIN payouts ON line = lines.id",
        ),
    },
];

/// Rules about all lines of a merchant.
pub(super) const BALANCES: &[Rule] = &[
    Rule {
        name: "a merchant's balance is the sum of its lines",
        test: Sums(
            "SELECT merchant AS place, balance AS kept, 0 AS computed FROM balances
             UNION ALL SELECT merchant, 0, balance FROM lines",
        ),
    },
    Rule {
        name: "every merchant has a balance",
        test: Sums(
            "SELECT id AS place, 1 AS kept, 0 AS computed FROM merchants
             UNION ALL SELECT DISTINCT merchant, 0, 1 FROM balances",
        ),
    },
];
