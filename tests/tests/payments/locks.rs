//! Several services on one PostgreSQL database: they wait only a
//! limited time for each other's rows.

use std::time::{Duration, Instant};

use blackbox::{
    payments::{
        Acquirer, Card, Merchant, Move, SECRET, Service, Stopped, Transaction, email, ids, minimal,
    },
    postgres::{Cluster, Database},
    process::{self, DEADLINE},
    soak::{rounds, seed},
};
use futures_util::{StreamExt as _, future::join_all, stream};
use rand::{RngExt as _, SeedableRng as _, rngs::StdRng};
use serde_json::json;
use tokio::{
    sync::watch,
    task::spawn_blocking,
    time::{sleep, timeout},
};

use crate::{
    replicas::{agree, two_on},
    returns::return_all,
};

/// Runs a query that returns one number.
fn number(database: &Database, sql: &str) -> i64 {
    let output = database.run(sql);
    output.parse().unwrap_or_else(|_| panic!("{sql}: {output}"))
}

/// A merchant with a bank account and some transactions. Pairs have one handle for each service.
struct Shop {
    merchant: [Merchant; 2],
    transactions: Vec<[Transaction; 2]>,
    emails: Vec<String>,
}

impl Shop {
    async fn at(services: &[Service; 2]) -> Self {
        let mut body = minimal();
        body["test"] = true.into();
        body["bank"] = json!({ "iban": "DK5000400440116243", "holder": "Ann" });
        let merchant = services[0].app().await.merchant_with(&body).await;
        let there = merchant.app.at(&services[1]);
        let mut transactions = Vec::new();
        for _ in 0..4 {
            let transaction = merchant.pay("EUR", 1_000_000).await;
            transactions.push([transaction.clone(), transaction.by(&there)]);
        }
        let emails = (0..4).map(|_| email()).collect();
        Self { merchant: [merchant.clone(), merchant.by(&there)], transactions, emails }
    }

    /// Sends one request of this kind to one of the services. Checks that the status is an expected
    /// one, or 503.
    async fn send(&self, services: &[Service; 2], (kind, one, other): (u8, usize, usize)) {
        let replica = one % 2;
        let (merchant, app) = (&self.merchant[replica], &self.merchant[replica].app);
        let transaction = &self.transactions[other % self.transactions.len()][replica];
        let email = &self.emails[other % self.emails.len()];
        let repeat = json!({ "transactionId": transaction.id, "currency": "EUR", "amount": 5 });
        let amount = json!({ "amount": 1 + other });
        let key = format!("key {other}");
        let (answer, expected): (_, &[u16]) = match kind {
            0..8 => {
                let movement = Move::ALL[usize::from(kind) % 3];
                (transaction.ask(movement, &amount).await, &[201, 400])
            }
            8 => {
                let path = transaction.path_of(Move::Capture);
                (app.post_once(&key, &path, &json!({ "amount": 7 })).await, &[201, 409, 422])
            }
            9 => {
                let path = merchant.path("/transactions");
                (app.post_once(&format!("of {key}"), &path, &repeat).await, &[201, 409, 422])
            }
            10 => {
                let acquirer = Acquirer(&services[replica]);
                let dispute = acquirer.open(transaction, 3).await;
                let how = if other % 2 == 0 { "won" } else { "lost" };
                acquirer.end(transaction, &dispute, how).await;
                return;
            }
            11 => (merchant.post("/users", &json!({ "email": email })).await, &[201]),
            12 => {
                let Some(user) = merchant.ids("/users?limit=10").await.pop() else { return };
                (app.delete(&merchant.path(&format!("/users/{user}"))).await, &[204, 403, 404])
            }
            13 => (app.put(&merchant.path(""), &json!({ "email": email })).await, &[204]),
            14 => (app.post("/apps/me/keys", &json!({})).await, &[201, 400]),
            15 => {
                let keys = ids(&app.list("/apps/me/keys?limit=100").await);
                let Some(key) = keys.iter().find(|id| **id != app.id) else { return };
                (app.delete_key(key).await, &[204, 404])
            }
            _ => {
                let card = json!({ "transactionId": transaction.id });
                (merchant.post("/cards", &card).await, &[201])
            }
        };
        let status = answer.status.as_u16();
        assert!(status == 503 || expected.contains(&status), "kind {kind}: {answer:?}");
        if status == 503 {
            answer.refused(503, "store_busy");
        }
    }
}

/// Number of kinds in [`Shop::send`].
const KINDS: u8 = 17;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_services_under_every_kind_of_load_never_deadlock() {
    let (database, services) = two_on(Cluster::apart().database(), &[SECRET]).await;
    // PostgreSQL looks for a deadlock after a session has waited this long.
    database.set("deadlock_timeout = 50");
    let shop = Shop::at(&services).await;
    let seed = seed();
    println!("SEED={seed}");
    let mut rng = StdRng::seed_from_u64(seed);
    let drawn = (0..rounds(300, 100_000))
        .map(|_| (rng.random_range(0..KINDS), rng.random_range(0..2), rng.random_range(0..40)));
    let drawn: Vec<_> = drawn.collect();
    let requests =
        stream::iter(drawn).for_each_concurrent(128, |drawn| shop.send(&services, drawn));
    let payouts = async {
        for day in 1..=5 {
            let place = services[day % 2].data();
            let mut command = place.command();
            command.args(["payout", "--test", "--day", &format!("2026-01-0{day}"), "--csv"]);
            command.arg(place.data().join("transfers.csv"));
            let ended = process::run(command).await;
            assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
            return_all(place, &place.data().join("transfers.csv")).await;
        }
    };
    let ((), ()) = tokio::join!(requests, payouts);
    let postponed =
        services.iter().map(|service| service.metric("payments_writes_postponed_total"));
    let postponed = join_all(postponed).await;
    assert!(postponed.iter().sum::<u64>() > 0, "no request waited for the other service");
    agree(services).await;
    let deadlocks = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()";
    assert_eq!(number(&database, deadlocks), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn locked_rows_delay_only_their_own_transactions() {
    let (database, [service, other]) = two_on(Cluster::apart().database(), &[]).await;
    let merchant = service.merchant().await;
    let pay = |_| merchant.pay("EUR", 1_000_000);
    let held = join_all((0..64).map(pay)).await;
    let free = join_all((0..4).map(pay)).await;
    // Simulates a service that froze between reading its rows and writing them.
    database.run("CREATE TABLE released AS SELECT WHERE false");
    let ids: Vec<_> = held.iter().map(|held| format!("'\\x{}'", held.id)).collect();
    let hold = format!(
        "BEGIN; SELECT FROM transactions WHERE id IN ({}) FOR UPDATE;
         DO $$BEGIN FOR tenth IN 1 .. 6000 LOOP
             EXIT WHEN EXISTS (SELECT FROM released);
             PERFORM pg_sleep(0.1);
         END LOOP; END$$; COMMIT",
        ids.join(", ")
    );
    let holder = spawn_blocking({
        let database = database.clone();
        move || database.run(&hold)
    });
    let is_held = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
                   AND wait_event = 'PgSleep' AND query LIKE 'BEGIN; SELECT FROM transactions%'";
    while number(&database, is_held) == 0 {
        sleep(Duration::from_millis(20)).await;
    }
    let capture = json!({ "amount": 1 });
    let stuck = held.iter().map(|held| held.ask(Move::Capture, &capture));
    let (over, waiting) = watch::channel(());
    let stuck = async {
        let answers = join_all(stuck).await;
        drop(over);
        answers
    };
    let others = free.iter().map(async |free| {
        let mut captures = 0;
        while waiting.has_changed().is_ok() {
            free.capture(1).await;
            captures += 1;
        }
        captures
    });
    let (stuck, others) = tokio::join!(stuck, join_all(others));
    assert_eq!(number(&database, is_held), 1, "the rows were locked all the time");
    for answer in stuck {
        answer.refused(503, "store_busy");
        service.process().logged(|line| line.contains(r#""holder.application":"psql""#)).await;
        assert!(answer.header("retry-after").is_some(), "{answer:?}");
    }
    // While some requests waited until they were refused, each of the others was served.
    assert!(others.iter().all(|captures| *captures > 1), "{others:?}");
    database.run("INSERT INTO released DEFAULT VALUES");
    holder.await.unwrap();
    for held in &held {
        assert_eq!(held.fetch().await["capturedAmount"], 0);
    }
    held[0].capture(1).await;
    agree([service, other]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_services_make_progress_on_one_transaction() {
    let (_, services) = two_on(Cluster::apart().database(), &[]).await;
    let merchant = services[0].merchant().await;
    let transaction = merchant.pay("EUR", 1_000_000_000).await;
    let there = transaction.by(&merchant.app.at(&services[1]));
    let long = Duration::from_secs(2);
    let begun = Instant::now();
    let capture = async |transaction: &Transaction| {
        let mut captures = 0;
        while begun.elapsed() < long {
            let _ = transaction.ask(Move::Capture, &json!({ "amount": 1 })).await.expect(201);
            captures += 1;
        }
        captures
    };
    let of = async |transaction: &Transaction| {
        let captures = join_all((0..16).map(|_| capture(transaction))).await;
        captures.into_iter().sum::<u32>()
    };
    let (here, there) = tokio::join!(of(&transaction), of(&there));
    let (least, all) = (here.min(there), here + there);
    assert!(least * 5 >= all, "one service made only {least} of {all} captures");
    agree(services).await;
}

/// Counts the disputes and the fraud alerts of a transaction.
async fn notifications(transaction: &Transaction) -> [usize; 2] {
    let merchant = &transaction.fetch().await["merchantId"];
    let merchant = merchant.as_str().unwrap();
    let of =
        format!("?limit=10&filter[merchantId]={merchant}&filter[transactionId]={}", transaction.id);
    let list = async |path: &str| transaction.app.list(&format!("{path}{of}")).await.len();
    [list("/disputes").await, list("/frauds").await]
}

async fn is_notified(transaction: &Transaction) {
    let notified = async {
        while notifications(transaction).await != [1, 1] {
            sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(DEADLINE, notified).await.unwrap();
}

const OUTBOX: &str = "SELECT count(*) FROM outbox";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_notification_that_cannot_be_booked_is_booked_later() {
    let database = Cluster::apart().database();
    let service = Stopped::on(Some(database.clone()), &[]).start().await;
    let merchant = service.merchant().await;
    let transaction = merchant.pay_with(Card("4100000000000103"), "EUR", 1000).await;
    let holder = spawn_blocking({
        let database = database.clone();
        move || {
            database
                .run("BEGIN; LOCK TABLE fraud_alerts IN SHARE MODE; SELECT pg_sleep(10); COMMIT")
        }
    });
    let is_held = "SELECT count(*) FROM pg_stat_activity
                   WHERE datname = current_database() AND wait_event = 'PgSleep'";
    while number(&database, is_held) == 0 {
        sleep(Duration::from_millis(20)).await;
    }
    transaction.capture(100).await;
    let failed = |line: &str| line.contains("booking a notification");
    service.process().logged(failed).await;
    assert_eq!(number(&database, OUTBOX), 1, "the entry was confirmed too early");
    holder.await.unwrap();
    is_notified(&transaction).await;
    let confirmed = async {
        while number(&database, OUTBOX) > 0 {
            sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(DEADLINE, confirmed).await.unwrap();
    assert_eq!(notifications(&transaction).await, [1, 1]);
    service.stop().await.agrees().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_service_instructs_acquirers_when_one_freezes() {
    let (database, services) = two_on(Cluster::apart().database(), &[]).await;
    let merchant = services[0].merchant().await;
    for frozen in [0, 1] {
        let transaction = merchant.pay_with(Card("4100000000000103"), "EUR", 1000).await;
        let healthy = &services[1 - frozen];
        services[frozen].process().signal("STOP").await;
        let there = transaction.by(&merchant.app.at(healthy));
        there.capture(100).await;
        is_notified(&there).await;
        services[frozen].process().signal("CONT").await;
    }
    sleep(Duration::from_secs(2)).await;
    let booked = "SELECT count(*) - count(DISTINCT transaction) FROM disputes";
    assert_eq!(number(&database, booked), 0);
    agree(services).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn captures_write_no_index_of_transactions() {
    let database = Cluster::apart().database();
    let service = Stopped::on(Some(database.clone()), &[]).start().await;
    let merchant = service.merchant().await;
    let transaction = merchant.pay("EUR", 1_000_000).await;
    for _ in 0..200 {
        transaction.capture(1).await;
    }
    service.stop().await.agrees().await;
    let cold = "SELECT 100 * (n_tup_upd - n_tup_hot_upd) / n_tup_upd FROM pg_stat_user_tables
                WHERE relname = 'transactions'";
    let cold = number(&database, cold);
    // A full page has no space for new versions of its rows, so some updates cannot be HOT.
    assert!(cold <= 20, "{cold} % of the updates wrote the indexes");
}
