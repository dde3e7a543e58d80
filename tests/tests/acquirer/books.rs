//! The book after random requests from many clients, with faults.

use std::collections::HashMap;

use blackbox::acquirer::{Acquirer, Call, authorization, card, key};
use futures_util::future::join_all;
use rand::{RngExt as _, SeedableRng as _, rngs::StdRng};
use serde_json::{Value, json};

use crate::{part, reversal};

const CLIENTS: usize = 8;
const REQUESTS: usize = 60;

/// Sends random requests for a few payments, and repeats each until it is answered.
async fn client(acquirer: &Acquirer, payments: &[String], seed: u64) {
    let mut random = StdRng::seed_from_u64(seed);
    for _ in 0..REQUESTS {
        let payment = &payments[random.random_range(0..payments.len())];
        let amount = random.random_range(1..400);
        let (path, body) = match random.random_range(0..20) {
            0 => ("/reversals", reversal(payment)),
            1..=9 => ("/captures", part(payment, amount)),
            10..=14 => ("/refunds", part(payment, amount)),
            _ => ("/voids", part(payment, amount)),
        };
        let call = Call::post(path, &key(), &body);
        while acquirer.attempt(&call).await.is_none_or(|answer| answer.status != 200) {}
    }
}

#[tokio::test]
async fn the_book_adds_up_after_faults_and_repeats() {
    let acquirer = Acquirer::start().await;
    let mut payments = Vec::new();
    for _ in 0..5 {
        let key = key();
        let mut body = authorization(card::VISA);
        body["amount"] = json!(5000);
        let _ = acquirer.outcome("/authorizations", &key, &body).await;
        payments.push(key);
    }
    acquirer
        .rules(json!([
            { "probability": 0.1, "fault": "drop" },
            { "probability": 0.1, "fault": "close" },
            { "probability": 0.1, "fault": "500" },
            { "probability": 0.05, "fault": "refuse" },
        ]))
        .await;
    join_all((0..).take(CLIENTS).map(|seed| client(&acquirer, &payments, seed))).await;

    let operations = acquirer.operations().await;
    assert_eq!(operations.len(), payments.len() + CLIENTS * REQUESTS);
    let mut sums = HashMap::<&str, HashMap<&str, u64>>::new();
    let mut outcomes = HashMap::<&str, usize>::new();
    for operation in &operations {
        assert_eq!(operation["executed"], 1, "{operation}");
        assert!(operation["received"].as_u64().unwrap() >= 1, "{operation}");
        let status = operation["outcome"]["status"].as_str().unwrap();
        *outcomes.entry(status).or_default() += 1;
        if let (Some(payment), "done", Some(amount)) =
            (operation["authorization"].as_str(), status, operation["amount"].as_u64())
        {
            let sums = sums.entry(payment).or_default();
            *sums.entry(operation["kind"].as_str().unwrap()).or_default() += amount;
        }
    }
    assert!(outcomes["done"] > 50 && outcomes["refused"] > 10, "{outcomes:?}");
    let repeated = operations.iter().filter(|operation| operation["received"] != 1).count();
    assert!(repeated > 20, "only {repeated} operations were repeated");
    for payment in &payments {
        let operation = operations.iter().find(|operation| operation["key"] == *payment).unwrap();
        let sum = |kind| sums.get(payment.as_str()).and_then(|sums| sums.get(kind)).copied();
        let total = |name: &str| operation["sums"][name].as_u64().unwrap();
        assert_eq!(total("captured"), sum("capture").unwrap_or(0));
        assert_eq!(total("refunded"), sum("refund").unwrap_or(0));
        assert_eq!(total("voided"), sum("void").unwrap_or(0));
        assert!(total("refunded") <= total("captured"));
        let is_reversed = operations.iter().any(|operation| is_reversal_of(operation, payment));
        let rest = 5000 - total("captured") - total("voided");
        assert_eq!(total("held"), if is_reversed { 0 } else { rest });
    }
}

fn is_reversal_of(operation: &Value, payment: &str) -> bool {
    operation["kind"] == "reversal"
        && operation["authorization"] == payment
        && operation["outcome"]["status"] == "done"
}
