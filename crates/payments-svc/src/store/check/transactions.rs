//! Transactions, their trails, captures and instructions.

use super::rule::{
    Rule,
    Test::{Rows, Sums},
};

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "what was captured is what the trail says",
        test: Sums(
            "SELECT id AS place, captured AS kept, 0 AS computed FROM transactions
             UNION ALL SELECT \"transaction\", 0, amount FROM trail WHERE movement = 'capture'",
        ),
    },
    Rule {
        name: "what was refunded is what the trail says",
        test: Sums(
            "SELECT id AS place, refunded AS kept, 0 AS computed FROM transactions
             UNION ALL SELECT \"transaction\", 0, amount FROM trail WHERE movement = 'refund'",
        ),
    },
    Rule {
        name: "what was voided is what the trail says",
        test: Sums(
            "SELECT id AS place, voided AS kept, 0 AS computed FROM transactions
             UNION ALL SELECT \"transaction\", 0, amount FROM trail WHERE movement = 'void'",
        ),
    },
    Rule {
        name: "the steps of a trail have no gaps",
        test: Sums(
            "SELECT id AS place, steps AS kept, 0 AS computed FROM transactions
             UNION ALL SELECT \"transaction\", 0, 1 FROM trail",
        ),
    },
    Rule {
        name: "the last step of a trail is as many as there are",
        test: Sums(
            "SELECT id AS place, steps AS kept, 0 AS computed FROM transactions
             UNION ALL SELECT \"transaction\", 0, max(step) + 1 FROM trail GROUP BY \"transaction\"",
        ),
    },
    Rule {
        name: "nothing becomes of a transaction that failed",
        test: Rows(
            "SELECT id AS place, 0 AS kept, captured + voided AS computed
             FROM transactions WHERE error IS NOT NULL",
        ),
    },
    Rule {
        name: "a transaction is over what was authorized",
        test: Rows(
            "SELECT transactions.id AS place,
                 transactions.currency || ' ' || transactions.amount AS kept,
                 authorizations.currency || ' ' || authorizations.amount AS computed
             FROM transactions
             JOIN authorizations ON authorizations.operation = transactions.operation",
        ),
    },
    Rule {
        name: "an operation is open, or it became a transaction",
        test: Rows(
            "SELECT operations.id AS place, 0 AS kept, 1 AS computed
             FROM operations JOIN transactions ON operation = operations.id",
        ),
    },
    Rule {
        name: "an instruction is about what its step did, a reversal about all of its transaction",
        test: Rows(
            "SELECT instructions.id AS place, instructions.amount AS kept,
                 CASE WHEN instructions.movement = 'reverse'
                     THEN transactions.amount ELSE trail.amount END AS computed
             FROM instructions
             LEFT JOIN transactions ON transactions.id = instructions.\"transaction\"
             LEFT JOIN trail ON trail.\"transaction\" = instructions.\"transaction\"
                 AND trail.step = instructions.step AND trail.movement = instructions.movement",
        ),
    },
    Rule {
        name: "a step has a line, unless it gave money up",
        test: Rows(
            "SELECT \"transaction\" AS place, step AS kept, -1 AS computed
             FROM trail WHERE (line IS NULL) <> (movement = 'void')",
        ),
    },
    Rule {
        name: "a step's balance is its line's",
        test: Rows(
            "SELECT trail.line AS place, trail.balance AS kept, lines.balance AS computed
             FROM trail LEFT JOIN lines ON lines.id = trail.line WHERE trail.line IS NOT NULL",
        ),
    },
    Rule {
        name: "a step's fees are its line's",
        test: Rows(
            "SELECT trail.line AS place, fee_flat + fee_rate AS kept, lines.fee AS computed
             FROM trail LEFT JOIN lines ON lines.id = trail.line WHERE trail.line IS NOT NULL",
        ),
    },
    Rule {
        name: "a step is what its line says has moved",
        test: Rows(
            "SELECT trail.line AS place,
                 CASE movement WHEN 'refund' THEN -trail.amount WHEN 'lost' THEN 0
                     ELSE trail.amount END AS kept,
                 lines.amount AS computed
             FROM trail LEFT JOIN lines ON lines.id = trail.line WHERE trail.line IS NOT NULL",
        ),
    },
    Rule {
        name: "a step that captures is what its capture keeps",
        test: Rows(
            "SELECT trail.\"transaction\" AS place, trail.amount AS kept, captures.amount AS computed
             FROM trail LEFT JOIN captures
                 ON captures.\"transaction\" = trail.\"transaction\" AND captures.step = trail.step
             WHERE movement = 'capture'",
        ),
    },
    Rule {
        name: "what was captured is what its captures are",
        test: Sums(
            "SELECT id AS place, captured AS kept, 0 AS computed FROM transactions
             UNION ALL SELECT \"transaction\", 0, amount FROM captures",
        ),
    },
    Rule {
        name: "nothing is exchanged within a currency",
        test: Rows(
            "SELECT captures.\"transaction\" AS place, rate || ' less ' || spread AS kept,
                 '1/1 less 0' AS computed
             FROM captures JOIN transactions ON transactions.id = captures.\"transaction\"
             JOIN merchants ON merchants.id = merchant
             WHERE transactions.currency = merchants.currency",
        ),
    },
    Rule {
        name: "what was refunded or is held by disputes is what was taken out of its captures",
        test: Sums(
            "SELECT id AS place, refunded AS kept, 0 AS computed FROM transactions
             UNION ALL SELECT \"transaction\", slices.amount, 0
             FROM slices JOIN disputes ON disputes.id = dispute
             WHERE NOT again AND decision IS DISTINCT FROM 'won'
             UNION ALL SELECT \"transaction\", 0, amount_out FROM captures",
        ),
    },
    Rule {
        name: "what refunds and disputes were worth is what was taken out of the gross of captures",
        test: Sums(
            "SELECT \"transaction\" AS place, -(balance + fee_rate) AS kept, 0 AS computed
             FROM trail WHERE movement = 'refund'
             UNION ALL SELECT \"transaction\", slices.gross, 0
             FROM slices JOIN disputes ON disputes.id = dispute
             WHERE NOT again AND decision IS DISTINCT FROM 'won'
             UNION ALL SELECT \"transaction\", 0, gross_out FROM captures",
        ),
    },
    Rule {
        name: "the fees that refunds and disputes returned are what was taken out of its captures",
        test: Sums(
            "SELECT \"transaction\" AS place, -fee_rate AS kept, 0 AS computed
             FROM trail WHERE movement = 'refund'
             UNION ALL SELECT \"transaction\", slices.fee, 0
             FROM slices JOIN disputes ON disputes.id = dispute
             WHERE NOT again AND decision IS DISTINCT FROM 'won'
             UNION ALL SELECT \"transaction\", 0, fee_out FROM captures",
        ),
    },
    Rule {
        name: "a capture whose amount is all taken out has nothing left",
        test: Rows(
            "SELECT \"transaction\" AS place, gross_out || ' less ' || fee_out AS kept,
                 gross || ' less ' || fee AS computed
             FROM captures WHERE amount_out = amount",
        ),
    },
    Rule {
        name: "the lines of a transaction are what its captures are worth, less fees and what went twice",
        test: Sums(
            "SELECT \"transaction\" AS place, balance AS kept, 0 AS computed
             FROM lines WHERE \"transaction\" IS NOT NULL
             UNION ALL SELECT \"transaction\", 0, gross - gross_out - fee + fee_out FROM captures
             UNION ALL SELECT \"transaction\", 0, -fee_flat FROM trail
             UNION ALL SELECT disputes.\"transaction\", 0, -lines.fee
             FROM disputes JOIN lines ON lines.id = line
             UNION ALL SELECT \"transaction\", 0,
                 -slices.fee - CASE WHEN again AND decision IS DISTINCT FROM 'won'
                     THEN slices.gross - slices.fee ELSE 0 END
             FROM slices JOIN disputes ON disputes.id = dispute",
        ),
    },
];
