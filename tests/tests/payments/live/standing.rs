//! What an operator decides about a merchant: `hold`, `release`, `approve`, `set-bank`.

use std::cell::Cell;

use blackbox::{
    acquirer::card,
    payments::{Card, Link, Merchant, Move, Service, Stopped, int, minimal},
    process::{self, until},
};
use serde_json::{Value, json};

use super::Live;
use crate::{
    payouts::{DANISH, GERMAN, funded, pay_out, transfers},
    replicas::two,
};

/// The exit code of a command, and what it prints.
async fn try_to_run(place: &Stopped, arguments: &[&str]) -> (i32, String) {
    let mut command = place.command();
    command.args(arguments);
    let ended = process::run(command).await;
    let printed = [ended.stdout, ended.stderr].concat();
    (ended.status.code().unwrap(), String::from_utf8(printed).unwrap())
}

/// Runs a command, which must succeed. Returns what it prints.
pub(crate) async fn run(place: &Stopped, arguments: &[&str]) -> String {
    let (code, printed) = try_to_run(place, arguments).await;
    assert_eq!(code, 0, "{printed}");
    printed
}

pub(crate) async fn hold(place: &Stopped, merchant: &Merchant, options: &[&str]) -> String {
    let arguments = [&["hold", merchant.id.as_str(), "--reason", "stolen cards"], options].concat();
    run(place, &arguments).await
}

pub(crate) async fn release(place: &Stopped, merchant: &Merchant) {
    let printed = run(place, &["release", &merchant.id]).await;
    assert_eq!(printed, format!("{} is not held\n", merchant.id));
}

/// The data of the merchant's events of this type, the oldest first.
async fn events(merchant: &Merchant, kind: &str) -> Vec<Value> {
    let path = format!("/events?limit=100&filter[merchantId]={}&filter[type]={kind}", merchant.id);
    let events = merchant.app.list(&path).await.into_iter().rev();
    events.map(|event| event["data"].clone()).collect()
}

#[tokio::test]
async fn a_held_merchant_takes_no_payment_and_captures_nothing() {
    let service = Service::with(&[]).await;
    let merchant = service.merchant().await;
    let [captured, pending] = [merchant.pay("EUR", 1000).await, merchant.pay("EUR", 1000).await];
    captured.capture(600).await;

    let printed = hold(service.data(), &merchant, &[]).await;
    assert!(printed.contains("payments, payouts: stolen cards"), "{printed}");
    let held = merchant.fetch().await["held"].clone();
    let expected = json!({
        "payments": true, "payouts": true, "reason": "stolen cards", "since": held["since"],
    });
    assert_eq!(held, expected);
    let answer = merchant.charge(&merchant.payment(Card::VISA, "EUR", 100)).await.expect(400);
    assert_eq!(answer.json()["code"], 27);
    let again = json!({ "transactionId": captured.id, "currency": "EUR", "amount": 100 });
    let answer = merchant.post("/transactions", &again).await.expect(400);
    assert_eq!(answer.json()["code"], 27, "a stored card");
    let cause = "the merchant is on hold";
    let is_named = |line: &str| line.contains("\"code\":27") && line.contains(cause);
    service.process().logged_times(2, is_named).await;
    let page = service.show(&Link::to(&merchant).path()).await.expect(503);
    let page = page.text();
    assert!(!page.contains("<form") && !page.contains("stolen"), "{page}");
    for paid in [&captured, &pending] {
        let answer = paid.ask(Move::Capture, &json!({ "amount": 100 })).await.expect(400);
        assert_eq!(answer.json()["error"], "merchant_held");
    }
    captured.refund(100).await;
    pending.void(1000).await;

    // A repeat changes nothing.
    assert_eq!(hold(service.data(), &merchant, &[]).await, printed);
    release(service.data(), &merchant).await;
    release(service.data(), &merchant).await;
    assert_eq!(merchant.fetch().await["held"], Value::Null);
    captured.capture(400).await;
    merchant.pay("EUR", 100).await;
    let held = events(&merchant, "merchant.held").await;
    assert_eq!(held.len(), 1);
    assert_eq!(held[0]["held"], expected);
    let released = events(&merchant, "merchant.released").await;
    assert_eq!(released.len(), 1);
    let released = &released[0]["held"];
    let what = ["payments", "payouts", "reason"].map(|name| released[name].clone());
    assert_eq!(what, [json!(false), json!(false), Value::Null]);
    service.stop().await.agrees().await;
}

#[tokio::test]
async fn both_replicas_obey_a_hold_at_once() {
    let (_cluster, [one, other]) = two(&[]).await;
    let merchant = one.merchant().await;
    let paid = merchant.pay("EUR", 1000).await;
    hold(other.data(), &merchant, &["--payments"]).await;
    for service in [&one, &other] {
        let app = merchant.app.at(service);
        let merchant = merchant.by(&app);
        let answer = merchant.charge(&merchant.payment(Card::VISA, "EUR", 100)).await.expect(400);
        assert_eq!(answer.json()["code"], 27);
        let answer = paid.by(&app).ask(Move::Capture, &json!({ "amount": 100 })).await.expect(400);
        assert_eq!(answer.json()["error"], "merchant_held");
    }
    release(one.data(), &merchant).await;
    paid.by(&merchant.app.at(&other)).capture(100).await;
    for service in [one, other] {
        service.stop().await.agrees().await;
    }
}

#[tokio::test]
async fn held_payouts_are_left_out_of_runs() {
    let service = Service::with(&[]).await;
    let [held, other] =
        [funded(&service, Some(DANISH)).await, funded(&service, Some(GERMAN)).await];
    let printed = hold(service.data(), &held, &["--payouts"]).await;
    assert!(printed.contains(": payouts: stolen cards"), "{printed}");
    held.pay("EUR", 100).await.capture(100).await;
    let day = |day: &'static str| ["--test", "--day", day];
    let rows = transfers(&pay_out(service.data(), &day("2026-11-20")).await);
    assert_eq!(rows.len(), 1, "{rows:?}");
    assert_eq!(rows[0]["merchant"], other.id);
    // A second hold adds to the first one.
    let printed = hold(service.data(), &held, &["--payments"]).await;
    assert!(printed.contains(": payments, payouts: "), "{printed}");
    release(service.data(), &held).await;
    let rows = transfers(&pay_out(service.data(), &day("2026-11-21")).await);
    assert_eq!(rows.len(), 1, "{rows:?}");
    assert_eq!(rows[0]["merchant"], held.id);
    service.stop().await.agrees().await;
}

#[tokio::test]
async fn a_held_capture_waits_in_the_outbox() {
    let mut live = Live::start().await;
    let data = live.service.data();
    let paid = live.pay(1000).await;
    live.acquirer.rules(json!([{ "kind": "capture", "fault": "500" }])).await;
    paid.capture(600).await;
    hold(data, &live.merchant, &["--payments"]).await;
    // An attempt may have begun before the hold. A held capture is postponed without an attempt.
    let attempts_and_due =
        || data.number("SELECT attempts * 100000000000000 + coalesce(due, 0) FROM outbox");
    let last = Cell::new(attempts_and_due());
    until(async || {
        let (before, now) = (last.get(), attempts_and_due());
        last.set(now);
        now > before && now / 100_000_000_000_000 == before / 100_000_000_000_000
    })
    .await;
    live.acquirer.clear_rules().await;
    paid.refund(100).await;
    paid.void(400).await;
    // The payments of others go on.
    let held = live.merchant.clone();
    live.merchant = live.merchant.app.merchant_with(&minimal()).await;
    live.pay(500).await.capture(500).await;
    let waiting =
        async |condition| data.number(&format!("SELECT count(*) FROM outbox {condition}"));
    until(async || waiting("WHERE due IS NOT NULL").await == 3).await;
    until(async || waiting("").await == 3).await;
    release(data, &held).await;
    live.settled().await;
    let shown = paid.fetch().await;
    let amounts = ["capturedAmount", "refundedAmount", "voidedAmount"];
    assert_eq!(amounts.map(|name| int(&shown[name])), [600, 100, 400]);
    live.agrees().await;
}

#[tokio::test]
async fn a_held_capture_ends_with_its_authorization() {
    let live = Live::start().await;
    let (undone, done) = (live.pay(1000).await, live.pay(500).await);
    let [once, then] = [
        json!({ "kind": "capture", "next": 1, "fault": "drop" }),
        json!({ "kind": "capture", "fault": "close" }),
    ];
    live.acquirer.rules(json!([once, then])).await;
    done.capture(500).await;
    let captured = |book: &Value| {
        let operations = book["operations"].as_array().unwrap().iter();
        operations.filter(|known| known["kind"] == "capture" && known["amount"] == 500).count()
    };
    live.acquirer.until(|book| captured(book) == 1).await;
    undone.capture(1000).await;
    hold(live.service.data(), &live.merchant, &["--payments"]).await;
    let Live { acquirer, service, merchant } = live;
    let place = service.stop().await;
    assert_eq!(place.change("UPDATE transactions SET valid_until = 1"), 2);
    assert_eq!(place.change("UPDATE outbox SET due = 1"), 2);
    acquirer.clear_rules().await;
    let service = place.start().await;
    service.settled().await;
    let merchant = merchant.by(&merchant.app.at(&service));
    let [undone, done] = [undone, done].map(|paid| paid.by(&merchant.app));
    let live = Live { acquirer, service, merchant };
    assert_eq!(int(&undone.fetch().await["capturedAmount"]), 0);
    assert_eq!(int(&done.fetch().await["capturedAmount"]), 500, "it was carried out before");
    live.agrees().await;
}

#[tokio::test]
async fn a_capture_that_was_read_before_a_hold_is_postponed() {
    let live = Live::with(&[("PAYMENTS_OUTBOX_CONCURRENCY", "1")]).await;
    let capture = |fault: Value| json!([{ "kind": "capture", "fault": fault }]);
    live.acquirer.rules(capture("close".into())).await;
    for _ in 0..2 {
        live.pay(1000).await.capture(1000).await;
    }
    let place = live.service.stop().await.with("PAYMENTS_ACQUIRER_TIMEOUT", "60s");
    place.change("UPDATE outbox SET due = NULL");
    live.acquirer.clear_rules().await;
    live.acquirer.rules(capture(json!({ "late": { "ms": 60_000 } }))).await;
    // The service reads both at once, and waits for the answer to the first one.
    let service = place.start().await;
    let captured = |book: &Value| {
        let operations = book["operations"].as_array().unwrap();
        operations.iter().filter(|operation| operation["kind"] == "capture").count()
    };
    live.acquirer.until(|book| captured(book) == 1).await;
    let data = service.data();
    hold(data, &live.merchant, &["--payments"]).await;
    until(async || data.number("SELECT count(*) FROM outbox WHERE due IS NOT NULL") == 1).await;
    assert_eq!(captured(&live.acquirer.book().await), 1);
}

#[tokio::test]
async fn a_live_merchant_needs_an_approval() {
    let live = Live::with(&[("PAYMENTS_APPROVAL", "live")]).await;
    assert_eq!(live.merchant.fetch().await["approved"], false);
    let answer = live.charge(card::VISA, 1000).await.expect(400);
    assert_eq!(answer.json()["code"], 27);
    let cause = "the merchant is not approved";
    live.service.process().logged(|line| line.contains(cause)).await;
    let test = live.service.merchant().await;
    assert_eq!(test.fetch().await["approved"], true);
    test.pay("EUR", 1000).await;
    for _ in 0..2 {
        let printed = run(live.service.data(), &["approve", &live.merchant.id]).await;
        assert_eq!(printed, format!("{} is approved\n", live.merchant.id));
    }
    assert_eq!(live.merchant.fetch().await["approved"], true);
    live.pay(1000).await.capture(1000).await;
    live.settled().await;
    // Without an approval, whoever was not approved before may pay, too.
    let stranger = live.merchant.app.merchant_with(&minimal()).await;
    let service = live.service.stop().await.with("PAYMENTS_APPROVAL", "none").start().await;
    let stranger = stranger.by(&stranger.app.at(&service));
    stranger.pay_with(Card(card::VISA), "EUR", 1000).await;
}

#[tokio::test]
async fn a_hundred_strangers_with_stolen_cards_are_paid_nothing() {
    let live = Live::with(&[("PAYMENTS_APPROVAL", "live")]).await;
    for number in 0..100 {
        let app = live.service.app().await;
        let mut body = minimal();
        body["name"] = format!("Shop {number}").into();
        body["bank"] = json!({ "iban": DANISH });
        let stranger = app.merchant_with(&body).await;
        let stolen = stranger.payment(Card(card::VISA), "EUR", 48_725);
        let answer = stranger.charge(&stolen).await.expect(400);
        assert_eq!(answer.json()["code"], 27);
    }
    let place = live.service.stop().await;
    assert_eq!(transfers(&pay_out(&place, &[]).await), Vec::<Value>::new());
    assert_eq!(place.number("SELECT count(*) FROM lines"), 0);
}

#[tokio::test]
async fn set_bank_replaces_account_and_holder() {
    let service = Service::with(&[]).await;
    let merchant = funded(&service, Some(DANISH)).await;
    let bank = ["set-bank", &merchant.id, "--iban", "de89 3704 0044 0532 0130 00"];
    let arguments = [&bank[..], &["--holder", "Ann Larsen"]].concat();
    for _ in 0..2 {
        let printed = run(service.data(), &arguments).await;
        assert_eq!(printed, format!("{} is paid to Ann Larsen, {GERMAN}\n", merchant.id));
    }
    let expected = json!({ "iban": GERMAN, "holder": "Ann Larsen" });
    assert_eq!(merchant.fetch().await["bank"], expected);
    assert_eq!(events(&merchant, "bank.changed").await, [json!({ "bank": expected })]);
    let rows = transfers(&pay_out(service.data(), &["--test"]).await);
    assert_eq!((&rows[0]["iban"], &rows[0]["name"]), (&json!(GERMAN), &json!("Ann Larsen")));
    service.stop().await.agrees().await;
}

#[tokio::test]
async fn a_wrong_argument_is_named() {
    let service = Service::with(&[]).await;
    let merchant = service.merchant().await;
    let (id, unknown) = (merchant.id.as_str(), "f".repeat(24));
    for (arguments, reason) in [
        (&["hold", id][..], "--reason"),
        (&["hold", "1", "--reason", "x"], "<MERCHANT>"),
        (&["hold", &unknown, "--reason", "x"], "there is no merchant ffff"),
        (&["release", &unknown], "there is no merchant ffff"),
        (&["approve", &unknown], "there is no merchant ffff"),
        (&["set-bank", id, "--holder", "x"], "--iban"),
        (&["set-bank", id, "--iban", "DK51", "--holder", "x"], "--iban"),
        (&["set-bank", &unknown, "--iban", DANISH, "--holder", "x"], "there is no merchant ffff"),
    ] {
        let (code, printed) = try_to_run(service.data(), arguments).await;
        assert_eq!(code, 2, "{arguments:?}: {printed}");
        assert!(printed.contains(reason), "{arguments:?}: {printed}");
    }
    assert_eq!(merchant.fetch().await["held"], Value::Null);
}
