//! Two services on one database behave like one service.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use blackbox::{
    payments::{
        Card, Link, Merchant, Move, Refusal as _, Service, Stopped, Transaction, ids, int, next,
    },
    postgres::{Cluster, Database},
    process::{DEADLINE, shift_clock},
    soak::{rounds, seed},
};
use futures_util::{
    StreamExt as _,
    future::{join_all, ready},
    stream,
};
use rand::{RngExt as _, SeedableRng as _, rngs::StdRng};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::{
    task::JoinSet,
    time::{sleep, timeout},
};

/// Starts two services at the same time on an empty database.
pub(crate) async fn two(settings: &[(&str, &str)]) -> (Database, [Service; 2]) {
    two_on(Cluster::shared().database(), settings).await
}

pub(crate) async fn two_on(
    database: Database,
    settings: &[(&str, &str)],
) -> (Database, [Service; 2]) {
    let started = join_all((0..2).map(|_| Stopped::on(Some(database.clone()), settings).start()));
    (database, started.await.try_into().unwrap())
}

/// Creates a merchant. Returns one handle for each service.
async fn shared(services: &[Service; 2]) -> [Merchant; 2] {
    let merchant = services[0].merchant().await;
    [merchant.clone(), merchant.by(&merchant.app.at(&services[1]))]
}

/// Creates a transaction. Returns one handle for each service.
async fn paid(merchants: &[Merchant; 2], amount: i64) -> [Transaction; 2] {
    let transaction = merchants[0].pay("EUR", amount).await;
    [transaction.clone(), transaction.by(&merchants[1].app)]
}

/// Checks the books while each service runs, and again after it has stopped.
pub(crate) async fn agree(services: [Service; 2]) {
    for service in services {
        service.data().agrees().await;
        service.stop().await.agrees().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn counters_stay_exact_with_movements_on_two_replicas() {
    let (_, services) = two(&[]).await;
    let merchants = shared(&services).await;
    let seed = seed();
    println!("SEED={seed}");
    let mut rng = StdRng::seed_from_u64(seed);
    for _ in 0..rounds(2, 50) {
        let transaction = paid(&merchants, 10_000).await;
        let steps: Vec<_> = (0..100)
            .map(|number| (number % 2, Move::ALL[rng.random_range(0..3)], rng.random_range(1..150)))
            .collect();
        let made = stream::iter(steps).map(async |(replica, movement, amount)| {
            let body = json!({ "amount": amount });
            let answer = transaction[replica].ask_with_retries(movement, &body).await;
            if answer.status == 201 {
                return Some((movement, amount));
            }
            answer.names(&["amount"]);
            None
        });
        let made: Vec<(Move, i64)> = made.buffer_unordered(64).filter_map(ready).collect().await;
        let sum = |movement| {
            made.iter().filter(|made| made.0 == movement).map(|made| made.1).sum::<i64>()
        };
        for seen in &transaction {
            let seen = seen.fetch().await;
            assert_eq!(seen["trail"].as_array().unwrap().len(), made.len());
            for movement in Move::ALL {
                assert_eq!(int(&seen[movement.counter()]), sum(movement), "{seen}");
            }
        }
    }
    let balances = [merchants[0].sum_of_lines().await, merchants[1].sum_of_lines().await];
    assert_eq!(balances[0], balances[1]);
    agree(services).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_that_is_sent_to_both_under_one_key_is_done_once() {
    let (_, services) = two(&[]).await;
    let merchants = shared(&services).await;
    let transaction = paid(&merchants, 10_000).await;
    let count = rounds(5, 500);
    for round in 0..count {
        let (key, body) = (format!("key-{round}"), json!({ "amount": 10 }));
        let merchant = format!("merchant-{round}");
        let ask = async |replica: usize| {
            let app = &merchants[replica].app;
            let path = transaction[replica].path_of(Move::Capture);
            let captured = app.post_once(&key, &path, &body).await.expect(201);
            let invitation = json!({ "email": format!("{round}@shop.example") });
            let path = merchants[replica].path("/users");
            let invited = app.post_once(&merchant, &path, &invitation).await.expect(201);
            [captured.body, invited.body]
        };
        let answers = join_all([0, 1, 0, 1].map(ask)).await;
        assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
    }
    let captured = int(&transaction[0].fetch().await["capturedAmount"]);
    assert_eq!(captured, 10 * i64::try_from(count).unwrap());
    agree(services).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_payment_that_is_sent_to_both_under_one_key_is_made_once() {
    let (_, services) = two(&[]).await;
    let merchants = shared(&services).await;
    let original = merchants[0].pay("EUR", 100).await;
    let body = json!({ "transactionId": original.id, "currency": "EUR", "amount": 10 });
    let mut round = 0;
    while round < rounds(6, 200) || conflicts(&services).await == 0 {
        assert!(round < 1_000, "no key was claimed by both at once");
        round += 1;
        let ask = async |replica: usize| {
            let merchant = &merchants[replica];
            let path = merchant.path("/transactions");
            merchant.app.post_once(&round.to_string(), &path, &body).await.expect(201).body
        };
        let answers = join_all([0, 1, 0, 1].map(ask)).await;
        assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
    }
    let listed = merchants[1].ids("/transactions?limit=1000").await;
    assert_eq!(listed.len(), 1 + round);
    agree(services).await;
}

/// Batches that ran again, because another service was faster.
async fn conflicts(services: &[Service; 2]) -> u64 {
    let conflicts = services.iter().map(|service| service.metric("payments_batch_conflicts_total"));
    join_all(conflicts).await.into_iter().sum()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_form_that_is_sent_to_both_services_pays_once() {
    let (_, services) = two(&[]).await;
    let merchants = shared(&services).await;
    for _ in 0..rounds(6, 200) {
        let form = services[0].open(&Link::to(&merchants[0])).await;
        let cards = [Card::VISA, Card::MASTERCARD, Card::DECLINED, Card::VISA].into_iter();
        let sent = cards
            .enumerate()
            .map(async |(number, card)| next(&services[number % 2].send_card(&form, card).await));
        assert!(join_all(sent).await.iter().all(|next| *next == form));
    }
    let made = merchants[1].ids("/transactions?limit=1000").await;
    assert_eq!(made.len(), rounds(6, 200));
    agree(services).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_challenge_can_be_answered_at_the_other_service() {
    let (_, services) = two(&[]).await;
    let merchants = shared(&services).await;
    let (form, _) = services[0].pay_at(&Link::to(&merchants[0]), Card::CHALLENGED[0].0).await;
    let page = services[1].show(&form).await.expect(200);
    assert!(page.text().contains("action=\"challenge?"), "{page:?}");
    let challenge = form.replace("/?", "/challenge?");
    let answer = |replica: usize| services[replica % 2].send_form(&challenge, "answer=confirm");
    let answered = join_all((0..8).map(answer)).await;
    assert!(answered.iter().all(|answer| next(answer) == form), "{answered:?}");
    let made = merchants[1].list("/transactions?limit=10").await;
    assert_eq!((made.len(), &made[0]["tds"]), (1, &json!("full")));
    agree(services).await;
}

/// All lines of a merchant of these tests.
const ALL: &str = "/lines?limit=1000";

/// Polls a merchant's lines with `after`, from the oldest on, until the last line after the end of
/// the writes.
async fn poll(merchant: &Merchant, is_over: &AtomicBool) -> Vec<Value> {
    let (mut seen, mut cursor) = (Vec::new(), "0".repeat(24));
    let begun = Instant::now();
    loop {
        let was_over = is_over.load(Ordering::Acquire);
        let page = merchant.list(&format!("/lines?limit=1000&after={cursor}")).await;
        match ids(&page).pop() {
            Some(last) => cursor = last,
            // An open database transaction delays the lines that may be shown.
            None if was_over && merchant.ids("/lines?limit=1").await == [cursor.clone()] => {
                return seen;
            }
            None => {
                assert!(begun.elapsed() < DEADLINE, "the page stays empty")
            }
        }
        seen.extend(page);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn polling_misses_no_lines_inserted_by_either_service() {
    let (_, services) = two(&[]).await;
    for _ in 0..rounds(2, 50) {
        let merchants = shared(&services).await;
        let transactions = join_all((0..12).map(|_| paid(&merchants, 10_000))).await;
        let is_over = AtomicBool::new(false);
        let write = async {
            let captures = transactions.iter().enumerate().map(async |(number, transaction)| {
                for _ in 0..20 {
                    transaction[number % 2].capture(10).await;
                }
            });
            join_all(captures).await;
            is_over.store(true, Ordering::Release);
        };
        let polls = join_all([0, 1, 0, 1].map(|replica| poll(&merchants[replica], &is_over)));
        let ((), polls) = tokio::join!(write, polls);
        let mut all = merchants[0].ids(ALL).await;
        all.reverse();
        for seen in polls {
            assert_eq!(ids(&seen), all);
        }
    }
    agree(services).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replica_that_freezes_keeps_the_other_for_seconds_at_most() {
    let (_, services) = two(&[]).await;
    let merchants = shared(&services).await;
    let [one, other] = paid(&merchants, 1_000_000).await;
    let captures: JoinSet<_> = (0..16)
        .map(|_| {
            let one = one.clone();
            // The requests end when the process is killed, or before.
            async move {
                let path = one.path_of(Move::Capture);
                let request = || one.app.request(Method::POST, &path).json(&json!({ "amount": 1 }));
                while request().attempt().await.is_some() {}
            }
        })
        .collect();
    other.capture(1).await;
    services[0].process().signal("STOP").await;
    let path = other.path_of(Move::Capture);
    let captured = async {
        while other.app.post(&path, &json!({ "amount": 1 })).await.status != 201 {}
        let polled = "/lines?limit=1000&after=000000000000000000000000";
        let lists = async || [merchants[1].ids(polled).await, merchants[1].ids(ALL).await];
        while !matches!(lists().await, [polled, all] if polled.len() == all.len()) {}
    };
    timeout(DEADLINE, captured).await.unwrap();
    let [frozen, other] = services;
    frozen.kill().await;
    captures.join_all().await;
    other.data().agrees().await;
    other.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_approval_that_comes_after_the_payment_was_given_up_changes_nothing() {
    let database = Cluster::shared().database();
    let quick = [("PAYMENTS_ACQUIRER_TIMEOUT", "4s")];
    let slow = [quick[0], ("PAYMENTS_SANDBOX_DELAY", "3s")];
    let healthy = Stopped::on(Some(database.clone()), &quick).start().await;
    let frozen = Stopped::on(Some(database.clone()), &slow).start().await;
    let merchant = healthy.merchant().await;
    let original = merchant.pay("EUR", 1000).await;
    let there = merchant.by(&merchant.app.at(&frozen));
    let body = json!({ "transactionId": original.id, "currency": "EUR", "amount": 100 });
    let path = merchant.path("/transactions");
    let failed = || merchant.list("/transactions?limit=10&filter[successful]=no");

    // Freezes while the acquirer processes the payment, until the other service gives it up.
    let asked = tokio::spawn({
        let (app, path, body) = (there.app.clone(), path.clone(), body.clone());
        async move { app.post_once("key", &path, &body).await }
    });
    let begun = async {
        while database.run("SELECT count(*) FROM pending_payments") != "1" {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(DEADLINE, begun).await.unwrap();
    frozen.process().signal("STOP").await;
    let given_up = async {
        while failed().await.is_empty() {
            sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(DEADLINE, given_up).await.unwrap();
    frozen.process().signal("CONT").await;

    asked.await.unwrap().refused(503, "outcome_unknown");
    let again = merchant.app.post_once("key", &path, &body).await;
    assert_eq!(failed().await.len(), 1);
    assert_eq!(ids(&failed().await), [again.declined(12)]);
    assert_eq!(merchant.list("/transactions?limit=10").await.len(), 2);
    agree([healthy, frozen]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clock_that_is_ahead_expires_nothing_early() {
    let database = Cluster::shared().database();
    let slow = [("PAYMENTS_SANDBOX_DELAY", "4s"), ("PAYMENTS_ACQUIRER_TIMEOUT", "20s")];
    let healthy = Stopped::on(Some(database.clone()), &slow).start().await;
    let merchant = healthy.merchant().await;
    let pending = merchant.pay("EUR", 1000).await;
    let asked = tokio::spawn({
        let merchant = merchant.clone();
        async move { merchant.pay("EUR", 100).await }
    });
    while database.run("SELECT count(*) FROM pending_payments") != "1" {
        sleep(Duration::from_millis(10)).await;
    }
    let ahead = Stopped::on(Some(database.clone()), &[("PAYMENTS_AUTHORIZATION_TTL", "30m")]);
    let mut command = ahead.command();
    shift_clock(&mut command, "+1h");
    let ahead = ahead.start_with(command).await;
    let there = merchant.app.at(&ahead);
    let paid = asked.await.unwrap();
    assert_eq!(paid.by(&there).fetch().await["pendingAmount"], 100);
    assert_eq!(pending.by(&there).fetch().await["pendingAmount"], 1000);
    paid.by(&there).capture(100).await;
    agree([healthy, ahead]).await;
}

#[tokio::test]
async fn two_services_pay_a_link_with_once_only_once() {
    let (database, services) = two(&[]).await;
    let [merchant, _] = shared(&services).await;
    let secret = merchant.link_secret().await;
    for number in 0..5 {
        let link = Link::to(&merchant).with("reference", &number.to_string()).with("once", "y");
        let link = link.sign(&secret).await;
        let forms = join_all((0..8).map(|number| services[number % 2].open(&link))).await;
        let sent = forms.iter().enumerate();
        let sent = sent.map(|(number, form)| services[number % 2].send_card(form, Card::VISA));
        let answers: Vec<u16> = join_all(sent).await.iter().map(|one| one.status.into()).collect();
        let count = |status| answers.iter().filter(|one| **one == status).count();
        assert_eq!((count(303), count(410)), (1, 7), "{answers:?}");
    }
    assert_eq!(merchant.list("/transactions?limit=100").await.len(), 5);
    drop(services);
    Stopped::on(Some(database), &[]).agrees().await;
}

#[tokio::test]
async fn every_service_recognizes_the_browser_that_paid() {
    let (_database, services) = two(&[]).await;
    let [merchant, _] = shared(&services).await;
    let form = services[0].open(&Link::to(&merchant)).await;
    assert_eq!(next(&services[1].send_card(&form, Card::VISA).await), form);
    for service in &services {
        assert!(service.show(&form).await.expect(200).text().contains("Payment successful"));
        let stranger = service.in_browser("browser=9b0f7c1e-7d0a-4a53-9d0c-3c5f8c2a9b11");
        let _ = stranger.show(&form).await.expect(410);
    }
}
