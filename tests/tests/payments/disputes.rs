//! Disputes: their effects on the transaction, on the balance and on the books.

use std::time::Duration;

use blackbox::{
    payments::{
        Acquirer, Card, Merchant, Move, Refusal as _, SECRET, Service, Transaction, ids, int,
    },
    process::DEADLINE,
};
use futures_util::future::join_all;
use rand::{RngExt as _, SeedableRng as _, rngs::StdRng};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

/// The fee of a dispute, in cents.
const FEE: i64 = 3500;

/// Starts a service with a webhook secret, and captures a transaction.
async fn captured(amount: i64) -> (Service, Merchant, Transaction) {
    let service = Service::with(&[SECRET]).await;
    let merchant = service.merchant().await;
    let transaction = merchant.pay("EUR", amount).await;
    transaction.capture(amount).await;
    (service, merchant, transaction)
}

/// The disputes of a merchant, newest first.
async fn disputes(merchant: &Merchant) -> Vec<Value> {
    merchant.app.list(&format!("/disputes?limit=100&filter[merchantId]={}", merchant.id)).await
}

/// The merchant's disputes of one transaction, newest first.
async fn disputes_of(merchant: &Merchant, transaction: &str) -> Vec<Value> {
    let query = format!("filter[merchantId]={}&filter[transactionId]={transaction}", merchant.id);
    merchant.app.list(&format!("/disputes?limit=100&{query}")).await
}

async fn newest_line(merchant: &Merchant) -> Value {
    merchant.list("/lines?limit=1").await.remove(0)
}

/// Waits until the merchant has a dispute.
pub(crate) async fn until_disputed(merchant: &Merchant) -> Vec<Value> {
    let found = async {
        loop {
            let found = disputes(merchant).await;
            if !found.is_empty() {
                return found;
            }
            sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(DEADLINE, found).await.unwrap()
}

#[tokio::test]
async fn an_opened_dispute_debits_the_amount_and_a_fee() {
    let (service, merchant, transaction) = captured(1000).await;
    let before = merchant.balance().await;
    let reason = json!({ "code": 1040, "title": "Other fraud" });
    let due = "2099-01-02T03:04:05.678Z";
    let members = json!({ "disputeId": "dp", "amount": 600, "reason": reason, "due": due });
    let event = Acquirer::event("dispute.opened", &transaction, members);
    let _ = Acquirer(&service).notify(&event).await.expect(204);

    let after = transaction.fetch().await;
    let amounts = ["capturedAmount", "refundedAmount", "disputedAmount", "pendingAmount"];
    assert_eq!(amounts.map(|name| int(&after[name])), [1000, 0, 600, 0]);
    // The trail gets its entry when the dispute is decided.
    assert_eq!(after["trail"].as_array().unwrap().len(), 1);
    // The debit is 600, less its rate fee of 2.5 %, plus the dispute fee.
    assert_eq!(merchant.balance().await, before - 600 + 15 - FEE);
    let line = newest_line(&merchant).await;
    assert_eq!((int(&line["balance"]), int(&line["fee"])), (-600 + 15 - FEE, FEE - 15));
    assert_eq!(line["amount"], json!({ "currency": "EUR", "amount": -600 }));
    assert_eq!((&line["dispute"], line.get("won"), line.get("lost")), (&json!(true), None, None));

    let dispute = disputes(&merchant).await.remove(0);
    let expected = json!({
        "id": dispute["id"],
        "merchantId": merchant.id,
        "transactionId": transaction.id,
        "created": "2099-11-21T10:00:00.000Z",
        "amount": 600,
        "reason": reason,
        "due": due,
        "inquiry": false,
        "submitted": null,
        "accepted": null,
    });
    assert_eq!(dispute, expected);
    let path = format!("/disputes/{}", dispute["id"].as_str().unwrap());
    let fetched = merchant.app.get(&path).await.expect(200).json();
    assert_eq!(fetched, json!({ "dispute": expected }));
    service.data().agrees().await;
}

#[tokio::test]
async fn absent_members_of_a_dispute_have_defaults() {
    let (service, merchant, transaction) = captured(1000).await;
    Acquirer(&service).open(&transaction, 1).await;
    let dispute = disputes(&merchant).await.remove(0);
    assert_eq!(dispute["reason"], Value::Null);
    // The default is 14 days after the creation time in the notification.
    assert_eq!(dispute["due"], "2099-12-05T10:00:00.000Z");
}

#[tokio::test]
async fn a_won_dispute_returns_everything_except_the_fee() {
    let (service, merchant, transaction) = captured(1000).await;
    let before = merchant.balance().await;
    let acquirer = Acquirer(&service);
    let dispute = acquirer.open(&transaction, 600).await;
    acquirer.end(&transaction, &dispute, "won").await;
    assert_eq!(merchant.balance().await, before - FEE);
    let after = transaction.fetch().await;
    assert_eq!((int(&after["disputedAmount"]), int(&after["capturedAmount"])), (0, 1000));
    let line = newest_line(&merchant).await;
    let id = disputes(&merchant).await.remove(0)["id"].clone();
    let entry = &after["trail"][1];
    assert_eq!(
        entry,
        &json!({
            "dispute": { "id": id, "won": true },
            "created": entry["created"],
            "amount": 600,
            "balance": 585,
            "fee": { "flat": 0, "rate": 15 },
            "descriptor": "Corner shop",
            "lineId": line["id"],
        })
    );
    assert_eq!((&line["dispute"], &line["won"]), (&json!(true), &json!(true)));
    assert_eq!((int(&line["balance"]), int(&line["amount"]["amount"])), (585, 600));
    transaction.refund(1000).await;
    service.data().agrees().await;
}

#[tokio::test]
async fn a_lost_dispute_returns_nothing() {
    let (service, merchant, transaction) = captured(1000).await;
    let acquirer = Acquirer(&service);
    let dispute = acquirer.open(&transaction, 600).await;
    let before = merchant.balance().await;
    acquirer.end(&transaction, &dispute, "lost").await;
    assert_eq!(merchant.balance().await, before);
    let after = transaction.fetch().await;
    assert_eq!(int(&after["disputedAmount"]), 600);
    let entry = &after["trail"][1];
    assert_eq!(entry["dispute"]["lost"], true);
    assert_eq!((int(&entry["amount"]), int(&entry["balance"])), (600, 0));
    let line = newest_line(&merchant).await;
    assert_eq!((&line["lost"], int(&line["balance"]), int(&line["fee"])), (&json!(true), 0, 0));
    transaction.ask(Move::Refund, &json!({ "amount": 401 })).await.names(&["amount"]);
    transaction.refund(400).await;
    service.data().agrees().await;
}

#[tokio::test]
async fn repeated_notifications_of_a_dispute_are_ignored() {
    let (service, merchant, transaction) = captured(1000).await;
    let acquirer = Acquirer(&service);
    let opening = json!({ "disputeId": "dp", "amount": 600 });
    let opened = Acquirer::event("dispute.opened", &transaction, opening.clone());
    let again = Acquirer::event("dispute.opened", &transaction, opening);
    for event in [&opened, &opened, &again] {
        let _ = acquirer.notify(event).await.expect(204);
    }
    acquirer.end(&transaction, "dp", "won").await;
    let before = (merchant.balance().await, transaction.fetch().await);
    for how in ["won", "lost"] {
        acquirer.end(&transaction, "dp", how).await;
    }
    let _ = acquirer.notify(&again).await.expect(204);
    assert_eq!((merchant.balance().await, transaction.fetch().await), before);
    assert_eq!(disputes(&merchant).await.len(), 1);
}

#[tokio::test]
async fn an_early_decision_waits_for_the_opening() {
    let (service, merchant, transaction) = captured(1000).await;
    let acquirer = Acquirer(&service);
    // A win counts after a loss, and in any order.
    for (number, (early, how, disputed)) in [
        (&["lost"][..], "lost", 300),
        (&["lost", "won"], "won", 300),
        (&["won", "lost"], "won", 300),
        (&["prevented"], "won", 300),
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("early {number}");
        for how in early {
            acquirer.end(&transaction, &name, how).await;
        }
        let before = transaction.fetch().await;
        assert_eq!(before["trail"].as_array().unwrap().len(), number + 1);
        let members = json!({ "disputeId": name, "amount": 300 });
        let opened = Acquirer::event("dispute.opened", &transaction, members);
        let _ = acquirer.notify(&opened).await.expect(204);
        let after = transaction.fetch().await;
        assert_eq!(after["trail"][number + 1]["dispute"][how], true, "{early:?}");
        assert_eq!(int(&after["disputedAmount"]), disputed, "{early:?}");
    }
    assert_eq!(merchant.list("/lines?limit=10").await.len(), 9);
    service.data().agrees().await;
}

#[tokio::test]
async fn an_inquiry_moves_no_money_until_it_becomes_a_dispute() {
    let (service, merchant, transaction) = captured(1000).await;
    let (acquirer, before) = (Acquirer(&service), transaction.fetch().await);
    let balance = merchant.balance().await;
    let inquiry = json!({ "disputeId": "dp", "amount": 600, "due": "2099-01-02T03:04:05Z" });
    for _ in 0..2 {
        let inquired = Acquirer::event("dispute.inquiry", &transaction, inquiry.clone());
        let _ = acquirer.notify(&inquired).await.expect(204);
    }
    assert_eq!((transaction.fetch().await, merchant.balance().await), (before, balance));
    let [inquiry] = &disputes(&merchant).await[..] else { panic!() };
    assert_eq!((&inquiry["inquiry"], int(&inquiry["amount"])), (&json!(true), 600));
    assert_eq!(inquiry["due"], "2099-01-02T03:04:05.000Z");
    service.data().agrees().await;
    // Its decision waits, too.
    acquirer.end(&transaction, "dp", "won").await;
    assert_eq!(merchant.balance().await, balance);
    let opening = json!({ "disputeId": "dp", "amount": 500, "due": "2099-02-02T03:04:05Z" });
    let opened = Acquirer::event("dispute.opened", &transaction, opening);
    let _ = acquirer.notify(&opened).await.expect(204);
    assert_eq!(merchant.balance().await, balance - FEE);
    let [dispute] = &disputes(&merchant).await[..] else { panic!() };
    assert_eq!((&dispute["id"], &dispute["inquiry"]), (&inquiry["id"], &json!(false)));
    assert_eq!(int(&dispute["amount"]), 500);
    let events = merchant.app.list("/events?limit=100").await;
    let types =
        events.iter().rev().map(|event| (&event["type"], &event["data"]["dispute"]["inquiry"]));
    let types: Vec<_> = types.filter(|(_, inquiry)| !inquiry.is_null()).collect();
    let expected = [("dispute.inquiry", true), ("dispute.opened", false), ("dispute.won", false)];
    assert_eq!(json!(types), json!(expected));
    service.data().agrees().await;
}

#[tokio::test]
async fn a_lost_dispute_can_be_won_later() {
    let (service, merchant, transaction) = captured(1000).await;
    let (acquirer, before) = (Acquirer(&service), merchant.balance().await);
    let dispute = acquirer.open(&transaction, 600).await;
    acquirer.end(&transaction, &dispute, "lost").await;
    for _ in 0..2 {
        acquirer.end(&transaction, &dispute, "won").await;
    }
    acquirer.end(&transaction, &dispute, "lost").await;
    let after = transaction.fetch().await;
    let [_, lost, won] = &after["trail"].as_array().unwrap()[..] else { panic!("{after}") };
    assert_eq!((&lost["dispute"]["lost"], &won["dispute"]["won"]), (&json!(true), &json!(true)));
    assert_eq!((int(&won["amount"]), int(&won["balance"])), (600, 585));
    assert_eq!((int(&after["disputedAmount"]), merchant.balance().await), (0, before - FEE));
    assert_eq!(newest_line(&merchant).await["won"], true);
    service.data().agrees().await;
    transaction.refund(1000).await;
    service.data().agrees().await;
}

#[tokio::test]
async fn a_prevented_dispute_returns_its_fee() {
    let (service, merchant, transaction) = captured(1000).await;
    let (acquirer, before) = (Acquirer(&service), merchant.balance().await);
    for is_lost in [false, true] {
        let dispute = acquirer.open(&transaction, 600).await;
        if is_lost {
            acquirer.end(&transaction, &dispute, "lost").await;
        }
        acquirer.end(&transaction, &dispute, "prevented").await;
        let after = transaction.fetch().await;
        let entry = after["trail"].as_array().unwrap().last().unwrap().clone();
        assert_eq!(entry["dispute"]["won"], true);
        assert_eq!(entry["fee"], json!({ "flat": -FEE, "rate": 15 }));
        assert_eq!((int(&after["disputedAmount"]), merchant.balance().await), (0, before));
        service.data().agrees().await;
    }
}

#[tokio::test]
async fn an_authorization_that_has_ended_is_voided() {
    let service = Service::with(&[SECRET]).await;
    let merchant = service.merchant().await;
    let transaction = merchant.pay("EUR", 1000).await;
    transaction.capture(300).await;
    for _ in 0..2 {
        let expired = Acquirer::event("authorization.expired", &transaction, json!({}));
        let _ = Acquirer(&service).notify(&expired).await.expect(204);
    }
    let after = transaction.fetch().await;
    let amounts = ["pendingAmount", "capturedAmount", "voidedAmount"];
    assert_eq!(amounts.map(|name| int(&after[name])), [0, 300, 700]);
    assert_eq!(after["trail"][1]["void"], true);
    transaction.ask(Move::Capture, &json!({ "amount": 1 })).await.names(&["amount"]);
    let voided = merchant.app.list("/events?limit=100").await;
    assert_eq!(voided.iter().filter(|it| it["type"] == "transaction.voided").count(), 1);
    service.data().agrees().await;
}

#[tokio::test]
async fn a_dispute_on_refunded_money_is_booked() {
    let (service, merchant, transaction) = captured(1000).await;
    transaction.refund(1000).await;
    let before = merchant.balance().await;
    let dispute = Acquirer(&service).open(&transaction, 1000).await;
    assert_eq!(merchant.balance().await, before - 975 - FEE);
    let after = transaction.fetch().await;
    let amounts = ["capturedAmount", "refundedAmount", "disputedAmount"];
    assert_eq!(amounts.map(|name| int(&after[name])), [1000; 3]);
    service.data().agrees().await;
    Acquirer(&service).end(&transaction, &dispute, "won").await;
    assert_eq!(merchant.balance().await, before - FEE);
    service.data().agrees().await;
}

#[tokio::test]
async fn a_dispute_is_exchanged_as_the_captures_were() {
    let service = Service::with(&[SECRET]).await;
    let merchant = service.app().await.merchant("DKK").await;
    let transaction = merchant.pay("EUR", 500).await;
    let captured = transaction.capture(500).await;
    let gross = int(&captured["trail"][0]["balance"])
        + int(&captured["trail"][0]["fee"]["flat"])
        + int(&captured["trail"][0]["fee"]["rate"]);
    let before = merchant.balance().await;
    let dispute = Acquirer(&service).open(&transaction, 500).await;
    let line = newest_line(&merchant).await;
    let fees = int(&line["fee"]);
    assert_eq!(int(&line["balance"]), -gross - fees);
    assert_eq!(line["amount"], json!({ "currency": "EUR", "amount": -500 }));
    Acquirer(&service).end(&transaction, &dispute, "won").await;
    // The opening returned the rate fee. The decision debits it again.
    let fee = fees + int(&captured["trail"][0]["fee"]["rate"]);
    assert_eq!(merchant.balance().await, before - fee);
    service.data().agrees().await;
}

#[tokio::test]
async fn the_sandbox_disputes_the_first_capture_of_its_cards() {
    let service = Service::any().await;
    for card in ["4100000000000102", "4100000000000103"] {
        let merchant = service.merchant().await;
        let transaction = merchant.pay_with(Card(card), "EUR", 1000).await;
        transaction.capture(300).await;
        transaction.capture(700).await;
        let found = until_disputed(&merchant).await;
        assert_eq!((found.len(), int(&found[0]["amount"])), (1, 300), "{card}");
        assert_eq!(int(&transaction.fetch().await["disputedAmount"]), 300);
    }
}

#[tokio::test]
async fn the_sandbox_decides_overdue_disputes_as_lost() {
    let service = Service::with(&[("PAYMENTS_DISPUTE_DUE", "1s")]).await;
    let merchant = service.merchant().await;
    let transaction = merchant.pay_with(Card("4100000000000102"), "EUR", 1000).await;
    transaction.capture(1000).await;
    until_disputed(&merchant).await;
    let lost = async {
        loop {
            let after = transaction.fetch().await;
            if let Some(entry) = after["trail"].get(1) {
                assert_eq!(entry["dispute"]["lost"], true);
                return;
            }
            sleep(Duration::from_millis(100)).await;
        }
    };
    timeout(DEADLINE, lost).await.unwrap();
    service.data().agrees().await;
}

#[tokio::test]
async fn disputes_are_listed_by_merchant_and_by_transaction() {
    let (service, merchant, transaction) = captured(1000).await;
    let other = merchant.pay("EUR", 100).await;
    other.capture(100).await;
    for (transaction, amount) in [(&transaction, 1), (&other, 2), (&transaction, 3)] {
        Acquirer(&service).open(transaction, amount).await;
    }
    let amounts =
        |found: Vec<Value>| found.iter().map(|dispute| int(&dispute["amount"])).collect::<Vec<_>>();
    let all = disputes(&merchant).await;
    assert_eq!(disputes_of(&merchant, &transaction.id).await, [all[0].clone(), all[2].clone()]);
    let path = |rest: &str| format!("/disputes?filter[merchantId]={}&{rest}", merchant.id);
    let oldest = ids(&all).pop().unwrap();
    merchant.app.settle(&path("")).await;
    let page = merchant.app.list(&path(&format!("limit=1&after={oldest}"))).await;
    assert_eq!(amounts(page), [2]);
    assert_eq!(amounts(all), [3, 2, 1]);
    let foreign = service.merchant().await.pay("EUR", 100).await;
    for nothing in [&foreign.id, "ffffffffffffffffffffffff"] {
        assert_eq!(disputes_of(&merchant, nothing).await, Vec::<Value>::new());
    }
    for list in ["/disputes", "/frauds"] {
        let bad = |query: String| {
            let path = format!("{list}?{query}");
            async { merchant.app.get(&{ path }).await }
        };
        bad("limit=10".to_owned()).await.names(&["filter.merchantId"]);
        bad("filter[merchantId]=x&filter[transactionId]=".to_owned()).await.names(&[
            "limit",
            "filter.merchantId",
            "filter.transactionId",
        ]);
        bad("limit=1&filter[merchantId]=ffffffffffffffffffffffff".to_owned())
            .await
            .names(&["filter.merchantId"]);
        let stranger = service.merchant().await;
        let theirs = format!("limit=1&filter[merchantId]={}", stranger.id);
        bad(theirs).await.refused(403, "forbidden");
    }
}

#[tokio::test]
async fn another_apps_dispute_is_403_and_an_unknown_one_404() {
    let (service, merchant, transaction) = captured(1000).await;
    Acquirer(&service).open(&transaction, 1).await;
    let id = ids(&disputes(&merchant).await).remove(0);
    let stranger = service.app().await;
    stranger.get(&format!("/disputes/{id}")).await.refused(403, "forbidden");
    for unknown in ["ffffffffffffffffffffffff", "x", transaction.id.as_str()] {
        merchant.app.get(&format!("/disputes/{unknown}")).await.refused(404, "not_found");
    }
    service
        .request(reqwest::Method::GET, "/disputes?limit=1")
        .send()
        .await
        .refused(401, "unauthenticated");
}

#[tokio::test]
async fn a_replayed_answer_shows_the_original_disputed_amount() {
    let (service, merchant, _) = captured(1000).await;
    let transaction = merchant.pay("EUR", 1000).await;
    transaction.capture(500).await;
    let dispute = Acquirer(&service).open(&transaction, 100).await;
    let path = transaction.path_of(Move::Capture);
    let body = json!({ "amount": 100 });
    let capture = || merchant.app.post_once("key", &path, &body);
    let first = capture().await.expect(201);
    assert_eq!(int(&first.json()["transaction"]["disputedAmount"]), 100);
    Acquirer(&service).end(&transaction, &dispute, "won").await;
    assert_eq!(capture().await.text(), first.text());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_books_agree_after_concurrent_notifications() {
    let (service, merchant, transaction) = captured(10_000).await;
    let acquirer = Acquirer(&service);
    let mut rng = StdRng::seed_from_u64(7);
    let steps: Vec<(u32, i64)> =
        (0..120).map(|_| (rng.random_range(0..4), rng.random_range(1..300))).collect();
    join_all(steps.into_iter().enumerate().map(async |(number, (kind, amount))| match kind {
        0 => {
            let body = json!({ "amount": amount });
            let answer = transaction.ask_with_retries(Move::Refund, &body).await;
            assert!([201, 400].contains(&answer.status.as_u16()), "{answer:?}");
        }
        _ => {
            let (dispute, how) =
                (format!("dp {number}"), ["won", "lost", "won"][kind as usize - 1]);
            let members = json!({ "disputeId": dispute, "amount": amount });
            let opening = Acquirer::event("dispute.opened", &transaction, members);
            // Opening and decision arrive in any order, and the opening arrives twice.
            let ((), first, second) = tokio::join!(
                acquirer.end(&transaction, &dispute, how),
                acquirer.notify(&opening),
                acquirer.notify(&opening),
            );
            let (_, _) = (first.expect(204), second.expect(204));
        }
    }))
    .await;
    let after = transaction.fetch().await;
    let trail = after["trail"].as_array().unwrap();
    let sum = |is: fn(&Value) -> bool| -> i64 {
        trail.iter().filter(|step| is(step)).map(|step| int(&step["amount"])).sum()
    };
    assert_eq!(int(&after["disputedAmount"]), sum(|step| step["dispute"]["lost"] == true));
    assert_eq!(int(&after["refundedAmount"]), sum(|step| step["refund"] == true));
    merchant.sum_of_lines().await;
    service.data().agrees().await;
}
