//! Hundreds of concurrent requests: no limit is exceeded, and the books agree afterwards.

use std::{collections::HashMap, time::Instant};

use blackbox::{
    payments::{Merchant, Move, Refusal as _, Service, Transaction, int},
    soak::{rounds, seed},
};
use futures_util::{
    StreamExt as _,
    future::{join_all, ready},
    stream,
};
use rand::{RngExt as _, SeedableRng as _, rngs::StdRng};
use serde_json::{Value, json};
use tokio::time::timeout;

/// Number of concurrent requests.
const AT_ONCE: usize = 64;

/// A move of a transaction and its amount.
type Step = (Move, i64);

/// Requests all steps concurrently, and returns those that were made. The others must have been
/// rejected because of their amount.
async fn run_concurrently(transaction: &Transaction, steps: Vec<Step>) -> Vec<Step> {
    let made = stream::iter(steps).map(async |(movement, amount)| {
        let answer = transaction.ask_with_retries(movement, &json!({ "amount": amount })).await;
        if answer.status == 201 {
            return Some((movement, amount));
        }
        answer.names(&["amount"]);
        None
    });
    made.buffer_unordered(AT_ONCE).filter_map(ready).collect().await
}

fn sum(steps: &[Step], movement: Move) -> i64 {
    steps.iter().filter(|(made, _)| *made == movement).map(|(_, amount)| amount).sum()
}

/// Checks that counters and trail show exactly these steps.
fn holds_exactly(transaction: &Value, made: &[Step]) {
    for movement in Move::ALL {
        assert_eq!(int(&transaction[movement.counter()]), sum(made, movement), "{transaction}");
    }
    let mut counts = HashMap::<Step, i64>::new();
    for &step in made {
        *counts.entry(step).or_default() += 1;
    }
    for step in transaction["trail"].as_array().unwrap() {
        let movement =
            Move::ALL.into_iter().find(|movement| step[movement.name()] == true).unwrap();
        *counts.entry((movement, int(&step["amount"]))).or_default() -= 1;
    }
    assert!(counts.values().all(|&count| count == 0), "{counts:?}");
}

/// Checks that the lines equal those of the trails and add up to the balance.
async fn lines_agree(merchant: &Merchant, transactions: &[Value]) {
    let trails =
        transactions.iter().flat_map(|transaction| transaction["trail"].as_array().unwrap());
    let mut booked: Vec<_> = trails.filter(|step| step["void"] != true).collect();
    booked.sort_by_key(|step| step["lineId"].as_str().unwrap());
    let mut lines = merchant.list("/lines?limit=1000").await;
    lines.reverse();
    assert_eq!(lines.len(), booked.len());
    for (line, step) in lines.iter().zip(booked) {
        assert_eq!((&line["id"], &line["balance"]), (&step["lineId"], &step["balance"]));
        assert_eq!(int(&line["amount"]["amount"]).abs(), int(&step["amount"]));
    }
    merchant.sum_of_lines().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_movements_pass_no_limit_and_add_up() {
    let service = Service::any().await;
    let seed = seed();
    println!("SEED={seed}");
    let mut rng = StdRng::seed_from_u64(seed);
    for _ in 0..rounds(2, 50) {
        let merchant = service.merchant().await;
        let transaction = merchant.pay("EUR", 10_000).await;
        let steps = (0..300).map(|_| {
            let amount = rng.random_range(1..200);
            (Move::ALL[rng.random_range(0..3)], amount)
        });
        let made = run_concurrently(&transaction, steps.collect()).await;
        let after = transaction.fetch().await;
        holds_exactly(&after, &made);
        let [captured, refunded, voided] = Move::ALL.map(|movement| sum(&made, movement));
        assert!(captured + voided <= 10_000 && refunded <= captured, "{after}");
        lines_agree(&merchant, &[after]).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn exactly_as_many_captures_as_fit_are_made() {
    let service = Service::any().await;
    let merchant = service.merchant().await;
    let transaction = merchant.pay("EUR", 505).await;
    let made = run_concurrently(&transaction, vec![(Move::Capture, 10); 200]).await;
    assert_eq!(made.len(), 50);
    let made = run_concurrently(&transaction, vec![(Move::Refund, 7); 200]).await;
    assert_eq!(made.len(), 71);
    let made = run_concurrently(&transaction, vec![(Move::Void, 1); 50]).await;
    assert_eq!(made.len(), 5);
    let after = transaction.fetch().await;
    assert_eq!(int(&after["pendingAmount"]), 0);
    lines_agree(&merchant, &[after]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn captures_and_voids_share_the_pending_amount() {
    let service = Service::any().await;
    let transaction = service.merchant().await.pay("EUR", 100).await;
    let halves = [(Move::Capture, 100), (Move::Void, 100)].repeat(50);
    let made = run_concurrently(&transaction, halves).await;
    assert_eq!(made.len(), 1, "{made:?}");
    holds_exactly(&transaction.fetch().await, &made);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_transactions_of_one_merchant_at_once_add_up() {
    let service = Service::any().await;
    let merchant = service.merchant().await;
    let transactions = join_all((0..20).map(async |number| {
        let transaction = merchant.pay("EUR", 1000 + number).await;
        let steps = (0..10).map(|step| (Move::ALL[step % 3], 90)).collect();
        let made = run_concurrently(&transaction, steps).await;
        let after = transaction.fetch().await;
        holds_exactly(&after, &made);
        after
    }));
    lines_agree(&merchant, &transactions.await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_answer_shows_a_state_that_existed() {
    let service = Service::any().await;
    let transaction = service.merchant().await.pay("EUR", 1000).await;
    let captures = join_all((0..50).map(|_| transaction.capture(10))).await;
    let mut lengths: Vec<_> =
        captures.iter().map(|shown| shown["trail"].as_array().unwrap().len()).collect();
    lengths.sort_unstable();
    assert!(lengths.into_iter().eq(1..=50), "an answer does not end with its own step");
    for shown in &captures {
        let trail = shown["trail"].as_array().unwrap();
        assert_eq!(int(&shown["capturedAmount"]), 10 * i64::try_from(trail.len()).unwrap());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replays_equal_the_first_answers() {
    let service = Service::with(&[]).await;
    let merchant = service.merchant().await;
    let transactions = join_all((0..4).map(|_| merchant.pay("EUR", 10_000))).await;
    let seed = seed();
    println!("SEED={seed}");
    let mut rng = StdRng::seed_from_u64(seed);
    let steps: Vec<_> = (0..rounds(100, 10_000))
        .map(|_| (rng.random_range(0..4), Move::ALL[rng.random_range(0..3)]))
        .enumerate()
        .collect();
    let ask = async |(number, (transaction, movement)): (usize, (usize, Move))| {
        let transaction: &Transaction = &transactions[transaction];
        let (key, body) = (number.to_string(), json!({ "amount": 1 + number % 90 }));
        let answer = merchant.app.post_once(&key, &transaction.path_of(movement), &body).await;
        (answer.status, answer.text().to_owned())
    };
    let first: Vec<_> = stream::iter(steps.clone()).map(ask).buffered(AT_ONCE).collect().await;
    assert!(first.iter().any(|(status, _)| *status == 201));
    let again: Vec<_> = stream::iter(steps).map(ask).buffered(AT_ONCE).collect().await;
    for (first, again) in first.iter().zip(&again).filter(|(first, _)| first.0 == 201) {
        assert_eq!(first, again);
    }
    service.stop().await.agrees().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn aborted_and_retried_captures_are_made_once() {
    let service = Service::with(&[]).await;
    let transaction = service.merchant().await.pay("EUR", 1_000_000).await;
    let seed = seed();
    println!("SEED={seed}");
    let mut rng = StdRng::seed_from_u64(seed);
    let count = rounds(100, 10_000);
    let (path, body) = (transaction.path_of(Move::Capture), json!({ "amount": 10 }));
    let ask =
        async |number: usize| transaction.app.post_once(&number.to_string(), &path, &body).await;
    // However busy the machine is, some requests end in time, and some do not.
    let begun = Instant::now();
    drop(ask(count).await.expect(201));
    let took = begun.elapsed();
    let patience: Vec<_> =
        (0..count).map(|_| took * rng.random_range(0_u32..8).pow(3) / 4).enumerate().collect();
    let answered = stream::iter(patience)
        .map(async |(number, patience)| timeout(patience, ask(number)).await.is_ok());
    let answered: Vec<_> = answered.buffer_unordered(AT_ONCE).collect().await;
    assert!(
        answered.contains(&true) && answered.contains(&false),
        "all requests were aborted, or none"
    );
    let again = stream::iter(0..=count).map(ask).buffer_unordered(AT_ONCE);
    again.for_each(async |answer| drop(answer.expect(201))).await;
    let captured = int(&transaction.fetch().await["capturedAmount"]);
    assert_eq!(captured, 10 * i64::try_from(count + 1).unwrap());
    service.stop().await.agrees().await;
}
