//! `check`: the program adds the books up again, and finds what is wrong with them.

use blackbox::payments::{Idle, Move, Service};
use futures_util::future::join_all;
use serde_json::json;

/// A service that rests, and has booked some of everything.
async fn booked() -> Idle {
    let service = Service::with(&[]).await;
    let merchant = service.app().await.merchant("DKK").await;
    for currency in ["EUR", "DKK"] {
        let transaction = merchant.pay(currency, 1000).await;
        let captures = (0..20).map(async |_| transaction.capture(40).await);
        join_all(captures).await;
        transaction.refund(333).await;
        transaction.void(100).await;
        let too_much = transaction.ask(Move::Capture, &json!({ "amount": 500 })).await;
        let _ = too_much.expect(400);
    }
    service.place().agrees().await;
    service.stop().await
}

#[tokio::test]
async fn books_that_were_kept_well_agree() {
    booked().await.agrees().await;
}

#[tokio::test]
async fn a_number_that_was_changed_is_found_wherever_it_stands() {
    let place = booked().await;
    for (label, change, back) in [
        ("a balance", "UPDATE balances SET balance = balance + 1", "balance = balance - 1"),
        ("a counter", "UPDATE transactions SET captured = captured + 1", "captured = captured - 1"),
        ("another", "UPDATE transactions SET refunded = refunded - 1", "refunded = refunded + 1"),
        ("a third", "UPDATE transactions SET voided = voided - 1", "voided = voided + 1"),
        ("a line", "UPDATE lines SET balance = balance + 1", "balance = balance - 1"),
        ("a fee", "UPDATE lines SET fee = fee - 1", "fee = fee + 1"),
        ("a step", "UPDATE trail SET amount = amount + 1", "amount = amount - 1"),
        ("a posting", "UPDATE postings SET amount = amount + 1", "amount = amount - 1"),
        ("what is left", "UPDATE captures SET amount_out = 0", ""),
    ] {
        place.change(change);
        let (agrees, said) = place.check().await;
        assert!(!agrees, "{label} was changed, and nothing found: {said}");
        assert!(!said.trim().is_empty(), "{label}");
        if !back.is_empty() {
            let table = change.split(' ').nth(1).unwrap();
            place.change(&format!("UPDATE {table} SET {back}"));
            place.agrees().await;
        }
    }
}

#[tokio::test]
async fn what_is_missing_is_found() {
    for missing in [
        "lines WHERE id = (SELECT id FROM lines ORDER BY id DESC LIMIT 1)",
        "postings WHERE line = (SELECT id FROM lines ORDER BY id DESC LIMIT 1) AND number = 0",
        "trail WHERE step = 3",
        "captures WHERE amount_out > 0",
        "captures WHERE amount_out = 0",
    ] {
        let place = booked().await;
        assert!(place.change(&format!("DELETE FROM {missing}")) > 0);
        let (agrees, said) = place.check().await;
        assert!(!agrees, "{missing} is gone, and nothing found: {said}");
    }
}
