//! Idempotency keys: repeats, conflicts, questions and concurrency.

use blackbox::acquirer::{Acquirer, Call, authorization, card, key};
use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::{CLOSED, declined, done, part, pending, refused, reversal};

#[tokio::test]
async fn a_repeat_gets_the_same_answer_and_moves_nothing() {
    let acquirer = Acquirer::start().await;
    let payment = acquirer.authorize().await;
    for (path, body) in [
        ("/authorizations", authorization(card::VISA)),
        ("/authorizations", authorization(card::UNKNOWN)),
        ("/captures", part(&payment, 10)),
        ("/captures", part(&payment, 10_000)),
        ("/refunds", part(&payment, 5)),
        ("/voids", part(&payment, 5)),
        ("/reversals", reversal(&payment)),
    ] {
        let key = key();
        let first = acquirer.outcome(path, &key, &body).await;
        for _ in 0..2 {
            assert_eq!(acquirer.outcome(path, &key, &body).await, first, "{path}");
        }
        let operation = acquirer.operation(&key).await;
        assert_eq!((&operation["received"], &operation["executed"]), (&json!(3), &json!(1)));
    }
    let sums = json!({ "captured": 10, "voided": 5, "refunded": 5, "held": 0 });
    assert_eq!(acquirer.operation(&payment).await["sums"], sums);
}

#[tokio::test]
async fn a_key_of_another_request_is_409() {
    let acquirer = Acquirer::start().await;
    let payment = acquirer.authorize().await;
    let capture = key();
    let body = part(&payment, 10);
    let _ = acquirer.outcome("/captures", &capture, &body).await;
    let mut other = body.clone();
    other["amount"] = json!(11);
    for (path, body) in [
        ("/captures", &other),
        ("/refunds", &body),
        ("/reversals", &reversal(&payment)),
        ("/authorizations", &authorization(card::VISA)),
    ] {
        let _ = acquirer.post(path, &capture, body).await.expect(409);
    }
    let complete = format!("/authorizations/{capture}/complete");
    let _ = acquirer.post(&complete, &capture, &json!({})).await.expect(409);
    assert_eq!(acquirer.operation(&capture).await["outcome"], json!({ "status": "done" }));
}

#[tokio::test]
async fn a_key_must_be_hexadecimal_digits() {
    let acquirer = Acquirer::start().await;
    let body = authorization(card::VISA);
    let too_short = &key()[..23];
    let too_long = format!("{0}{0}0", key());
    for key in ["", too_short, &too_long, &key().to_uppercase(), "6b016ea4000000000000000g"] {
        let _ = acquirer.post("/authorizations", key, &body).await.expect(400);
        if !key.is_empty() {
            let _ = acquirer.ask(key).await.expect(400);
        }
    }
    for key in [&key()[..24], &format!("{0}{0}", key())] {
        let _ = acquirer.post("/authorizations", key, &body).await.expect(200);
    }
    let call = Call { key: None, ..Call::post("/captures", &key(), &json!({})) };
    let _ = acquirer.send(&call.signed()).await.expect(400);
}

#[tokio::test]
async fn a_question_closes_the_key() {
    let acquirer = Acquirer::start().await;
    let payment = acquirer.authorize().await;
    for (path, body) in [
        ("/authorizations", authorization(card::VISA)),
        ("/captures", part(&payment, 10)),
        ("/refunds", part(&payment, 5)),
        ("/voids", part(&payment, 5)),
        ("/reversals", reversal(&payment)),
    ] {
        let key = key();
        for _ in 0..2 {
            let _ = acquirer.ask(&key).await.expect(404);
        }
        let expected = match path {
            "/authorizations" => declined(&key, 12),
            _ => refused(&key, CLOSED),
        };
        for _ in 0..2 {
            assert_eq!(acquirer.outcome(path, &key, &body).await, expected, "{path}");
            assert_eq!(acquirer.ask(&key).await.expect(200).json(), expected, "{path}");
        }
        assert_eq!(acquirer.operation(&key).await["executed"], 0);
    }
    let sums = json!({ "captured": 0, "voided": 0, "refunded": 0, "held": 995 });
    assert_eq!(acquirer.operation(&payment).await["sums"], sums);
}

#[tokio::test]
async fn a_hundred_equal_requests_execute_once() {
    let acquirer = Acquirer::start().await;
    let payment = acquirer.authorize().await;
    acquirer.delay(300).await;
    for (path, body) in
        [("/captures", part(&payment, 10)), ("/authorizations", authorization(card::VISA))]
    {
        let key = key();
        let answers = join_all((0..100).map(|_| acquirer.outcome(path, &key, &body))).await;
        let final_ones: Vec<&Value> =
            answers.iter().filter(|answer| **answer != pending(&key)).collect();
        assert!(!final_ones.is_empty());
        assert!(final_ones.iter().all(|answer| *answer == final_ones[0]), "{final_ones:?}");
        let operation = acquirer.operation(&key).await;
        assert_eq!((&operation["received"], &operation["executed"]), (&json!(100), &json!(1)));
    }
    assert_eq!(acquirer.operation(&payment).await["sums"]["captured"], 10);
}

#[tokio::test]
async fn a_repeat_is_pending_while_the_first_is_in_progress() {
    let acquirer = Acquirer::start().await;
    let payment = acquirer.authorize().await;
    acquirer.delay(2000).await;
    let (key, body) = (key(), part(&payment, 10));
    let first = acquirer.outcome("/captures", &key, &body);
    let repeats = async {
        acquirer.until(|book| book["operations"].as_array().unwrap().len() == 2).await;
        assert_eq!(acquirer.outcome("/captures", &key, &body).await, pending(&key));
        acquirer.delay(0).await;
        assert_eq!(acquirer.ask(&key).await.expect(200).json(), pending(&key));
    };
    let (first, ()) = tokio::join!(first, repeats);
    assert_eq!(first, done(&key));
    assert_eq!(acquirer.ask(&key).await.expect(200).json(), first);
}

#[tokio::test]
async fn an_operation_goes_on_when_its_client_disconnects() {
    let acquirer = Acquirer::start().await;
    let payment = acquirer.authorize().await;
    acquirer.delay(500).await;
    let (key, body) = (key(), part(&payment, 10));
    tokio::select! {
        _ = acquirer.outcome("/captures", &key, &body) => panic!("it was answered at once"),
        () = acquirer.until(|book| book["operations"].as_array().unwrap().len() == 2) => {}
    }
    acquirer.until(|book| book["operations"][1]["outcome"]["status"] == "done").await;
    acquirer.delay(0).await;
    assert_eq!(acquirer.outcome("/captures", &key, &body).await, done(&key));
}
