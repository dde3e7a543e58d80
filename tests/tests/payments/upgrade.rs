//! A rolling upgrade over a migration. By default, the older replicas are of this version, and SQL
//! does what the migration of a later version may do. With `PREVIOUS_PROGRAMS`, the older replicas
//! are of the version before the newest migration, and replicas of this version migrate.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use blackbox::{
    payments::{Move, PROGRAM, SECRET, Service, Stopped, Transaction, int},
    postgres::{Cluster, Database},
    process::DEADLINE,
    soak::previous,
};
use futures_util::future::join_all;
use serde_json::json;
use tokio::{
    task::JoinHandle,
    time::{Duration, Instant, sleep, timeout},
};

use crate::postgres::write_everything;

/// Transactions that are captured without pause.
struct Shift {
    tasks: Vec<JoinHandle<usize>>,
    captured: Arc<AtomicUsize>,
    is_over: Arc<AtomicBool>,
}

impl Shift {
    /// Captures 1 of each transaction again and again, through the services in turn. `made` has the
    /// number of earlier captures of each transaction.
    fn start(transactions: &[Transaction], made: &[usize], services: &[&Service]) -> Self {
        let (captured, is_over) = (Arc::<AtomicUsize>::default(), Arc::<AtomicBool>::default());
        let start = |(transaction, &made): (&Transaction, _)| {
            let by = |service: &&Service| transaction.by(&transaction.app.at(service));
            let replicas = services.iter().map(by).collect();
            tokio::spawn(capture(replicas, made, Arc::clone(&captured), Arc::clone(&is_over)))
        };
        let tasks = transactions.iter().zip(made).map(start).collect();
        Self { tasks, captured, is_over }
    }

    /// Waits until `count` more captures are confirmed.
    async fn captured(&self, count: usize) {
        let enough = self.captured.load(Ordering::Relaxed) + count;
        let captured = async {
            while self.captured.load(Ordering::Relaxed) < enough {
                sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(DEADLINE, captured).await.unwrap();
    }

    /// Stops after the current captures. Returns how many there are of each transaction.
    async fn stop(self) -> Vec<usize> {
        self.is_over.store(true, Ordering::Relaxed);
        join_all(self.tasks).await.into_iter().map(Result::unwrap).collect()
    }
}

/// Captures 1 until the end. A capture that gets 503 is repeated at the next replica with its key,
/// so each of them succeeds exactly once.
async fn capture(
    replicas: Vec<Transaction>,
    made: usize,
    captured: Arc<AtomicUsize>,
    is_over: Arc<AtomicBool>,
) -> usize {
    let mut number = made;
    while !is_over.load(Ordering::Relaxed) {
        let key = format!("{}-{number}", replicas[0].id);
        let begun = Instant::now();
        for attempt in number.. {
            let replica = &replicas[attempt % replicas.len()];
            let path = replica.path_of(Move::Capture);
            let answer = replica.app.post_once(&key, &path, &json!({ "amount": 1 })).await;
            if answer.status == 201 {
                break;
            }
            let _ = answer.expect(503);
            assert!(begun.elapsed() < DEADLINE, "no capture succeeds");
            sleep(Duration::from_millis(20)).await;
        }
        number += 1;
        captured.fetch_add(1, Ordering::Relaxed);
    }
    number
}

/// Starts two replicas of the older version.
async fn older(database: &Database) -> [Service; 2] {
    let program = previous(PROGRAM).unwrap_or(PROGRAM.to_owned());
    let start = |_| Stopped::on(Some(database.clone()), &[SECRET]).run_by(program.clone()).start();
    join_all((0..2).map(start)).await.try_into().unwrap()
}

/// Migrates to the newer version. Returns its replicas, if that version exists.
async fn migrate(database: &Database) -> Vec<Service> {
    if previous(PROGRAM).is_none() {
        database.migrate_as_a_later_version().await;
        return Vec::new();
    }
    join_all((0..2).map(|_| Stopped::on(Some(database.clone()), &[SECRET]).start())).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn older_replicas_lose_nothing_while_a_newer_version_migrates() {
    let database = Cluster::shared().database();
    let services = older(&database).await;
    // Their connections prepare every statement before the migration.
    for service in &services {
        write_everything(service).await;
    }
    let merchant = services[0].merchant().await;
    let transactions = join_all((0..8).map(|_| merchant.pay("EUR", 1_000_000))).await;
    let [one, two] = &services;
    let shift = Shift::start(&transactions, &[0; 8], &[one, two]);
    shift.captured(40).await;
    let newer = migrate(&database).await;
    shift.captured(40).await;
    let made = shift.stop().await;

    let all: Vec<_> = [one, two].into_iter().chain(&newer).collect();
    let shift = Shift::start(&transactions, &made, &all);
    for service in &all {
        write_everything(service).await;
    }
    for service in &all {
        let app = service.app().await;
        for other in &all {
            let _ = app.at(other).get("/me").await.expect(200);
        }
    }
    shift.captured(40).await;
    let made = shift.stop().await;
    for service in &all {
        for (transaction, made) in transactions.iter().zip(&made) {
            let seen = transaction.by(&transaction.app.at(service)).fetch().await;
            assert_eq!(int(&seen["capturedAmount"]), i64::try_from(*made).unwrap());
        }
    }
    all[all.len() - 1].data().agrees().await;
    let [_, two] = services;
    // A roll back.
    let two = two.stop().await.start().await;
    write_everything(&two).await;
    two.data().agrees().await;
}
