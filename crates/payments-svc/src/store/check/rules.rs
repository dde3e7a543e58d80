//! What has to be so in the books.

/// Rules, and the statements that select what they compare: a place, what is kept, what it should
/// be. They are written so that each engine understands them.
pub(super) const RULES: [(&str, &str); 29] = [
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
        "what moved is what its postings take from the acquirer",
        "SELECT id AS place, -lines.amount AS kept, coalesce(sum(postings.amount), 0) AS computed
         FROM lines LEFT JOIN postings ON line = id AND account = 'acquirer'
         WHERE kind IN ('capture', 'refund') GROUP BY id",
    ),
    (
        "a merchant's balance is the sum of its lines",
        "SELECT id AS place,
             coalesce((SELECT sum(balance) FROM balances WHERE merchant = merchants.id), 0) AS kept,
             coalesce((SELECT sum(balance) FROM lines WHERE merchant = merchants.id), 0) AS computed
         FROM merchants",
    ),
    (
        "every merchant has a balance",
        "SELECT id AS place, 1 AS kept, 0 AS computed
         FROM merchants WHERE NOT EXISTS (SELECT 1 FROM balances WHERE merchant = merchants.id)",
    ),
    (
        "a line is its transaction's merchant's",
        "SELECT lines.id AS place, 1 AS kept, 0 AS computed
         FROM lines LEFT JOIN transactions ON transactions.id = \"transaction\"
         WHERE \"transaction\" IS NOT NULL AND lines.merchant IS DISTINCT FROM transactions.merchant",
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
        "what is disputed is what its disputes say, but for those that were won",
        "SELECT transactions.id AS place, disputed AS kept,
             coalesce(sum(disputes.amount), 0) AS computed
         FROM transactions LEFT JOIN disputes
             ON \"transaction\" = transactions.id AND decision IS DISTINCT FROM 'won'
         GROUP BY transactions.id",
    ),
    (
        "the steps of a trail have no gaps",
        "SELECT id AS place, steps AS kept, count(step) AS computed
         FROM transactions LEFT JOIN trail ON \"transaction\" = id GROUP BY id",
    ),
    (
        "the last step of a trail is as many as there are",
        "SELECT id AS place, steps AS kept, coalesce(max(step) + 1, 0) AS computed
         FROM transactions LEFT JOIN trail ON \"transaction\" = id GROUP BY id",
    ),
    (
        "nothing becomes of a transaction that failed",
        "SELECT id AS place, 0 AS kept, captured + voided AS computed
         FROM transactions WHERE error IS NOT NULL",
    ),
    (
        "a step has a line, unless it gave money up",
        "SELECT \"transaction\" AS place, step AS kept, -1 AS computed
         FROM trail WHERE (line IS NULL) <> (movement = 'void')",
    ),
    (
        "a line of a transaction is that of one step, or of a dispute that was opened",
        "SELECT lines.id AS place, 1 AS kept,
             (SELECT count(*) FROM trail
              WHERE trail.\"transaction\" = lines.\"transaction\" AND trail.line = lines.id
                  AND trail.movement = lines.kind)
             + (SELECT count(*) FROM disputes
                WHERE disputes.\"transaction\" = lines.\"transaction\" AND disputes.line = lines.id
                    AND lines.kind = 'dispute') AS computed
         FROM lines WHERE \"transaction\" IS NOT NULL",
    ),
    (
        "a step's balance is its line's",
        "SELECT trail.line AS place, trail.balance AS kept, lines.balance AS computed
         FROM trail LEFT JOIN lines ON lines.id = trail.line WHERE trail.line IS NOT NULL",
    ),
    (
        "a step's fees are its line's",
        "SELECT trail.line AS place, fee_flat + fee_rate AS kept, lines.fee AS computed
         FROM trail LEFT JOIN lines ON lines.id = trail.line WHERE trail.line IS NOT NULL",
    ),
    (
        "a capture or refund is what its line says has moved",
        "SELECT trail.line AS place, trail.amount AS kept, abs(lines.amount) AS computed
         FROM trail LEFT JOIN lines ON lines.id = trail.line
         WHERE movement IN ('capture', 'refund')",
    ),
    (
        "a step that captures is what its capture keeps",
        "SELECT trail.\"transaction\" AS place, trail.amount AS kept, captures.amount AS computed
         FROM trail LEFT JOIN captures
             ON captures.\"transaction\" = trail.\"transaction\" AND captures.step = trail.step
         WHERE movement = 'capture'",
    ),
    (
        "what was captured is what its captures are",
        "SELECT id AS place, captured AS kept, coalesce(sum(captures.amount), 0) AS computed
         FROM transactions LEFT JOIN captures ON \"transaction\" = id GROUP BY id",
    ),
    (
        "what was refunded or is held by disputes is what was taken out of its captures",
        "SELECT id AS place,
             refunded + coalesce(
                 (SELECT sum(slices.amount) FROM slices JOIN disputes ON disputes.id = dispute
                  WHERE disputes.\"transaction\" = transactions.id AND NOT again
                      AND decision IS DISTINCT FROM 'won'), 0
             ) AS kept,
             coalesce(
                 (SELECT sum(amount_out) FROM captures WHERE \"transaction\" = transactions.id), 0
             ) AS computed
         FROM transactions",
    ),
    (
        "a dispute is what its slices are",
        "SELECT id AS place, disputes.amount AS kept, coalesce(sum(slices.amount), 0) AS computed
         FROM disputes LEFT JOIN slices ON dispute = id GROUP BY id",
    ),
    (
        "the lines of a transaction are what its captures are worth, less fees and what went twice",
        "SELECT id AS place,
             coalesce(
                 (SELECT sum(balance) FROM lines WHERE \"transaction\" = transactions.id), 0
             ) AS kept,
             coalesce(
                 (SELECT sum(gross - gross_out - fee + fee_out) FROM captures
                  WHERE \"transaction\" = transactions.id), 0
             ) - coalesce(
                 (SELECT sum(fee_flat) FROM trail WHERE \"transaction\" = transactions.id), 0
             ) - coalesce(
                 (SELECT sum(lines.fee) FROM disputes JOIN lines ON lines.id = line
                  WHERE disputes.\"transaction\" = transactions.id), 0
             ) - coalesce(
                 (SELECT sum(slices.fee) FROM slices JOIN disputes ON disputes.id = dispute
                  WHERE disputes.\"transaction\" = transactions.id), 0
             ) - coalesce(
                 (SELECT sum(slices.gross - slices.fee) FROM slices
                  JOIN disputes ON disputes.id = dispute
                  WHERE disputes.\"transaction\" = transactions.id AND again
                      AND decision IS DISTINCT FROM 'won'), 0
             ) AS computed
         FROM transactions",
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
