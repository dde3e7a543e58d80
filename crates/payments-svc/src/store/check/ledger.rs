//! The ledger, its lines, payouts and balances.

use super::rule::{
    Rule,
    Test::{Rows, Sums},
};

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "the postings of a line sum to zero in each currency",
        test: Rows(
            "SELECT line AS place, 0 AS kept, sum(amount) AS computed
             FROM postings GROUP BY line, currency",
        ),
    },
    Rule {
        name: "every posting has a line",
        test: Rows(
            "SELECT DISTINCT line AS place, 'no line' AS kept, 'a line' AS computed
             FROM postings LEFT JOIN lines ON lines.id = line WHERE lines.id IS NULL",
        ),
    },
    Rule {
        name: "a posting has its merchant's currency, or its line's (accounts acquirer, exchange)",
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
        name: "a line has the currency of its transaction, or of its merchant (payout, returned)",
        test: Rows(
            "SELECT lines.id AS place, lines.currency AS kept,
                 CASE WHEN \"transaction\" IS NULL
                     THEN merchants.currency ELSE transactions.currency END AS computed
             FROM lines LEFT JOIN merchants ON merchants.id = lines.merchant
             LEFT JOIN transactions ON transactions.id = \"transaction\"",
        ),
    },
    Rule {
        name: "the balance of a line is the sum of its postings on the merchant account",
        test: Sums(
            "SELECT id AS place, balance AS kept, 0 AS computed FROM lines
             UNION ALL SELECT line, 0, amount FROM postings WHERE account = 'merchant'",
        ),
    },
    Rule {
        name: "the fee of a line is the sum of its postings on the fees account",
        test: Sums(
            "SELECT id AS place, fee AS kept, 0 AS computed FROM lines
             UNION ALL SELECT line, 0, amount FROM postings WHERE account = 'fees'",
        ),
    },
    Rule {
        name: "the amount of a line is the sum of its postings on the acquirer account",
        test: Sums(
            "SELECT id AS place, -amount AS kept, 0 AS computed
             FROM lines WHERE kind IN ('capture', 'refund')
             UNION ALL SELECT line, amount, 0 FROM trail WHERE movement = 'lost'
             UNION ALL SELECT won.line, -won.amount, 0
             FROM trail AS won JOIN trail AS lost
                 ON lost.dispute = won.dispute AND lost.movement = 'lost'
             WHERE won.movement = 'won'
             UNION ALL SELECT line, 0, postings.amount FROM postings JOIN lines ON lines.id = line
             WHERE account = 'acquirer' AND kind IN ('capture', 'refund', 'lost', 'won')",
        ),
    },
    Rule {
        name: "a line has the merchant of its transaction",
        test: Rows(
            "SELECT lines.id AS place, 'another merchant' AS kept,
                 'the same merchant' AS computed
             FROM lines LEFT JOIN transactions ON transactions.id = \"transaction\"
             WHERE \"transaction\" IS NOT NULL
                 AND lines.merchant IS DISTINCT FROM transactions.merchant",
        ),
    },
    Rule {
        name: "a line of a transaction belongs to exactly one step or opened dispute",
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
        name: "the amount of a payout is the amount that its line subtracts from the balance",
        test: Rows(
            "SELECT payouts.id AS place, payouts.amount AS kept, -lines.balance AS computed
             FROM payouts LEFT JOIN lines
             ON lines.id = line AND lines.merchant = payouts.merchant AND kind = 'payout'",
        ),
    },
    Rule {
        name: "the amount of a payout that came back is the amount that its line adds to the balance",
        test: Rows(
            "SELECT payouts.id AS place, payouts.amount AS kept, lines.balance AS computed
             FROM payouts LEFT JOIN lines ON lines.id = return_line
                 AND lines.merchant = payouts.merchant AND kind = 'returned'
             WHERE return_line IS NOT NULL",
        ),
    },
    Rule {
        name: "a payout has the time of its line",
        test: Rows(
            "SELECT payouts.id AS place, payouts.created AS kept, lines.created AS computed
             FROM payouts LEFT JOIN lines ON lines.id = line",
        ),
    },
    Rule {
        name: "a payout that came back has the time of its line",
        test: Rows(
            "SELECT payouts.id AS place, returned AS kept, lines.created AS computed
             FROM payouts LEFT JOIN lines ON lines.id = return_line",
        ),
    },
    Rule {
        name: "the line of a payout, and of one that came back, has equal amount and balance",
        test: Rows(
            "SELECT id AS place, amount AS kept, balance AS computed
             FROM lines WHERE kind IN ('payout', 'returned')",
        ),
    },
    Rule {
        name: "the amount of a payout is its posting on the bank account",
        test: Rows(
            "SELECT payouts.id AS place, payouts.amount AS kept, postings.amount AS computed
             FROM payouts LEFT JOIN postings ON postings.line = payouts.line AND account = 'bank'",
        ),
    },
    Rule {
        name: "a payout that came back has the opposite posting on the bank account",
        test: Rows(
            "SELECT payouts.id AS place, payouts.amount AS kept, -postings.amount AS computed
             FROM payouts LEFT JOIN postings
             ON postings.line = payouts.return_line AND account = 'bank'
             WHERE return_line IS NOT NULL",
        ),
    },
    Rule {
        name: "a payout has the currency of its merchant",
        test: Rows(
            "SELECT payouts.id AS place, payouts.currency AS kept, merchants.currency AS computed
             FROM payouts LEFT JOIN merchants ON merchants.id = merchant",
        ),
    },
    Rule {
        name: "a line of kind payout or returned has a payout, every other line has a transaction",
        test: Rows(
            "SELECT lines.id AS place,
                 CASE WHEN booked.id IS NOT NULL THEN 'a payout'
                     WHEN back.id IS NOT NULL THEN 'a payout that came back'
                     ELSE 'no payout' END
                     || CASE WHEN \"transaction\" IS NULL THEN ' and no transaction'
                         ELSE ' and a transaction' END AS kept,
                 CASE kind WHEN 'payout' THEN 'a payout and no transaction'
                     WHEN 'returned' THEN 'a payout that came back and no transaction'
                     ELSE 'no payout and a transaction' END AS computed
             FROM lines LEFT JOIN payouts AS booked ON booked.line = lines.id
             LEFT JOIN payouts AS back ON back.return_line = lines.id",
        ),
    },
];

/// A rule about all merchants: a check with `--since` leaves it out.
pub(super) const EVERY_BALANCE: Rule = Rule {
    name: "every merchant has a balance",
    test: Sums(
        "SELECT id AS place, 1 AS kept, 0 AS computed FROM merchants
         UNION ALL SELECT DISTINCT merchant, 0, 1 FROM balances",
    ),
};
