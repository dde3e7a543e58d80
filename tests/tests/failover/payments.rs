//! payments-svc: movements, payments, apps and the books.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicI64, Ordering},
    },
    time::{Duration, Instant},
};

use blackbox::{
    http::Answer,
    payments::{
        App, LOCAL, Merchant, Move, Receiver, Repeats, Service, Stopped, Transaction, WRONG_EVENTS,
        Webhook, accepted, ids, int,
    },
    postgres::Database,
    process::DEADLINE,
};
use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::{task::JoinSet, time::sleep};

use crate::{
    chain::Chain,
    pair::{Pair, Route},
};

/// The pause before a request is repeated that an outage refused.
const PAUSE: Duration = Duration::from_millis(20);

/// The number of requests under one key each.
const REQUESTS: usize = 10;

/// Starts two replicas.
async fn two(url: &str) -> [Service; 2] {
    two_with(url, &[]).await
}

/// Starts two replicas with these settings.
pub(crate) async fn two_with(url: &str, settings: &[(&str, &str)]) -> [Service; 2] {
    let start = |_| Stopped::on(None, settings).with("PAYMENTS_DATABASE_URL", url).start();
    join_all((0..2).map(start)).await.try_into().unwrap()
}

/// Checks the books while each service runs, and again after it has stopped.
async fn agree(services: [Service; 2]) {
    for service in services {
        service.data().passes_check().await;
        service.stop().await.passes_check().await;
    }
}

/// Repeats a request under its key until it has an answer that is final.
async fn settled(app: &App, key: &str, path: &str, body: &Value) -> Answer {
    let begun = Instant::now();
    loop {
        let answer = app.post_once(key, path, body).await;
        if ![409, 503].contains(&answer.status.as_u16()) {
            return answer;
        }
        assert!(begun.elapsed() < DEADLINE, "stays unavailable: {answer:?}");
        sleep(PAUSE).await;
    }
}

/// Six callers. Each captures 1 from its own transaction again and again, at both replicas in turn,
/// and repeats each request under its key until it succeeds.
struct Callers {
    tasks: JoinSet<(Transaction, i64)>,
    captured: Arc<AtomicI64>,
    over: Arc<AtomicBool>,
}

impl Callers {
    async fn start(merchant: &Merchant, apps: &[App; 2]) -> Self {
        let (captured, over) = (Arc::<AtomicI64>::default(), Arc::<AtomicBool>::default());
        let mut tasks = JoinSet::new();
        for _ in 0..6 {
            let (transaction, apps) = (merchant.pay("EUR", 1_000_000).await, apps.clone());
            let (captured, over) = (Arc::clone(&captured), Arc::clone(&over));
            tasks.spawn(async move {
                let (path, mut own) = (transaction.path_of(Move::Capture), 0);
                while !over.load(Ordering::Relaxed) {
                    let app = &apps[usize::try_from(own % 2).unwrap()];
                    let key = format!("{path} {own}");
                    let _ = settled(app, &key, &path, &json!({ "amount": 1 })).await.expect(201);
                    own += 1;
                    captured.fetch_add(1, Ordering::Relaxed);
                }
                (transaction, own)
            });
        }
        Self { tasks, captured, over }
    }

    /// Waits until this many more captures have succeeded.
    async fn captured(&self, count: i64) {
        let (before, begun) = (self.captured.load(Ordering::Relaxed), Instant::now());
        while self.captured.load(Ordering::Relaxed) < before + count {
            assert!(begun.elapsed() < DEADLINE, "no capture succeeds");
            sleep(PAUSE).await;
        }
    }

    /// Stops the callers after their current request. Returns their transactions, with the number
    /// of captures that succeeded.
    async fn stop(self) -> Vec<(Transaction, i64)> {
        self.over.store(true, Ordering::Relaxed);
        self.tasks.join_all().await
    }
}

async fn a_synchronous_failover_loses_nothing(route: Route) {
    let pair = Pair::synchronous().await;
    let services = two(&pair.url(route)).await;
    let merchant = services[0].merchant().await;
    let apps = [merchant.app.clone(), merchant.app.at(&services[1])];
    let callers = Callers::start(&merchant, &apps).await;
    callers.captured(100).await;
    pair.fail_over();
    callers.captured(100).await;
    for (transaction, captured) in callers.stop().await {
        for app in &apps {
            let seen = transaction.by(app).fetch().await;
            assert_eq!(int(&seen["capturedAmount"]), captured, "{seen}");
        }
    }
    agree(services).await;
    assert_eq!(pair.survivor().run(WRONG_EVENTS), "0", "events differ from the facts");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_synchronous_failover_at_one_address_loses_nothing() {
    a_synchronous_failover_loses_nothing(Route::Address).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_synchronous_failover_between_hosts_loses_nothing() {
    a_synchronous_failover_loses_nothing(Route::Hosts).await;
}

/// Sends all requests, each under its own key, by the apps in turn. Returns the ids of the
/// transactions in the answers.
async fn send_all(apps: &[App; 2], path: &str, body: &Value) -> Vec<String> {
    let send = async |number: usize| {
        let key = format!("{path} {number}");
        let answer = settled(&apps[number % 2], &key, path, body).await.expect(201);
        answer.json()["transaction"]["id"].as_str().unwrap().to_owned()
    };
    join_all((0..REQUESTS).map(send)).await
}

/// The keys at the acquirer of the payments of 10, and of the captures of a transaction that the
/// outbox has not sent. Both in a fixed order.
fn acquirer_keys(database: &Database, captured: &Transaction) -> Vec<String> {
    let keys = format!(
        "SELECT encode(acquirer_key, 'hex') AS key FROM transactions WHERE amount = 10 UNION ALL
         SELECT encode(acquirer_key, 'hex') FROM outbox
         WHERE movement = 'capture' AND transaction = '\\x{}' ORDER BY key",
        captured.id
    );
    database.run(&keys).lines().map(str::to_owned).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn payments_that_the_standby_lacked_are_not_charged_twice() {
    let pair = Pair::new().await;
    let services = two(&pair.url(Route::Address)).await;
    // Otherwise the services would send the outbox and delete its entries.
    let held = "INSERT INTO leases VALUES ('outbox sandbox', 'a test', 'infinity')
        ON CONFLICT (job) DO UPDATE SET holder = excluded.holder, until = excluded.until";
    pair.database().run(held);
    let merchant = services[0].merchant().await;
    let apps = [merchant.app.clone(), merchant.app.at(&services[1])];
    let (original, captured) = (merchant.pay("EUR", 100).await, merchant.pay("EUR", 100).await);
    let callers = Callers::start(&merchant, &apps).await;
    callers.captured(50).await;
    let captures = callers.stop().await;
    pair.cut();
    let path = merchant.path("/transactions");
    let body = json!({ "transactionId": original.id, "currency": "EUR", "amount": 10 });
    let capture = json!({ "amount": 10 });
    send_all(&apps, &path, &body).await;
    send_all(&apps, &captured.path_of(Move::Capture), &capture).await;
    let (late, app) = (merchant.app.merchant("EUR").await, services[0].app().await);
    for service in &services {
        let _ = late.by(&late.app.at(service)).get("").await.expect(200);
        let _ = app.at(service).get("/me").await.expect(200);
    }
    let doomed = Callers::start(&merchant, &apps).await;
    doomed.captured(50).await;
    pair.fail_over();
    drop(doomed);

    let again = send_all(&[apps[1].clone(), apps[0].clone()], &path, &body).await;
    send_all(&apps, &captured.path_of(Move::Capture), &capture).await;
    let keys = [pair.lost(), pair.survivor()].map(|database| acquirer_keys(&database, &captured));
    assert_eq!(keys[0].len(), 2 * REQUESTS);
    assert!(keys[0].iter().all(|key| key.len() == 64), "{keys:?}");
    assert_eq!(keys[0], keys[1], "the acquirer cannot know that these are repeats");
    pair.survivor().run("DELETE FROM leases WHERE holder = 'a test'");

    let mut expected: Vec<_> = [&original.id, &captured.id].map(Clone::clone).into();
    expected.extend(captures.iter().map(|(transaction, _)| transaction.id.clone()));
    expected.extend(again);
    expected.sort();
    for app in &apps {
        let mut listed = ids(&merchant.by(app).list("/transactions?limit=1000").await);
        listed.sort();
        assert_eq!(listed, expected);
        assert_eq!(captured.by(app).fetch().await["capturedAmount"], 100);
        for (transaction, captured) in &captures {
            let seen = transaction.by(app).fetch().await;
            assert_eq!(int(&seen["capturedAmount"]), *captured, "{seen}");
        }
    }
    for service in &services {
        let _ = late.by(&late.app.at(service)).get("").await.expect(404);
        let _ = app.at(service).get("/me").await.expect(401);
    }
    agree(services).await;
    assert_eq!(pair.survivor().run(WRONG_EVENTS), "0", "events differ from the facts");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn webhooks_receive_every_event_of_the_new_primary() {
    let pair = Pair::new().await;
    let receivers = {
        let first = Receiver::new().await;
        let failing = first.another();
        [first, failing]
    };
    let services = two_with(&pair.url(Route::Hosts), &[receivers[0].trust(), LOCAL]).await;
    let merchant = services[0].merchant().await;
    let apps = [merchant.app.clone(), merchant.app.at(&services[1])];
    let mut webhooks = Vec::new();
    for receiver in &receivers {
        webhooks.push(Webhook::at(&merchant.app, receiver).await);
    }
    let callers = Callers::start(&merchant, &apps).await;
    callers.captured(100).await;
    receivers[0].until(|received| received.len() > 50).await;
    receivers[1].answer(500);
    callers.captured(20).await;
    callers.stop().await;
    // The standby lacks the next events, and the records of their deliveries.
    pair.cut();
    let doomed = Callers::start(&merchant, &apps).await;
    doomed.captured(50).await;
    let lost = receivers[0].received().len() + 20;
    receivers[0].until(|received| received.len() > lost).await;
    drop(doomed);
    pair.fail_over();

    until_up(&merchant.app, &services).await;
    let callers = Callers::start(&merchant, &apps).await;
    callers.captured(50).await;
    callers.stop().await;
    receivers[1].answer(204);
    for (webhook, receiver) in webhooks.iter().zip(&receivers) {
        webhook.restart().await;
        webhook.is_complete(receiver, Repeats::AfterLoss).await;
    }
    let known = webhooks[0].events().await.len();
    assert!(accepted(&receivers[0].received()).len() > known, "no event was lost");
    agree(services).await;
}

/// The last two primaries take over from the same one, so their timelines have the same number.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_app_of_a_lost_timeline_is_known() {
    let chain = Chain::new().await;
    let services = two(&chain.url()).await;
    let known = services[0].app().await;
    chain.second_takes_over();
    until_up(&known, &services).await;
    chain.cut_fourth();
    chain.third_takes_over();
    until_up(&known, &services).await;
    let lost = services[0].app().await;
    until_up(&lost, &services).await;
    chain.fourth_takes_over();
    until_up(&known, &services).await;
    for service in &services {
        let _ = lost.at(service).get("/me").await.expect(401);
    }
    agree(services).await;
}

/// Waits until each service knows this app.
async fn until_up(app: &App, services: &[Service; 2]) {
    for app in services.each_ref().map(|service| app.at(service)) {
        let begun = Instant::now();
        // A list is not cached.
        while app.get(&app.merchants("?limit=1")).await.status != 200 {
            assert!(begun.elapsed() < DEADLINE, "the database stays unavailable");
            sleep(PAUSE).await;
        }
    }
}
