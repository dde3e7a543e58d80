//! Transactions, their trails, captures and outbox entries.

use super::rule::{
    Rule,
    Test::{Rows, Sums},
};

/// The state that follows from the amounts of a transaction.
macro_rules! state {
    () => {
        "CASE WHEN error IS NOT NULL THEN 'failed'
             WHEN disputed > 0 THEN 'disputed'
             WHEN refunded > 0 AND refunded >= captured THEN 'refunded'
             WHEN refunded > 0 THEN 'partly_refunded'
             WHEN captured > 0 AND captured = amount THEN 'captured'
             WHEN captured > 0 THEN 'partly_captured'
             WHEN voided = amount THEN 'voided'
             ELSE 'authorized' END"
    };
}

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "the captured amount is the sum of the captures in the trail",
        test: Sums(
            "SELECT id AS place, captured AS kept, 0 AS computed FROM transactions
             UNION ALL SELECT \"transaction\", 0, amount FROM trail WHERE movement = 'capture'",
        ),
    },
    Rule {
        name: "the refunded amount is the sum of the refunds in the trail",
        test: Sums(
            "SELECT id AS place, refunded AS kept, 0 AS computed FROM transactions
             UNION ALL SELECT \"transaction\", 0, amount FROM trail WHERE movement = 'refund'",
        ),
    },
    Rule {
        name: "the voided amount is the sum of the voids in the trail",
        test: Sums(
            "SELECT id AS place, voided AS kept, 0 AS computed FROM transactions
             UNION ALL SELECT \"transaction\", 0, amount FROM trail WHERE movement = 'void'",
        ),
    },
    Rule {
        name: "the number of steps of a transaction is the length of its trail",
        test: Sums(
            "SELECT id AS place, steps AS kept, 0 AS computed FROM transactions
             UNION ALL SELECT \"transaction\", 0, 1 FROM trail",
        ),
    },
    Rule {
        name: "the steps of a trail have no gaps",
        test: Sums(
            "SELECT id AS place, steps AS kept, 0 AS computed FROM transactions
             UNION ALL SELECT \"transaction\", 0, max(step) + 1 FROM trail GROUP BY \"transaction\"",
        ),
    },
    Rule {
        name: "a failed transaction is neither captured nor voided",
        test: Rows(
            "SELECT id AS place, 0 AS kept, captured + voided AS computed
             FROM transactions WHERE error IS NOT NULL",
        ),
    },
    Rule {
        name: "a transaction has the authorized currency and amount",
        test: Rows(
            "SELECT transactions.id AS place,
                 transactions.currency || ' ' || transactions.amount AS kept,
                 authorizations.currency || ' ' || authorizations.amount AS computed
             FROM transactions
             LEFT JOIN authorizations ON authorizations.pending_payment
                 = transactions.pending_payment",
        ),
    },
    Rule {
        name: "a pending payment has no transaction",
        test: Rows(
            "SELECT pending_payments.id AS place, 'a transaction' AS kept,
                 'no transaction' AS computed
             FROM pending_payments JOIN transactions
                 ON transactions.pending_payment = pending_payments.id",
        ),
    },
    Rule {
        name: "a failed payment does not use up its link",
        test: Rows(
            "SELECT transactions.id AS place, 'used' AS kept, 'free' AS computed
             FROM used_links JOIN transactions
                 ON transactions.pending_payment = used_links.pending_payment
             WHERE error IS NOT NULL",
        ),
    },
    Rule {
        name: "an outbox entry has the acquirer of its transaction",
        test: Rows(
            "SELECT outbox.id AS place, outbox.acquirer AS kept, transactions.acquirer AS computed
             FROM outbox LEFT JOIN transactions ON transactions.id = outbox.\"transaction\"",
        ),
    },
    Rule {
        name: "an outbox entry has the amount of its step or of its transaction (reversal), or has a dispute",
        test: Rows(
            "SELECT outbox.id AS place, outbox.amount AS kept,
                 CASE WHEN outbox.movement = 'reverse' THEN transactions.amount
                     WHEN disputes.id IS NOT NULL THEN outbox.amount
                     ELSE trail.amount END AS computed
             FROM outbox
             LEFT JOIN disputes ON disputes.id = outbox.dispute
                 AND disputes.\"transaction\" = outbox.\"transaction\"
             LEFT JOIN transactions ON transactions.id = outbox.\"transaction\"
             LEFT JOIN trail ON trail.\"transaction\" = outbox.\"transaction\"
                 AND trail.step = outbox.step AND trail.movement = outbox.movement",
        ),
    },
    Rule {
        name: "a step has a line, unless it is a void",
        test: Rows(
            "SELECT \"transaction\" AS place,
                 'step ' || step || CASE WHEN line IS NULL THEN ' without' ELSE ' with' END
                     || ' line' AS kept,
                 CASE movement WHEN 'void' THEN 'without line' ELSE 'with line' END AS computed
             FROM trail WHERE (line IS NULL) <> (movement = 'void')",
        ),
    },
    Rule {
        name: "a step of a trail has the balance of its line",
        test: Rows(
            "SELECT trail.line AS place, trail.balance AS kept, lines.balance AS computed
             FROM trail LEFT JOIN lines ON lines.id = trail.line WHERE trail.line IS NOT NULL",
        ),
    },
    Rule {
        name: "a step of a trail has the fees of its line",
        test: Rows(
            "SELECT trail.line AS place, fee_flat + fee_rate AS kept, lines.fee AS computed
             FROM trail LEFT JOIN lines ON lines.id = trail.line WHERE trail.line IS NOT NULL",
        ),
    },
    Rule {
        name: "a step of a trail has the amount of its line",
        test: Rows(
            "SELECT trail.line AS place,
                 CASE movement WHEN 'refund' THEN -trail.amount WHEN 'lost' THEN 0
                     ELSE trail.amount END AS kept,
                 lines.amount AS computed
             FROM trail LEFT JOIN lines ON lines.id = trail.line WHERE trail.line IS NOT NULL",
        ),
    },
    Rule {
        name: "a capture in the trail has the amount of the stored capture",
        test: Rows(
            "SELECT trail.\"transaction\" AS place, trail.amount AS kept, captures.amount AS computed
             FROM trail LEFT JOIN captures
                 ON captures.\"transaction\" = trail.\"transaction\" AND captures.step = trail.step
             WHERE movement = 'capture' AND reverses IS NULL",
        ),
    },
    Rule {
        name: "the captured amount is the sum of the stored captures",
        test: Sums(
            "SELECT id AS place, captured AS kept, 0 AS computed FROM transactions
             UNION ALL SELECT \"transaction\", 0, amount FROM captures WHERE NOT refused",
        ),
    },
    Rule {
        name: "a step that reverses another has its movement and the opposite amount",
        test: Rows(
            "SELECT later.\"transaction\" AS place, later.movement || ' ' || later.amount AS kept,
                 trail.movement || ' ' || -trail.amount AS computed
             FROM trail AS later LEFT JOIN trail
                 ON trail.\"transaction\" = later.\"transaction\" AND trail.step = later.reverses
             WHERE later.reverses IS NOT NULL",
        ),
    },
    Rule {
        name: "a step has a negative amount if it reverses another one",
        test: Rows(
            "SELECT \"transaction\" AS place, amount AS kept,
                 CASE WHEN reverses IS NULL THEN abs(amount) ELSE -abs(amount) END AS computed
             FROM trail",
        ),
    },
    Rule {
        name: "a capture is refused if a step reverses it",
        test: Sums(
            "SELECT \"transaction\" AS place, 1 AS kept, 0 AS computed
             FROM captures WHERE refused
             UNION ALL SELECT \"transaction\", 0, 1
             FROM trail WHERE movement = 'capture' AND reverses IS NOT NULL",
        ),
    },
    Rule {
        name: "a refused void is a void of the trail",
        test: Rows(
            "SELECT refused_voids.\"transaction\" AS place, coalesce(movement, 'missing') AS kept,
                 'void' AS computed
             FROM refused_voids LEFT JOIN trail
                 ON trail.\"transaction\" = refused_voids.\"transaction\"
                 AND trail.step = refused_voids.step",
        ),
    },
    Rule {
        name: "a capture within one currency has exchange rate 1 and no spread",
        test: Rows(
            "SELECT captures.\"transaction\" AS place, rate || ' less ' || spread AS kept,
                 '1/1 less 0' AS computed
             FROM captures JOIN transactions ON transactions.id = captures.\"transaction\"
             JOIN merchants ON merchants.id = merchant
             WHERE transactions.currency = merchants.currency",
        ),
    },
    // The next three rules leave out slices marked `again`, which do not change a capture.
    Rule {
        name: "the returned amount of captures is the amount of refunds and disputes",
        test: Sums(
            "SELECT id AS place, refunded AS kept, 0 AS computed FROM transactions
             UNION ALL SELECT \"transaction\", slices.amount, 0
             FROM slices JOIN disputes ON disputes.id = dispute
             WHERE NOT again AND decision IS DISTINCT FROM 'won'
             UNION ALL SELECT \"transaction\", 0, amount_returned FROM captures",
        ),
    },
    Rule {
        name: "the returned gross of captures is the gross of refunds and disputes",
        test: Sums(
            "SELECT \"transaction\" AS place, -(balance + fee_rate) AS kept, 0 AS computed
             FROM trail WHERE movement = 'refund'
             UNION ALL SELECT \"transaction\", slices.gross, 0
             FROM slices JOIN disputes ON disputes.id = dispute
             WHERE NOT again AND decision IS DISTINCT FROM 'won'
             UNION ALL SELECT \"transaction\", 0, gross_returned FROM captures",
        ),
    },
    Rule {
        name: "the returned fees of captures are the fees of refunds and disputes",
        test: Sums(
            "SELECT \"transaction\" AS place, -fee_rate AS kept, 0 AS computed
             FROM trail WHERE movement = 'refund'
             UNION ALL SELECT \"transaction\", slices.fee, 0
             FROM slices JOIN disputes ON disputes.id = dispute
             WHERE NOT again AND decision IS DISTINCT FROM 'won'
             UNION ALL SELECT \"transaction\", 0, fee_returned FROM captures",
        ),
    },
    Rule {
        name: "a fully returned capture has returned its whole gross and fee",
        test: Rows(
            "SELECT \"transaction\" AS place, gross_returned || ' less ' || fee_returned AS kept,
                 gross || ' less ' || fee AS computed
             FROM captures WHERE amount_returned = amount",
        ),
    },
    Rule {
        name: "the lines of a transaction are its captures less refunds, disputes and fees",
        test: Sums(
            "SELECT \"transaction\" AS place, balance AS kept, 0 AS computed
             FROM lines WHERE \"transaction\" IS NOT NULL
             UNION ALL SELECT \"transaction\", 0, 
                 CASE WHEN refused THEN 0 ELSE gross - fee END - gross_returned + fee_returned
             FROM captures
             UNION ALL SELECT \"transaction\", 0, -fee_flat FROM trail
             UNION ALL SELECT disputes.\"transaction\", 0, -lines.fee
             FROM disputes JOIN lines ON lines.id = line
             UNION ALL SELECT \"transaction\", 0,
                 -slices.fee - CASE WHEN again AND decision IS DISTINCT FROM 'won'
                     THEN slices.gross - slices.fee ELSE 0 END
             FROM slices JOIN disputes ON disputes.id = dispute",
        ),
    },
    Rule {
        name: "the state of a transaction follows from its amounts",
        test: Rows(concat!(
            "SELECT id AS place, ", state!(), " AS computed,
                 (SELECT state FROM transaction_states AS states
                 WHERE states.merchant = transactions.merchant AND state = ", state!(), "
                     AND \"transaction\" = id) AS kept
             FROM transactions"
        )),
    },
];

/// The table of [`STATE`].
pub(super) const STATES: &str = "transaction_states";

/// A rule for a page of this table: a check with `--since` leaves it out, because no index finds all
/// states of a transaction.
pub(super) const STATE: Rule = Rule {
    name: "a transaction has no other state",
    test: Rows(concat!(
        "SELECT \"transaction\" AS place, state AS kept,
             (SELECT ",
        state!(),
        " FROM transactions
             WHERE id = \"transaction\" AND transactions.merchant = page.merchant) AS computed
         FROM (SELECT * FROM transaction_states {page}) AS page"
    )),
};
