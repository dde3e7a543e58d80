//! Acknowledged requests survive every end of the service or of the database.

use std::sync::{Arc, Mutex};

use blackbox::{
    payments::{App, Card, Merchant, Move, Service, Stopped, Transaction, int},
    postgres::Cluster,
    process::DEADLINE,
    soak::{rounds, seed},
};
use rand::{RngExt as _, SeedableRng as _, rngs::StdRng};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::{
    sync::watch,
    task::JoinSet,
    time::{sleep, timeout},
};

use crate::postgres::is_ready;

/// Number of concurrent writers.
const WRITERS: u64 = 8;

/// The acknowledged state of one transaction.
#[derive(Clone)]
struct Record {
    id: String,
    /// The transaction in the last answer.
    shown: Value,
    /// Whether a request for a step is unanswered.
    open: bool,
}

/// Pays and moves until a request stays unanswered.
async fn write(merchant: Merchant, rng: u64, answered: Arc<watch::Sender<usize>>) -> Vec<Record> {
    let mut rng = StdRng::seed_from_u64(rng);
    let mut records = Vec::new();
    while let Some(id) = pay(&merchant).await {
        answered.send_modify(|count| *count += 1);
        records.push(Record { id, shown: json!({ "trail": [] }), open: false });
        let record = records.last_mut().unwrap();
        for movement in [Move::Capture, Move::Refund, Move::Void, Move::Capture] {
            let amount = rng.random_range(1..100);
            record.open = true;
            let Some(shown) = make(&merchant.app, &record.id, movement, amount).await else {
                return records;
            };
            answered.send_modify(|count| *count += 1);
            record.open = false;
            record.shown = shown.unwrap_or_else(|| record.shown.clone());
        }
    }
    records
}

/// Starts writers, which run until a request stays unanswered. Returns after some answers.
async fn load(merchant: &Merchant, rng: &mut StdRng) -> JoinSet<Vec<Record>> {
    let (sender, mut answered) = watch::channel(0);
    let sender = Arc::new(sender);
    let mut writers = JoinSet::new();
    for _ in 0..WRITERS {
        writers.spawn(write(merchant.clone(), rng.random(), Arc::clone(&sender)));
    }
    let enough = rng.random_range(50..400);
    let enough = answered.wait_for(|answered| *answered >= enough);
    timeout(DEADLINE * 2, enough).await.unwrap().unwrap();
    writers
}

/// Returns the id of a new transaction. `None` if the request was not answered or got a 503.
async fn pay(merchant: &Merchant) -> Option<String> {
    let body = merchant.payment(Card::VISA, "EUR", 1000);
    let request = merchant.app.customer("/transactions").json(&body);
    let answer = request.attempt().await?;
    (answer.status != 503).then(|| merchant.transaction(&answer.expect(201)).id)
}

/// Makes a step. Returns the transaction, `Some(None)` if the step was rejected, and `None` if the
/// outcome is unknown: no answer, or a 503.
async fn make(app: &App, id: &str, movement: Move, amount: i64) -> Option<Option<Value>> {
    let path = format!("/transactions/{id}/{}s", movement.name());
    let request = app.request(Method::POST, &path).json(&json!({ "amount": amount }));
    let answer = request.attempt().await?;
    match answer.status.as_u16() {
        201 => Some(Some(answer.json()["transaction"].clone())),
        400 => Some(None),
        503 => None,
        _ => panic!("{answer:?}"),
    }
}

/// Checks that the transaction equals its last answer, plus at most the unanswered step.
async fn is_kept(merchant: &Merchant, record: &Record) {
    let transaction = Transaction { app: merchant.app.clone(), id: record.id.clone() };
    let fetched = transaction.fetch().await;
    let trail = |value: &Value| value["trail"].as_array().unwrap().clone();
    let (now, then) = (trail(&fetched), trail(&record.shown));
    assert!(now.starts_with(&then), "{fetched}\nwas {}", record.shown);
    assert!(now.len() <= then.len() + usize::from(record.open), "{fetched}\nwas {}", record.shown);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_service_killed_under_load_keeps_acknowledged_requests() {
    let seed = seed();
    println!("SEED={seed}");
    let mut rng = StdRng::seed_from_u64(seed);
    let mut service = Service::with(&[]).await;
    let mut merchant = service.merchant().await;
    let mut all = Vec::new();
    for _ in 0..rounds(2, 100) {
        let writers = load(&merchant, &mut rng).await;
        let place = service.kill().await;
        all.extend(writers.join_all().await.into_iter().flatten());
        place.agrees().await;
        service = place.start().await;
        merchant = merchant.by(&merchant.app.at(&service));
        for record in &all {
            is_kept(&merchant, record).await;
        }
        merchant.sum_of_lines().await;
    }
    assert!(!all.is_empty());
    service.stop().await.agrees().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_crashed_under_load_keeps_acknowledged_requests() {
    let seed = seed();
    println!("SEED={seed}");
    let mut rng = StdRng::seed_from_u64(seed);
    let cluster = Cluster::start();
    let service = Stopped::on(Some(cluster.database()), &[]).start().await;
    let merchant = service.merchant().await;
    let mut all = Vec::new();
    for _ in 0..rounds(2, 50) {
        let writers = load(&merchant, &mut rng).await;
        cluster.crash();
        all.extend(writers.join_all().await.into_iter().flatten());
        cluster.resume();
        is_ready(&service, 200).await;
        for record in &all {
            is_kept(&merchant, record).await;
        }
        merchant.sum_of_lines().await;
    }
    assert!(!all.is_empty());
    service.stop().await.agrees().await;
}

#[tokio::test]
async fn everything_is_kept_after_a_stop() {
    let service = Service::with(&[]).await;
    let merchant = service.merchant().await;
    let transaction = merchant.pay("EUR", 1000).await;
    transaction.capture(300).await;
    let card = format!("/cards/{}", merchant.save_card(&transaction).await);
    merchant.invite("ben@shop.example").await;
    let paths = [
        "/me".to_owned(),
        merchant.path(""),
        merchant.path("/users?limit=10"),
        merchant.path("/apps?limit=10"),
        merchant.path("/lines?limit=10"),
        merchant.path("/transactions?limit=10"),
        transaction.path(),
        card,
    ];
    let mut before = Vec::new();
    for path in &paths {
        before.push(merchant.app.get(path).await.expect(200).body);
    }
    let service = service.stop().await.start().await;
    let app = merchant.app.at(&service);
    for (path, before) in paths.iter().zip(before) {
        assert_eq!(app.get(path).await.expect(200).body, before, "{path}");
    }
    let newer = merchant.by(&app).pay("EUR", 1000).await;
    assert!(newer.id > transaction.id);
    transaction.by(&app).capture(700).await;
}

#[tokio::test]
async fn requests_in_flight_are_finished_when_the_service_stops() {
    let service = Service::with(&[]).await;
    let merchant = service.merchant().await;
    let transaction = merchant.pay("EUR", 100_000).await;
    let acknowledged = Arc::new(Mutex::new(0));
    let mut tasks = JoinSet::new();
    for _ in 0..8 {
        let (app, id) = (merchant.app.clone(), transaction.id.clone());
        let acknowledged = Arc::clone(&acknowledged);
        tasks.spawn(async move {
            while let Some(shown) = make(&app, &id, Move::Capture, 1).await {
                assert!(shown.is_some());
                *acknowledged.lock().unwrap() += 1;
            }
        });
    }
    let started = async {
        while *acknowledged.lock().unwrap() < 50 {
            sleep(std::time::Duration::from_millis(5)).await;
        }
    };
    timeout(DEADLINE, started).await.unwrap();
    let service = service.stop().await.start().await;
    tasks.join_all().await;
    let transaction = transaction.by(&merchant.app.at(&service));
    let captured = int(&transaction.fetch().await["capturedAmount"]);
    assert_eq!(captured, *acknowledged.lock().unwrap());
}
