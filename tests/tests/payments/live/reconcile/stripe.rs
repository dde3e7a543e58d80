//! Stripe's report instead of a settlement file of the acquirer protocol.

use blackbox::{
    payments::{Card, Service, Stripe, live_merchant},
    process::until,
};

use super::{
    CAPTURE, Compared, OPERATION, OTHER, REFUND, Settled, TARIFF, TRANSACTION, YEN, csv, reconcile,
    today,
};

/// The columns of Stripe's report that are used, and one that is not.
const STRIPE_HEADER: &str = "balance_transaction_id,created_utc,reporting_category,gross,currency,\
    fee,customer_facing_amount,customer_facing_currency,payment_intent_id,\
    refund_metadata[operation],source_id,description";

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
        format!("txn_1,{day} 09:00:00,charge,6.00,eur,0.06,6.00,eur,pi_1,,ch_1,\"two\nlines\""),
        format!("txn_2,{day} 09:00:01,refund,-2.5,eur,0.00,-2.50,eur,pi_1,{refund},re_1,"),
        // Paid in another currency than it is settled in.
        format!("txn_3,{day} 09:00:02,charge,22.40,usd,0.90,20.00,eur,pi_2,,ch_2,"),
        format!("txn_4,{day} 09:00:03,charge,1000.00,jpy,10,,,pi_3,,ch_3,"),
        format!("txn_5,{day} 09:00:04,payout,-30.00,eur,0.00,,,,,po_1,"),
        format!("txn_6,{day} 09:00:05,fee,-1.00,eur,0.00,,,,,,"),
    ];
    let file = |rows: &[String]| format!("{STRIPE_HEADER}\n{}\n", rows.join("\n"));
    let options = [&["--format", "stripe"][..], &TARIFF].concat();
    let compared = settled.reconcile(file(&correct), &options).await;
    assert_eq!((compared.code, compared.differences), (Some(0), Vec::new()), "{}", compared.stderr);
    assert_eq!(
        compared.stderr.lines().collect::<Vec<_>>(),
        [
            "reconcile: 0 differences, 6 rows",
            "reconcile: 2 rows of other categories",
            "reconcile: EUR here: captures 26.00, refunds 2.50, disputes 0.00, fees 0.26, net 23.24",
            "reconcile: EUR there: captures 26.00, refunds 2.50, disputes 0.00, fees 0.06, net 23.44",
            "reconcile: JPY here: captures 1000, refunds 0, disputes 0, fees 10, net 990",
            "reconcile: JPY there: captures 1000, refunds 0, disputes 0, fees 10, net 990",
            "reconcile: USD here: captures 0.00, refunds 0.00, disputes 0.00, fees 0.00, net 0.00",
            "reconcile: USD there: captures 0.00, refunds 0.00, disputes 0.00, fees 0.90, net -0.90",
        ]
    );

    // The refund came back, and the books do not know it.
    let failure =
        format!("txn_7,{day} 09:00:06,refund_failure,2.50,eur,0.00,2.50,eur,pi_1,{refund},re_1,");
    let failed = [&correct[..], &[failure]].concat();
    let compared = settled.reconcile(file(&failed), &options).await;
    let paid = &*rows[CAPTURE][TRANSACTION];
    let expected = ["missing-here", "9", refund, paid, "", "refund failure EUR 2.50"];
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
        (0, "charge,6.00", "charge,6.01", ["amount", "2", "pi_1", paid, "EUR 6.00", "EUR 6.01"]),
        (0, "0.06", "0.60", ["fee", "2", "pi_1", paid, "EUR 0.06", "EUR 0.60"]),
        (1, "-2.5,", "-2.4,", ["amount", "4", refund, paid, "EUR 2.50", "EUR 2.40"]),
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
        (2, "charge", "payout", ["missing-there", "", "pi_2", other, "capture EUR 20.00", ""]),
        (
            4,
            "payout",
            "charge",
            [
                "malformed-amount",
                "7",
                "txn_5",
                "",
                "must be a decimal number with 2 places and at most 18 digits, not negative",
                "\"-30.00\"",
            ],
        ),
        (5, "fee,-1.00", "refund,-1.00", ["missing-here", "8", "txn_6", "", "", "refund EUR 1.00"]),
        (
            4,
            "payout,-30.00,eur,0.00,,,,,",
            "charge,1.00,eur,0.00,,,＝1+1,,",
            ["missing-here", "7", "'＝1+1", "", "", "capture EUR 1.00"],
        ),
        (
            1,
            "refund,-2.5,",
            "refund,2.5,",
            ["malformed-amount", "4", refund, "", "must be negative", "\"2.5\""],
        ),
        (
            2,
            "charge,22.40",
            "charge,-22.40",
            [
                "malformed-amount",
                "5",
                "pi_2",
                "",
                "must be a decimal number with 2 places and at most 18 digits, not negative",
                "\"-22.40\"",
            ],
        ),
        (5, "fee,-1.00", ",-1.00", ["malformed-type", "8", "", "", "must not be empty", "\"\""]),
        (
            5,
            ",fee,-1.00,eur,0.00,,,,,,",
            "",
            ["malformed-row", "8", "", "", "must have 12 columns", "\"2 columns\""],
        ),
        (
            5,
            ",eur,0.00,,,,,,",
            "",
            ["malformed-row", "8", "", "", "must have 12 columns", "\"4 columns\""],
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

/// A card that can be captured several times, where Stripe offers that.
const CARD: Card = Card("5555555555554444");

const OPTIONS: [&str; 4] = ["--format", "stripe", "--acquirer-fee-rate", "0.01"];

/// Columns of the report of the stand-in.
const ID: usize = 0;
const CATEGORY: usize = 2;
const SOURCE: usize = 3;
const GROSS: usize = 4;
const FEE: usize = 6;
const INTENT: usize = 9;
const KEY: usize = 10;

/// A payment of 10.00 EUR, and its PaymentIntent.
struct Paid {
    id: String,
    intent: String,
}

/// A shop to whose payments everything has happened that Stripe reports.
struct Shop {
    service: Service,
    header: String,
    rows: Vec<Vec<String>>,
    /// 6.00 EUR were captured.
    partial: Paid,
    /// 3.00 and 2.00 EUR were captured.
    several: Paid,
    /// 7.00 EUR were captured. A refund of 1.00 is paid, one of 2.00 has failed.
    refunded: Paid,
    /// 10.00 EUR were captured each, of which the customer disputes 4.00.
    lost: Paid,
    won: Paid,
    inquired: Paid,
}

impl Shop {
    async fn new() -> Self {
        let stripe = Stripe::start().await;
        let service = stripe.service(&[("PAYMENTS_FACTS_INTERVAL", "1s")]).await;
        let merchant = live_merchant(&service.app().await).await;
        let pay = async |captures: &[i64]| {
            let paid = merchant.pay_with(CARD, "EUR", 1000).await;
            for amount in captures {
                paid.capture(*amount).await;
            }
            let intent = stripe.payment_intents().pop().unwrap();
            (paid.clone(), Paid { id: paid.id, intent: intent["id"].as_str().unwrap().to_owned() })
        };
        let ((_, partial), (paid, refunded)) = (pay(&[600]).await, pay(&[700]).await);
        paid.refund(100).await;
        paid.refund(200).await;
        stripe.offer_multicapture();
        let (_, several) = pay(&[300, 200]).await;
        let mut disputed = Vec::new();
        for _ in 0..6 {
            disputed.push(pay(&[1000]).await.1);
        }
        let disputed = <[Paid; 6]>::try_from(disputed).ok().unwrap();
        let [lost, won, prevented, appealed, escalated, inquired] = disputed;
        let data = service.data();
        until(async || data.number("SELECT count(*) FROM outbox") == 0).await;

        let failed = stripe.all("re").into_iter().find(|refund| refund["amount"] == 200).unwrap();
        stripe.fail_refund(failed["id"].as_str().unwrap());
        for (paid, ends) in [
            (&lost, &["lost"][..]),
            (&won, &["won"]),
            (&prevented, &["prevented"]),
            (&appealed, &["lost", "won"]),
        ] {
            let dispute = stripe.open_dispute(&paid.intent, 400);
            ends.iter().for_each(|end| stripe.close_dispute(&dispute, end));
        }
        stripe.withdraw_funds(&stripe.open_inquiry(&escalated.intent, 400));
        stripe.open_inquiry(&inquired.intent, 400);
        let report = stripe.report();
        until(async || reconcile(data, &report, &OPTIONS).await.code == Some(0)).await;
        let (header, rows) = report.split_once('\n').unwrap();
        let rows = rows.lines().map(|row| row.split(',').map(str::to_owned).collect()).collect();
        let header = header.to_owned();
        Self { service, header, rows, partial, several, refunded, lost, won, inquired }
    }

    async fn reconcile(&self, rows: &[Vec<String>], options: &[&str]) -> Compared {
        let rows: String = rows.iter().map(|row| format!("{}\n", row.join(","))).collect();
        reconcile(self.service.data(), format!("{}\n{rows}", self.header), options).await
    }

    /// The index of the only or first row of this category about a payment.
    fn at(&self, category: &str, paid: &Paid) -> usize {
        let is_meant = |row: &Vec<String>| row[CATEGORY] == category && row[INTENT] == paid.intent;
        self.rows.iter().position(is_meant).unwrap()
    }

    fn without(&self, index: usize) -> Vec<Vec<String>> {
        [&self.rows[..index], &self.rows[index + 1..]].concat()
    }

    fn changed(&self, index: usize, column: usize, value: &str) -> Vec<Vec<String>> {
        let mut rows = self.rows.clone();
        rows[index][column] = value.to_owned();
        rows
    }

    /// The rows, and one of them again with other values.
    fn and(&self, index: usize, values: &[(usize, &str)]) -> Vec<Vec<String>> {
        let mut row = self.rows[index].clone();
        for (column, value) in values {
            row[*column] = (*value).to_owned();
        }
        [&*self.rows, &[row]].concat()
    }
}

#[tokio::test]
async fn the_books_explain_a_whole_report_of_stripe() {
    let shop = Shop::new().await;
    let mut categories: Vec<_> = shop.rows.iter().map(|row| &*row[CATEGORY]).collect();
    categories.sort_unstable();
    categories.dedup();
    let all = "charge dispute dispute_reversal partial_capture_reversal refund refund_failure";
    assert_eq!(categories.join(" "), all);
    let mut reversed = shop.rows.clone();
    reversed.reverse();
    for rows in [&shop.rows, &reversed] {
        let compared = shop.reconcile(rows, &OPTIONS).await;
        assert_eq!((compared.code, &*compared.differences), (Some(0), &[][..]));
        assert_eq!(
            compared.stderr.lines().collect::<Vec<_>>(),
            [
                "reconcile: 0 differences, 23 rows",
                "reconcile: EUR here: captures 78.00, refunds 1.00, disputes 8.00, fees 0.78, \
                 net 68.22",
                "reconcile: EUR there: captures 78.00, refunds 1.00, disputes 8.00, fees 75.78, \
                 net -6.78",
            ]
        );
    }
    // The file of another day has only what came back.
    let is_back =
        |row: &&Vec<String>| ["dispute_reversal", "refund_failure"].contains(&&*row[CATEGORY]);
    let back: Vec<_> = shop.rows.iter().filter(is_back).cloned().collect();
    let options = [&OPTIONS[..], &["--day", "2020-02-29"]].concat();
    let compared = shop.reconcile(&back, &options).await;
    assert_eq!((compared.code, &*compared.differences), (Some(0), &[][..]));
    let here =
        "reconcile: EUR here: captures 0.00, refunds -2.00, disputes -12.00, fees 0.00, net 14.00";
    assert!(compared.stderr.contains(here), "{}", compared.stderr);
}

#[tokio::test]
async fn what_the_books_do_not_explain_is_named() {
    let shop = Shop::new().await;
    let Shop { rows, partial, several, refunded, lost, won, inquired, .. } = &shop;
    let [charge, opened, reopened, back, paid, failed] = [
        shop.at("charge", several),
        shop.at("dispute", lost),
        shop.at("dispute", won),
        shop.at("dispute_reversal", won),
        shop.at("refund", refunded),
        shop.at("refund_failure", refunded),
    ];
    let source = |index: usize| &*rows[index][SOURCE];
    let key = |index: usize| &*rows[index][KEY];
    let dispute = "dispute EUR 4.00";
    let reversal = "dispute reversal EUR 4.00";
    let unknown = ["missing-here", "du_1", "", "", dispute];
    for (name, rows, expected) in [
        (
            "a dispute that is nowhere",
            shop.and(opened, &[(ID, "txn_1"), (SOURCE, "du_1")]),
            &[unknown][..],
        ),
        (
            "another dispute",
            shop.changed(opened, SOURCE, "du_1"),
            &[unknown, ["missing-there", source(opened), &lost.id, dispute, ""]],
        ),
        (
            "an inquiry that has taken money",
            shop.and(opened, &[(ID, "txn_1"), (SOURCE, "du_inquiry"), (INTENT, &inquired.intent)]),
            &[["missing-here", "du_inquiry", "", "", dispute]],
        ),
        (
            "no dispute",
            shop.without(opened),
            &[["missing-there", source(opened), &lost.id, dispute, ""]],
        ),
        (
            "a won dispute that was not taken",
            shop.without(reopened),
            &[["missing-there", source(back), &won.id, dispute, ""]],
        ),
        (
            "a won dispute that was not given back",
            shop.without(back),
            &[["missing-there", source(back), &won.id, reversal, ""]],
        ),
        (
            "a lost dispute that was given back",
            shop.and(back, &[(ID, "txn_1"), (SOURCE, source(opened))]),
            &[["missing-here", source(opened), &lost.id, "", reversal]],
        ),
        (
            "another amount of a dispute",
            shop.changed(opened, GROSS, "-4.01"),
            &[["amount", source(opened), &lost.id, "EUR 4.00", "EUR 4.01"]],
        ),
        (
            "another amount of a reversal",
            shop.changed(back, GROSS, "3.99"),
            &[["amount", source(back), &won.id, "EUR 4.00", "EUR 3.99"]],
        ),
        (
            "a part of a capture that was not taken back",
            shop.without(shop.at("partial_capture_reversal", partial)),
            &[
                ["amount", &partial.intent, &partial.id, "EUR 6.00", "EUR 10.00"],
                ["fee", &partial.intent, &partial.id, "EUR 0.06", "EUR 0.10"],
            ],
        ),
        (
            "one of two captures",
            shop.without(charge),
            &[["missing-there", &several.intent, &several.id, "capture EUR 3.00", ""]],
        ),
        (
            "another amount of one of two captures",
            shop.changed(charge, GROSS, "3.01"),
            &[["amount", &several.intent, &several.id, "EUR 5.00", "EUR 5.01"]],
        ),
        (
            "another fee of one of two captures",
            shop.changed(charge, FEE, "0.04"),
            &[["fee", &several.intent, &several.id, "EUR 0.05", "EUR 0.06"]],
        ),
        (
            "a row twice",
            shop.and(charge, &[]),
            &[["twice", &several.intent, &several.id, "once", "capture EUR 3.00"]],
        ),
        (
            "a third capture",
            shop.and(charge, &[(ID, "txn_1"), (FEE, "0.00")]),
            &[["amount", &several.intent, &several.id, "EUR 5.00", "EUR 8.00"]],
        ),
        (
            "a refund that was paid twice",
            shop.and(paid, &[(ID, "txn_1")]),
            &[["amount", key(paid), &refunded.id, "EUR 1.00", "EUR 2.00"]],
        ),
        (
            "a refund that has not failed",
            shop.without(failed),
            &[["refused-here", key(failed), &refunded.id, "refused", "refund EUR 2.00"]],
        ),
        (
            "a paid refund that has failed",
            shop.and(failed, &[(ID, "txn_1"), (KEY, key(paid)), (GROSS, "1.00")]),
            &[["missing-here", key(paid), &refunded.id, "", "refund failure EUR 1.00"]],
        ),
    ] {
        let compared = shop.reconcile(&rows, &OPTIONS).await;
        let found = compared.differences.iter();
        let found: Vec<_> = found.map(|row| [0, 2, 3, 4, 5].map(|column| &*row[column])).collect();
        assert_eq!((compared.code, &*found), (Some(1), expected), "{name}");
    }
    // Stripe may have converted the amount of a dispute.
    let mut converted = shop.changed(opened, GROSS, "-4.40");
    converted[opened][GROSS + 1] = "usd".to_owned();
    let compared = shop.reconcile(&converted, &OPTIONS).await;
    assert_eq!((compared.code, compared.differences), (Some(0), Vec::new()));
    converted[opened][SOURCE] = "du_1".to_owned();
    let compared = shop.reconcile(&converted, &OPTIONS).await;
    let found: Vec<_> = compared.differences.iter().map(|row| [&*row[0], &*row[5]]).collect();
    assert_eq!(found, [["missing-here", "dispute USD 4.40"], ["missing-there", ""]]);
}
