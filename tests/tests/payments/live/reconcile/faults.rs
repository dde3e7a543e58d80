//! Faults in settlement files. Each has its own name, and nothing else is reported.

use std::mem;

use super::{
    AMOUNT, CAPTURE, CURRENCY, FEE, OPERATION, OTHER, REFUND, Row, SETTLED, Settled, TRANSACTION,
    TYPE, YEN, csv, described, difference, with,
};

/// The rules of malformed values.
const EUROS: &str = "must be a decimal number with 2 places and at most 18 digits, not negative";
const YENS: &str = "must be a decimal number with 0 places and at most 18 digits, not negative";
const KEYS: &str = "must be the key of an operation: 24 or 64 lower-case hexadecimal digits";
const TYPES: &str = "must be capture or refund";
const IDS: &str = "must be 24 hexadecimal digits";
const CURRENCIES: &str = "must be the code of an ISO 4217 currency";
const DATES: &str = "must be a date such as 2026-11-22";

/// The difference of an operation that is not in the file.
fn missing_there(row: &Row) -> Vec<String> {
    let here = described(row);
    ["missing-there", "", &row[OPERATION], &row[TRANSACTION], &here, ""].map(str::to_owned).to_vec()
}

/// The difference of a row that cannot be read.
fn malformed(kind: &str, index: usize, row: &Row, values: [&str; 2]) -> Vec<String> {
    let mut expected = difference(&format!("malformed-{kind}"), index, row, values);
    expected[3].clear();
    expected
}

#[tokio::test]
async fn missing_and_surplus_rows_are_named() {
    let settled = Settled::new().await;
    let (rows, other) = (&settled.rows, &settled.rows[OTHER]);
    let without = [&rows[..OTHER], &rows[OTHER + 1..]].concat();
    settled.finds("a missing row", csv(&without), &[missing_there(other)]).await;
    let mut all: Vec<_> = rows.iter().map(missing_there).collect();
    all.sort_by(|one, another| one[2].cmp(&another[2]));
    settled.finds("only the header", csv(&[]), &all).await;

    let unknown = with(other, OPERATION, &"a".repeat(64));
    let again = with(other, AMOUNT, "19.99");
    for (name, row, kind, here) in [
        ("an unknown operation", &unknown, "missing-here", ""),
        ("a row twice", other, "twice", "once"),
        ("an operation twice, with another amount", &again, "twice", "once"),
        ("a refused operation", &settled.refused, "refused-here", "refused"),
        ("an unconfirmed operation", &settled.unconfirmed, "unconfirmed-here", "unconfirmed"),
        ("an operation of the sandbox", &settled.sandbox, "acquirer", "sandbox"),
    ] {
        let expected = difference(kind, rows.len(), row, [here, &described(row)]);
        settled.finds(name, csv(&settled.and(row)), &[expected]).await;
    }
    let expected = difference("type", rows.len(), &settled.void, ["void", "capture"]);
    settled.finds("a void as a capture", csv(&settled.and(&settled.void)), &[expected]).await;
    settled.live.service.data().passes_check().await;
}

#[tokio::test]
async fn each_wrong_value_is_named() {
    let settled = Settled::new().await;
    let rows = &settled.rows;
    let [capture, other] = [CAPTURE, OTHER].map(|row| &rows[row]);
    let path = format!("/transactions/{}", other[TRANSACTION]);
    let made = settled.live.merchant.app.get(&path).await.expect(200).json();
    let booked = &made["transaction"]["trail"][0]["created"].as_str().unwrap()[..10];
    let [own, foreign] = [capture, other].map(|row| &*row[TRANSACTION]);
    for (name, index, column, kind, [here, there], value) in [
        ("a cent more", CAPTURE, AMOUNT, "amount", ["EUR 6.00", "EUR 6.01"], "6.01"),
        ("minor units", CAPTURE, AMOUNT, "amount", ["EUR 6.00", "EUR 600.00"], "600.00"),
        ("a smaller refund", REFUND, AMOUNT, "amount", ["EUR 2.50", "EUR 0.25"], "0.25"),
        ("another currency", CAPTURE, CURRENCY, "currency", ["EUR 6.00", "USD 6.00"], "USD"),
        ("a higher fee", CAPTURE, FEE, "fee", ["EUR 0.06", "EUR 0.07"], "0.07"),
        ("no fee", YEN, FEE, "fee", ["JPY 10", "JPY 0"], "0"),
        ("a fee of a refund", REFUND, FEE, "fee", ["EUR 0.00", "EUR 0.03"], "0.03"),
        ("a capture as a refund", CAPTURE, TYPE, "type", ["capture", "refund"], "refund"),
        ("a refund as a capture", REFUND, TYPE, "type", ["refund", "capture"], "capture"),
        ("another transaction", CAPTURE, TRANSACTION, "transaction", [own, foreign], foreign),
        ("an early date", OTHER, SETTLED, "date", [booked, "2020-02-29"], "2020-02-29"),
    ] {
        let expected = difference(kind, index, &rows[index], [here, there]);
        settled.finds(name, csv(&settled.changed(index, column, value)), &[expected]).await;
    }
    let mut exchanged = rows.clone();
    let amount = exchanged[CAPTURE][AMOUNT].clone();
    exchanged[CAPTURE][AMOUNT] = mem::replace(&mut exchanged[OTHER][AMOUNT], amount);
    let expected = [
        difference("amount", CAPTURE, capture, ["EUR 6.00", "EUR 20.00"]),
        difference("amount", OTHER, other, ["EUR 20.00", "EUR 6.00"]),
    ];
    settled.finds("two amounts exchanged", csv(&exchanged), &expected).await;
    settled.live.service.data().passes_check().await;
}

#[tokio::test]
async fn each_malformed_value_is_named() {
    let settled = Settled::new().await;
    for (name, index, column, value, kind, rule) in [
        ("an unknown type", CAPTURE, TYPE, "chargeback", "type", TYPES),
        ("a type that is never settled", CAPTURE, TYPE, "void", "type", TYPES),
        ("a short transaction", CAPTURE, TRANSACTION, "6b01", "transaction", IDS),
        ("a currency in lower case", CAPTURE, CURRENCY, "eur", "currency", CURRENCIES),
        ("an unknown currency", CAPTURE, CURRENCY, "XXX", "currency", CURRENCIES),
        ("too many places", CAPTURE, AMOUNT, "6.000", "amount", EUROS),
        ("too few places", CAPTURE, AMOUNT, "6", "amount", EUROS),
        ("a negative refund", REFUND, AMOUNT, "-2.50", "amount", EUROS),
        ("no amount", CAPTURE, AMOUNT, "", "amount", EUROS),
        ("an amount of zero", CAPTURE, AMOUNT, "0.00", "amount", "must be more than 0"),
        ("an amount above the limit", CAPTURE, AMOUNT, "99999999999999999999.00", "amount", EUROS),
        ("a formula", CAPTURE, AMOUNT, "=1+5", "amount", EUROS),
        ("places in yen", YEN, AMOUNT, "1000.00", "amount", YENS),
        ("a negative fee", CAPTURE, FEE, "-0.06", "fee", EUROS),
        ("no number as fee", CAPTURE, FEE, "free", "fee", EUROS),
        ("a date of another order", CAPTURE, SETTLED, "22.11.2026", "date", DATES),
        ("a date that does not exist", CAPTURE, SETTLED, "2026-02-30", "date", DATES),
        ("a time instead of a date", CAPTURE, SETTLED, "2026-11-22T09:00:00", "date", DATES),
    ] {
        let values = [rule, &format!("{value:?}")];
        let expected = malformed(kind, index, &settled.rows[index], values);
        settled.finds(name, csv(&settled.changed(index, column, value)), &[expected]).await;
    }
    let capture = &settled.rows[CAPTURE];
    let mut expected = malformed("operation", CAPTURE, capture, [KEYS, "\"x\""]);
    expected[2].clear();
    let expected = [expected, missing_there(capture)];
    let file = csv(&settled.changed(CAPTURE, OPERATION, "x"));
    settled.finds("an operation that is no key", file, &expected).await;
    let expected = malformed("amount", REFUND, &settled.rows[REFUND], [EUROS, "\"2,50\""]);
    let file = csv(&settled.changed(REFUND, AMOUNT, "\"2,50\""));
    settled.finds("a decimal comma", file, &[expected]).await;
}

#[tokio::test]
async fn each_malformed_row_is_named() {
    let settled = Settled::new().await;
    let yen = &settled.rows[YEN];
    let row = |here, there| [malformed("row", YEN, yen, [here, there])];
    let file = csv(&settled.rows);
    let end = file.trim_end();
    let cut = &end[..end.len() - "0,2026-11-22".len()];
    settled.finds("a file cut off", cut, &row("must have 7 columns", "\"6 columns\"")).await;
    let surplus = format!("{end},\r\n");
    settled.finds("a surplus column", surplus, &row("must have 7 columns", "\"8 columns\"")).await;
    let mut latin = csv(&settled.changed(YEN, TYPE, "?")).into_bytes();
    let at = latin.iter().position(|byte| *byte == b'?').unwrap();
    latin[at] = 0xe9;
    settled.finds("a byte of Latin-1", latin, &row("type must be UTF-8", "\"\"")).await;
}
