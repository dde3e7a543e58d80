//! Stripe's report instead of a settlement file of the acquirer protocol.

use super::{CAPTURE, OPERATION, OTHER, REFUND, Settled, TARIFF, TRANSACTION, YEN, csv, today};

/// The columns of Stripe's report that are used, and one that is not.
const STRIPE_HEADER: &str = "balance_transaction_id,created_utc,reporting_category,gross,currency,\
    fee,customer_facing_amount,customer_facing_currency,payment_intent_id,\
    refund_metadata[operation],description";

#[tokio::test]
async fn a_report_of_stripe_is_compared_by_payment_intent_and_refund() {
    let settled = Settled::new().await;
    let (place, rows) = (settled.live.service.data(), &settled.rows);
    let moved = "UPDATE transactions SET acquirer = 'stripe', \"authorization\" = ";
    for (row, intent) in [(CAPTURE, "pi_1"), (OTHER, "pi_2"), (YEN, "pi_3")] {
        let id = place.bytes(&rows[row][TRANSACTION]);
        assert_eq!(place.change(&format!("{moved} '{intent}' WHERE id = {id}")), 1);
    }
    let (day, refund) = (today(), &rows[REFUND][OPERATION]);
    let correct = [
        format!("txn_1,{day} 09:00:00,charge,6.00,eur,0.06,6.00,eur,pi_1,,\"two\nlines\""),
        format!("txn_2,{day} 09:00:01,refund,-2.5,eur,0.00,-2.50,eur,pi_1,{refund},"),
        // Paid in another currency than it is settled in.
        format!("txn_3,{day} 09:00:02,charge,22.40,usd,0.90,20.00,eur,pi_2,,"),
        format!("txn_4,{day} 09:00:03,charge,1000.00,jpy,10,,,pi_3,,"),
        format!("txn_5,{day} 09:00:04,payout,-30.00,eur,0.00,,,,,"),
        format!("txn_6,{day} 09:00:05,dispute,-6.00,eur,15.00,6.00,eur,pi_1,,"),
    ];
    let file = |rows: &[String]| format!("{STRIPE_HEADER}\n{}\n", rows.join("\n"));
    let options = [&["--format", "stripe"][..], &TARIFF].concat();
    let compared = settled.reconcile(file(&correct), &options).await;
    assert_eq!((compared.code, compared.differences), (Some(0), Vec::new()), "{}", compared.stderr);
    assert_eq!(
        compared.stderr.lines().collect::<Vec<_>>(),
        [
            "reconcile: 0 differences, 6 rows",
            "reconcile: 2 rows that are no payment or refund",
            "reconcile: EUR here: captures 26.00, refunds 2.50, fees 0.26, net 23.24",
            "reconcile: EUR there: captures 26.00, refunds 2.50, fees 0.06, net 23.44",
            "reconcile: JPY here: captures 1000, refunds 0, fees 10, net 990",
            "reconcile: JPY there: captures 1000, refunds 0, fees 10, net 990",
            "reconcile: USD here: captures 0.00, refunds 0.00, fees 0.00, net 0.00",
            "reconcile: USD there: captures 0.00, refunds 0.00, fees 0.90, net -0.90",
        ]
    );

    // The refund came back, and the books do not know it.
    let failure =
        format!("txn_7,{day} 09:00:06,refund_failure,2.50,eur,0.00,2.50,eur,pi_1,{refund},");
    let failed = [&correct[..], &[failure]].concat();
    let compared = settled.reconcile(file(&failed), &options).await;
    let paid = &*rows[CAPTURE][TRANSACTION];
    let expected = ["failed-there", "9", refund, paid, "not reversed", "refund EUR 2.50"];
    assert_eq!(
        (compared.code, compared.differences),
        (Some(1), vec![expected.map(str::to_owned).to_vec()])
    );
    assert!(
        compared.stderr.contains("EUR there: captures 26.00, refunds 0.00"),
        "{}",
        compared.stderr
    );

    let [paid, other] = [CAPTURE, OTHER].map(|row| &*rows[row][TRANSACTION]);
    for (index, from, to, expected) in [
        (0, "6.00,eur,pi", "6.01,eur,pi", ["amount", "2", "pi_1", paid, "EUR 6.00", "EUR 6.01"]),
        (0, "0.06", "0.60", ["fee", "2", "pi_1", paid, "EUR 0.06", "EUR 0.60"]),
        (1, "-2.50", "-2.40", ["amount", "4", refund, paid, "EUR 2.50", "EUR 2.40"]),
        (2, "eur,pi", "chf,pi", ["currency", "5", "pi_2", other, "EUR 20.00", "CHF 20.00"]),
        (2, "eur,pi", "hrk,pi", ["currency", "5", "pi_2", other, "EUR 20.00", "HRK 20.00"]),
        (
            2,
            "usd",
            "zzz",
            [
                "malformed-currency",
                "5",
                "pi_2",
                "",
                "must be the code of an ISO 4217 currency",
                "\"zzz\"",
            ],
        ),
        (2, "charge", "dispute", ["missing-there", "", "pi_2", other, "capture EUR 20.00", ""]),
        (
            4,
            "payout",
            "charge",
            [
                "malformed-amount",
                "7",
                "txn_5",
                "",
                "must be a decimal number with 2 places, not negative, and at most 1000000000000 \
             minor units",
                "\"-30.00\"",
            ],
        ),
        (
            5,
            "dispute,-6.00",
            "refund,-6.00",
            ["missing-here", "8", "txn_6", "", "", "refund EUR 6.00"],
        ),
        (
            4,
            "payout,-30.00,eur,0.00,,,,,",
            "charge,1.00,eur,0.00,,,＝1+1,,",
            ["missing-here", "7", "'＝1+1", "", "", "capture EUR 1.00"],
        ),
    ] {
        let mut rows = correct.clone();
        assert!(rows[index].contains(from), "{from}");
        rows[index] = rows[index].replacen(from, to, 1);
        let compared = settled.reconcile(file(&rows), &options).await;
        assert_eq!(compared.code, Some(1), "{compared:?}");
        assert_eq!(compared.differences, [expected], "{from} {to}");
    }
    // The operations of Stripe are in no other file, and the other way round.
    let compared = settled.reconcile(csv(&[]), &[]).await;
    assert_eq!((compared.code, compared.differences), (Some(0), Vec::new()));
    let compared = settled.reconcile(csv(&rows[YEN..]), &[]).await;
    // The books know the capture by its PaymentIntent.
    assert_eq!(compared.differences[0][0], "missing-here");
}
