//! Notifications: signed, repeated, in order or not, and what payments-svc does with them.

use blackbox::{
    acquirer::{Acquirer, Call, SECRET, authorization, card, id, key},
    payments::{self, Received, Receiver, Reply, Service, signature},
};
use reqwest::Method;
use serde_json::{Value, json};

use crate::{part, refused};

/// An acquirer that notifies this receiver.
async fn acquirer(receiver: &Receiver) -> Acquirer {
    let url = receiver.url("/acquirer/events");
    let (_, ca_file) = receiver.trust();
    Acquirer::with(&[("DEMO_ACQUIRER_EVENTS_URL", &url), ("DEMO_ACQUIRER_EVENTS_CA_FILE", ca_file)])
        .await
}

fn opened(dispute: &str) -> Value {
    json!({ "type": "dispute.opened", "transactionId": id(), "disputeId": dispute, "amount": 995 })
}

fn disputes(receiver: &Receiver) -> Vec<String> {
    let of = |received: &Received| received.event()["disputeId"].as_str().map(str::to_owned);
    receiver.received().iter().filter_map(of).collect()
}

#[tokio::test]
async fn a_notification_is_signed_and_gets_an_id() {
    let receiver = Receiver::new().await;
    let acquirer = acquirer(&receiver).await;
    acquirer.notify(opened("dp_1")).await;
    let received = receiver.until(|received| !received.is_empty()).await;
    assert_eq!(received[0].path, "/acquirer/events");
    let event = received[0].event();
    assert!(event["id"].as_str().unwrap().starts_with("evt_"), "{event}");
    assert_eq!(event["type"], "dispute.opened");
    let sent = &received[0].headers["acquirer-signature"];
    let seconds: i64 = sent.split(['=', ',']).nth(1).unwrap().parse().unwrap();
    assert!((seconds - payments::seconds()).abs() <= 300);
    assert_eq!(*sent, signature(SECRET.1, seconds, &received[0].body));
}

#[tokio::test]
async fn a_notification_is_repeated_until_it_is_accepted() {
    let receiver = Receiver::new().await;
    let acquirer = acquirer(&receiver).await;
    receiver.reply(Reply::Status(503));
    acquirer.notify(opened("dp_1")).await;
    acquirer.notify(opened("dp_2")).await;
    receiver.until(|received| received.len() >= 2).await;
    receiver.reply(Reply::Close);
    let closed = |received: &[Received]| received.iter().any(|one| one.reply == Reply::Close);
    receiver.until(closed).await;
    receiver.reply(Reply::Status(204));
    acquirer.until(|book| book["notifications"][1]["status"] == 204).await;
    let received = disputes(&receiver);
    let (last, repeated) = received.split_last().unwrap();
    assert_eq!(last, "dp_2");
    assert!(repeated.iter().all(|dispute| dispute == "dp_1"), "{received:?}");
    let ids = receiver.received();
    assert!(ids[..ids.len() - 1].iter().all(|one| one.event()["id"] == ids[0].event()["id"]));
}

#[tokio::test]
async fn a_rejected_notification_is_not_repeated() {
    let receiver = Receiver::new().await;
    let acquirer = acquirer(&receiver).await;
    receiver.reply(Reply::Status(400));
    acquirer.notify(opened("dp_1")).await;
    acquirer.notify(opened("dp_2")).await;
    acquirer.until(|book| book["notifications"][1]["status"] == 400).await;
    assert_eq!(disputes(&receiver), ["dp_1", "dp_2"]);
}

#[tokio::test]
async fn rules_send_notifications_twice_and_out_of_order() {
    let receiver = Receiver::new().await;
    let acquirer = acquirer(&receiver).await;
    acquirer
        .rules(json!([{ "next": 1, "fault": "twice" }, { "next": 1, "fault": "out-of-order" }]))
        .await;
    for dispute in ["dp_1", "dp_2", "dp_3", "dp_4"] {
        acquirer.notify(opened(dispute)).await;
    }
    receiver.until(|received| received.len() == 5).await;
    assert_eq!(disputes(&receiver), ["dp_1", "dp_1", "dp_3", "dp_2", "dp_4"]);
}

#[tokio::test]
async fn payments_svc_accepts_the_notifications() {
    let service = Service::with(&[payments::SECRET]).await;
    let url = format!("{}/acquirer/events", service.url());
    let acquirer = Acquirer::with(&[("DEMO_ACQUIRER_EVENTS_URL", &url)]).await;
    let merchant = service.merchant().await;
    let transaction = merchant.pay("EUR", 995).await;
    transaction.capture(995).await;
    acquirer.rules(json!([{ "next": 1, "fault": "out-of-order" }])).await;
    let members = json!({ "transactionId": transaction.id, "disputeId": "dp_1", "amount": 995 });
    for kind in ["dispute.opened", "dispute.won"] {
        let mut notification = members.clone();
        notification["type"] = json!(kind);
        acquirer.notify(notification).await;
    }
    acquirer
        .notify(json!({
            "type": "fraud.reported", "transactionId": transaction.id, "reason": 1,
        }))
        .await;
    acquirer.until(|book| book["notifications"][2]["status"] == 204).await;
    let list = async |path: &str| {
        merchant.app.list(&format!("{path}?limit=10&filter[merchantId]={}", merchant.id)).await
    };
    assert_eq!((list("/disputes").await.len(), list("/frauds").await.len()), (1, 1));
    let trail = transaction.fetch().await["trail"].take();
    assert_eq!(trail[1]["dispute"]["won"], true, "{trail}");
}

#[tokio::test]
async fn an_operation_that_is_refused_later_leaves_the_book() {
    let receiver = Receiver::new().await;
    let acquirer = acquirer(&receiver).await;
    let payment = acquirer.authorize().await;
    let (capture, refund, void) = (key(), key(), key());
    let _ = acquirer.outcome("/captures", &capture, &part(&payment, 500)).await;
    let _ = acquirer.outcome("/refunds", &refund, &part(&payment, 200)).await;
    let _ = acquirer.outcome("/voids", &void, &part(&payment, 100)).await;
    let later = |operation: &str| {
        json!({
            "type": "operation.refused",
            "transactionId": id(),
            "operation": operation,
            "reason": "the card account is closed",
        })
    };
    for wrong in [&capture, &payment, &key()] {
        let _ = acquirer.control(Method::POST, "/notifications", &later(wrong), 409).await;
    }
    for key in [&refund, &capture, &void] {
        acquirer.notify(later(key)).await;
        let outcome = acquirer.ask(key).await.expect(200).json();
        assert_eq!(outcome, refused(key, "the card account is closed"));
        let _ = acquirer.control(Method::POST, "/notifications", &later(key), 409).await;
    }
    let sums = json!({ "captured": 0, "voided": 0, "refunded": 0, "held": 995 });
    assert_eq!(acquirer.operation(&payment).await["sums"], sums);
    let received = receiver.until(|received| received.len() == 3).await;
    for one in received {
        blackbox::acquirer::DOCUMENT.check_text("/components/schemas/OperationRefused", &one.body);
    }
    let today =
        &acquirer.operation(&payment).await["executedAt"].as_str().unwrap()[..10].to_owned();
    assert_eq!(acquirer.settlement(today).await.lines().count(), 1);
}

#[tokio::test]
async fn a_notification_needs_a_type() {
    let acquirer = Acquirer::start().await;
    let _ = acquirer.control(Method::POST, "/notifications", &json!({}), 409).await;
    let _ = acquirer.control(Method::POST, "/notifications", &json!([]), 422).await;
    assert_eq!(acquirer.book().await["notifications"], json!([]));
}

#[tokio::test]
async fn no_card_number_is_logged_or_shown() {
    let acquirer = Acquirer::with(&[("RUST_LOG", "trace")]).await;
    let mut numbers = vec![card::VISA, card::FULL, card::UNKNOWN];
    for number in &numbers {
        let _ = acquirer.outcome("/authorizations", &key(), &authorization(number)).await;
    }
    numbers.push(SECRET.1);
    let book = acquirer.book().await.to_string();
    let process = acquirer.into_process();
    process.terminate().await;
    process.logged(|line| line.contains("stopped")).await;
    let log = process.log().join("\n");
    for secret in numbers {
        assert!(!book.contains(secret) && !log.contains(secret), "{secret}");
    }
}

#[tokio::test]
async fn facts_are_listed_in_their_order_whether_or_not_they_were_sent() {
    let receiver = Receiver::new().await;
    let acquirer = acquirer(&receiver).await;
    acquirer.rules(json!([{ "kind": "notification", "fault": "lost", "probability": 0.5 }])).await;
    for number in 0..101 {
        let mut fact = opened(&format!("dp_{number}"));
        fact["id"] = format!("evt {number}").into();
        acquirer.notify(fact).await;
    }
    let facts = async |query: &str| {
        let answer = acquirer.send(&Call::get(&format!("/facts{query}"))).await.expect(200).json();
        let ids = answer["facts"].as_array().unwrap().iter().map(|fact| fact["id"].clone());
        (ids.collect::<Vec<_>>(), answer["more"].as_bool().unwrap())
    };
    let ids = |from: usize, to| (from..to).map(|at| json!(format!("evt {at}"))).collect::<Vec<_>>();
    assert_eq!(facts("").await, (ids(0, 100), true));
    assert_eq!(facts("?after=evt+99").await, (ids(100, 101), false));
    assert_eq!(facts("?after=evt%20100").await, (Vec::new(), false));
    let unknown = Call::get("/facts?after=evt");
    let answer = acquirer.send(&unknown).await.expect(404);
    unknown.check_signature(&answer);
    // The signature covers the query.
    let mut other = Call::get("/facts?after=evt+1");
    other.path = "/facts?after=evt+2".to_owned();
    let _ = acquirer.send(&other).await.expect(401);
    // Those that were sent are in the same list.
    assert!(receiver.received().len() < 101);
}
