//! Disputes and their slices.

use super::rule::{
    Rule,
    Test::{Rows, Sums},
};

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "a dispute has the merchant of its transaction",
        test: Rows(
            "SELECT disputes.id AS place, 'another merchant' AS kept,
                 'the same merchant' AS computed
             FROM disputes LEFT JOIN transactions ON transactions.id = \"transaction\"
             WHERE disputes.merchant IS DISTINCT FROM transactions.merchant
                 OR disputes.test IS DISTINCT FROM transactions.test",
        ),
    },
    Rule {
        name: "the disputed amount is the sum of the disputes that were not won",
        test: Sums(
            "SELECT id AS place, disputed AS kept, 0 AS computed FROM transactions
             UNION ALL SELECT \"transaction\", 0, amount
             FROM disputes WHERE line IS NOT NULL AND decision IS DISTINCT FROM 'won'",
        ),
    },
    Rule {
        name: "the amount of a dispute is the sum of its slices",
        test: Sums(
            "SELECT id AS place, amount AS kept, 0 AS computed FROM disputes WHERE line IS NOT NULL
             UNION ALL SELECT dispute, 0, amount FROM slices",
        ),
    },
    Rule {
        name: "the line of a dispute has the amount of the dispute",
        test: Rows(
            "SELECT disputes.id AS place, disputes.amount AS kept, -lines.amount AS computed
             FROM disputes LEFT JOIN lines ON lines.id = line WHERE line IS NOT NULL",
        ),
    },
    Rule {
        name: "an inquiry has no decision and no fee",
        test: Rows(
            "SELECT id AS place, coalesce(decision, 'open') || ', fee ' || flat_fee AS kept,
                 'open, fee 0' AS computed
             FROM disputes WHERE line IS NULL",
        ),
    },
    Rule {
        name: "the line of a dispute has its fee, less the fees of its slices",
        test: Sums(
            "SELECT disputes.id AS place, flat_fee AS kept, lines.fee AS computed
             FROM disputes JOIN lines ON lines.id = line
             UNION ALL SELECT dispute, 0, fee FROM slices",
        ),
    },
    Rule {
        name: "the line of a dispute subtracts the gross of its slices, and the fee",
        test: Sums(
            "SELECT disputes.id AS place, -balance - fee AS kept, 0 AS computed
             FROM disputes JOIN lines ON lines.id = line
             UNION ALL SELECT dispute, 0, gross FROM slices",
        ),
    },
    Rule {
        name: "the reserve is the gross of the slices of open disputes",
        test: Sums(
            "SELECT \"transaction\" AS place, postings.amount AS kept, 0 AS computed
             FROM postings JOIN lines ON lines.id = line WHERE account = 'reserve'
             UNION ALL SELECT \"transaction\", 0, gross
             FROM slices JOIN disputes ON disputes.id = dispute WHERE decision IS NULL",
        ),
    },
    Rule {
        name: "a dispute has one step for its decision",
        test: Sums(
            "SELECT id AS place, 1 AS kept, 0 AS computed
             FROM disputes WHERE decision IS NOT NULL
             UNION ALL SELECT dispute, 0, 1
             FROM trail LEFT JOIN disputes ON disputes.id = dispute
             WHERE dispute IS NOT NULL AND NOT (movement = 'lost' AND decision = 'won')",
        ),
    },
    Rule {
        name: "a dispute is lost at most once, and not after it was won",
        test: Rows(
            "SELECT trail.dispute AS place, 'step ' || trail.step AS kept, 'no step' AS computed
             FROM trail JOIN trail AS earlier
                 ON earlier.dispute = trail.dispute AND earlier.step < trail.step
             WHERE trail.movement = 'lost'",
        ),
    },
    Rule {
        name: "a step that ends a dispute has the decision of the dispute",
        test: Rows(
            "SELECT trail.dispute AS place, movement AS kept, decision AS computed
             FROM trail LEFT JOIN disputes
                 ON disputes.id = dispute AND disputes.\"transaction\" = trail.\"transaction\"
             WHERE (movement IN ('won', 'lost') OR dispute IS NOT NULL)
                 AND NOT coalesce(movement = 'lost' AND decision = 'won', FALSE)",
        ),
    },
    Rule {
        name: "a step that ends a dispute has the amount of the dispute",
        test: Rows(
            "SELECT disputes.id AS place, trail.amount AS kept, disputes.amount AS computed
             FROM trail JOIN disputes ON disputes.id = dispute",
        ),
    },
    Rule {
        name: "a won dispute returns the gross of its slices, a lost one returns nothing",
        test: Sums(
            "SELECT dispute AS place, balance + fee_rate + fee_flat AS kept, 0 AS computed
             FROM trail WHERE dispute IS NOT NULL
             UNION ALL SELECT dispute, 0, gross
             FROM slices JOIN disputes ON disputes.id = dispute WHERE decision = 'won'",
        ),
    },
    Rule {
        name: "a won dispute charges the fees of its slices again, a lost one charges none",
        test: Sums(
            "SELECT dispute AS place, fee_rate AS kept, 0 AS computed
             FROM trail WHERE dispute IS NOT NULL
             UNION ALL SELECT dispute, 0, fee
             FROM slices JOIN disputes ON disputes.id = dispute WHERE decision = 'won'",
        ),
    },
    Rule {
        name: "a decision returns the whole fee of the dispute or nothing of it",
        test: Rows(
            "SELECT dispute AS place, -fee_flat AS kept, flat_fee AS computed
             FROM trail JOIN disputes ON disputes.id = dispute WHERE fee_flat <> 0",
        ),
    },
    Rule {
        name: "the slices of a capture are at most its returned amount, gross and fee",
        test: Rows(
            "SELECT held.\"transaction\" AS place,
                 held.amount || ', gross ' || held.gross || ', fee ' || held.fee AS kept,
                 'at most ' || amount_returned || ', gross ' || gross_returned
                     || ', fee ' || fee_returned AS computed
             FROM (
                 SELECT \"transaction\", step, sum(slices.amount) AS amount, sum(gross) AS gross,
                     sum(fee) AS fee
                 FROM slices JOIN disputes ON disputes.id = dispute
                 WHERE NOT again AND decision IS DISTINCT FROM 'won' GROUP BY \"transaction\", step
             ) AS held LEFT JOIN captures ON captures.\"transaction\" = held.\"transaction\"
                 AND captures.step = held.step
             WHERE captures.step IS NULL OR held.amount > amount_returned
                 OR held.gross > gross_returned OR held.fee > fee_returned",
        ),
    },
    Rule {
        name: "a slice without a capture has no fee and is marked `again`",
        test: Rows(
            "SELECT dispute AS place,
                 'fee ' || fee || CASE WHEN again THEN ', again' ELSE ', not again' END AS kept,
                 'fee 0, again' AS computed
             FROM slices WHERE step IS NULL",
        ),
    },
    Rule {
        name: "evidence has the size of its files",
        test: Sums(
            "SELECT dispute AS place, size AS kept, 0 AS computed FROM evidence
             UNION ALL SELECT dispute, 0, length(content) FROM evidence_files",
        ),
    },
];
