//! The lines of a merchant's balance.

use blackbox::payments::{Move, Service, int};
use serde_json::{Value, json};

#[tokio::test]
async fn a_new_merchant_has_no_lines_and_no_balance() {
    let service = Service::any().await;
    let merchant = service.merchant().await;
    assert!(merchant.list("/lines?limit=10").await.is_empty());
    merchant.pay("EUR", 1000).await.void(1000).await;
    assert!(merchant.list("/lines?limit=10").await.is_empty());
    assert_eq!(merchant.sum_of_lines().await, 0);
}

#[tokio::test]
async fn a_capture_and_a_refund_each_leave_a_line() {
    let service = Service::any().await;
    let merchant = service.merchant().await;
    let transaction = merchant.pay("EUR", 1000).await;
    transaction.capture(1000).await;
    let transaction = transaction.refund(400).await;
    let (capture, refund) = (&transaction["trail"][0], &transaction["trail"][1]);
    let line = |step: &Value, balance: i64, fee: i64, amount: i64, movement: Move| {
        let mut line = json!({
            "id": step["lineId"],
            "created": step["created"],
            "merchantId": merchant.id,
            "test": true,
            "balance": balance,
            "fee": fee,
            "transactionId": transaction["id"],
            "amount": { "currency": "EUR", "amount": amount },
        });
        line[movement.name()] = true.into();
        line
    };
    let expected =
        [line(refund, -390, -10, -400, Move::Refund), line(capture, 950, 50, 1000, Move::Capture)];
    assert_eq!(merchant.list("/lines?limit=10").await, expected);
    assert_eq!(merchant.sum_of_lines().await, 560);
}

#[tokio::test]
async fn a_fetched_line_equals_the_listed_line() {
    let service = Service::any().await;
    let merchant = service.merchant().await;
    let transaction = merchant.pay("EUR", 1000).await;
    transaction.capture(300).await;
    transaction.capture(700).await;
    for listed in merchant.list("/lines?limit=10").await {
        let path = format!("/lines/{}", listed["id"].as_str().unwrap());
        let answer = merchant.app.get(&path).await.expect(200);
        assert_eq!(answer.json(), listed);
        assert!(!answer.text().contains('\n'));
    }
}

#[tokio::test]
async fn the_balance_is_the_sum_of_the_lines_of_all_transactions() {
    let service = Service::any().await;
    let merchant = service.merchant().await;
    let mut expected = 0;
    for amount in [1, 19, 20, 995, 1_000_000_000_000] {
        let transaction = merchant.pay("EUR", amount).await;
        let captured = transaction.capture(amount).await;
        expected += int(&captured["trail"][0]["balance"]);
        let refunded = transaction.refund(amount).await;
        expected += int(&refunded["trail"][1]["balance"]);
    }
    assert_eq!(merchant.sum_of_lines().await, expected);
    // The rest is the flat fee of five captures.
    assert_eq!(expected, -5 * 25);
}

#[tokio::test]
async fn a_balance_may_be_negative() {
    let service = Service::any().await;
    let merchant = service.merchant().await;
    let transaction = merchant.pay("EUR", 10).await;
    assert_eq!(int(&transaction.capture(10).await["trail"][0]["balance"]), 10 - 25);
    assert_eq!(merchant.sum_of_lines().await, -15);
    transaction.refund(10).await;
    assert_eq!(merchant.sum_of_lines().await, -25);
}

#[tokio::test]
async fn merchants_share_no_balance() {
    let service = Service::any().await;
    let app = service.app().await;
    let (first, second) = (app.merchant("EUR").await, app.merchant("EUR").await);
    first.pay("EUR", 1000).await.capture(1000).await;
    assert_eq!((first.balance().await, second.balance().await), (950, 0));
    assert!(second.list("/lines?limit=10").await.is_empty());
}
