//! The settlement file.

use blackbox::acquirer::{Acquirer, authorization, card, key};
use reqwest::Method;
use serde_json::{Value, json};

use crate::{done, part};

#[tokio::test]
async fn the_file_has_a_row_for_each_capture_and_refund() {
    let acquirer = Acquirer::start().await;
    let mut expected = Vec::new();
    for (currency, minor, amount, fee, no_fee) in [
        ("EUR", 995, "9.95", "0.10", "0.00"),
        ("EUR", 5, "0.05", "0.00", "0.00"),
        ("JPY", 1000, "1000", "10", "0"),
        ("KWD", 1_234_567, "1234.567", "12.346", "0.000"),
    ] {
        let payment = key();
        let mut body = authorization(card::VISA);
        body["currency"] = json!(currency);
        body["amount"] = json!(minor + 1);
        let _ = acquirer.outcome("/authorizations", &payment, &body).await;
        for (path, kind, fee) in [("/captures", "capture", fee), ("/refunds", "refund", no_fee)] {
            let key = key();
            let mut body = part(&payment, minor);
            body["currency"] = json!(currency);
            assert_eq!(acquirer.outcome(path, &key, &body).await, done(&key));
            let transaction = body["transactionId"].as_str().unwrap().to_owned();
            let texts = [kind, &transaction, currency, amount, fee].map(str::to_owned);
            expected.push([vec![key], texts.to_vec()].concat());
        }
        let mut body = part(&payment, 1);
        body["currency"] = json!(currency);
        for (path, status) in [("/voids", "done"), ("/captures", "refused")] {
            assert_eq!(acquirer.outcome(path, &key(), &body).await["status"], status);
        }
    }
    let first = acquirer.operation(&expected[0][0]).await;
    let date = first["executedAt"].as_str().unwrap()[..10].to_owned();
    let file = acquirer.settlement(&date).await;
    assert!(file.ends_with("\r\n") && file.lines().count() == expected.len() + 1, "{file}");
    let mut rows = csv::Reader::from_reader(file.as_bytes());
    let header: Vec<_> = rows.headers().unwrap().iter().map(str::to_owned).collect();
    assert_eq!(header.join(","), "operation,type,transactionId,currency,amount,fee,settled");
    for (row, expected) in rows.records().zip(expected) {
        let row = row.unwrap();
        assert_eq!(row.iter().take(6).collect::<Vec<_>>(), expected);
        assert_eq!(&row[6], date);
    }
}

#[tokio::test]
async fn another_date_has_only_the_header() {
    let acquirer = Acquirer::start().await;
    let payment = acquirer.authorize().await;
    let _ = acquirer.outcome("/captures", &key(), &part(&payment, 10)).await;
    let file = acquirer.settlement("2020-01-01").await;
    assert_eq!(file, "operation,type,transactionId,currency,amount,fee,settled\r\n");
    for date in ["", "today", "2026-13-01"] {
        let path = format!("/settlement?date={date}");
        let _ = acquirer.control(Method::GET, &path, &Value::Null, 400).await;
    }
}
