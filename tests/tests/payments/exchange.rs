//! Captures and refunds in a currency that differs from the merchant's.

use blackbox::payments::{Service, int};
use serde_json::{Value, json};

/// `whole * part / of`, rounded half away from zero.
fn share(whole: i64, part: i64, of: i64) -> i64 {
    let (product, of) = (i128::from(whole) * i128::from(part), i128::from(of));
    i64::try_from((2 * product + of).div_euclid(2 * of)).unwrap()
}

/// Returns gross, flat fee and rate fee of a step.
fn parts(step: &Value) -> (i64, i64, i64) {
    let (flat, rate) = (int(&step["fee"]["flat"]), int(&step["fee"]["rate"]));
    (int(&step["balance"]) + flat + rate, flat, rate)
}

#[tokio::test]
async fn refunds_reverse_exchanged_captures_proportionally() {
    let service = Service::any().await;
    let merchant = service.app().await.merchant("DKK").await;
    let transaction = merchant.pay("EUR", 500).await;
    let captured = transaction.capture(500).await;
    let (gross, flat, rate) = parts(&captured["trail"][0]);
    // A euro has been between 7.43 and 7.48 kroner for decades. The spread is 2 %.
    assert!((3640..=3666).contains(&gross), "{captured}");
    assert!((189..=191).contains(&flat), "{captured}");
    assert_eq!(rate, share(gross, 25, 1000));

    let refunded = transaction.refund(333).await;
    let expected = (-share(gross, 333, 500), 0, -share(rate, 333, 500));
    assert_eq!(parts(&refunded["trail"][1]), expected);
    let rest = transaction.refund(167).await;
    let (returned, _, shared) = parts(&rest["trail"][2]);
    assert_eq!((returned + expected.0, shared + expected.2), (-gross, -rate));
    assert_eq!(merchant.sum_of_lines().await, -flat);
}

#[tokio::test]
async fn a_line_shows_the_amount_in_the_transaction_currency() {
    let service = Service::any().await;
    let merchant = service.app().await.merchant("DKK").await;
    let transaction = merchant.pay("EUR", 500).await;
    let captured = transaction.capture(500).await;
    let line = merchant.list("/lines?limit=1").await.remove(0);
    let (gross, flat, rate) = parts(&captured["trail"][0]);
    assert_eq!(line["amount"], json!({ "currency": "EUR", "amount": 500 }));
    assert_eq!((int(&line["balance"]), int(&line["fee"])), (gross - flat - rate, flat + rate));
}

#[tokio::test]
async fn minor_units_differ_by_currency() {
    let service = Service::any().await;
    let merchant = service.merchant().await;
    // Yen have no minor units: 10,000 yen are about 60 euros, which are thousands of cents.
    let yen = merchant.pay("JPY", 10_000).await.capture(10_000).await;
    let (gross, flat, rate) = parts(&yen["trail"][0]);
    assert!((3_000..=12_000).contains(&gross), "{yen}");
    assert_eq!((flat, rate), (25, share(gross, 25, 1000)), "the flat fee is already in euros");
}

#[tokio::test]
async fn only_amounts_in_another_currency_are_exchanged() {
    let service = Service::any().await;
    let merchant = service.app().await.merchant("DKK").await;
    let captured = merchant.pay("DKK", 10_000).await.capture(10_000).await;
    let (gross, flat, rate) = parts(&captured["trail"][0]);
    assert_eq!((gross, rate), (10_000, 250));
    assert!((189..=191).contains(&flat), "{captured}");
}

#[tokio::test]
async fn a_full_refund_leaves_only_the_flat_fees() {
    let service = Service::any().await;
    let merchant = service.merchant().await;
    let transaction = merchant.pay("JPY", 100).await;
    let mut sum = 0;
    for _ in 0..10 {
        let captured = transaction.capture(10).await;
        sum += int(&captured["trail"].as_array().unwrap().last().unwrap()["balance"]);
    }
    assert_eq!(merchant.sum_of_lines().await, sum);
    let refunded = transaction.refund(100).await;
    let step = refunded["trail"].as_array().unwrap().last().unwrap();
    sum += int(&step["balance"]);
    assert_eq!((merchant.sum_of_lines().await, sum), (sum, -250));
}
