//! payments-svc with a live merchant: the acquirer loses answers, the replicas are killed, and a
//! standby takes over.

use std::{
    collections::HashSet,
    fs,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use blackbox::{
    acquirer::{Acquirer, card, today},
    http::Answer,
    payments::{App, Card, Merchant, Move, Refusal as _, Service, Stopped, Transaction, minimal},
    process::{self, DEADLINE},
    soak::rounds,
};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::{
    sync::watch,
    task::JoinSet,
    time::{sleep, timeout},
};

use crate::{
    pair::{Pair, Route},
    payments::two_with,
};

const CALLERS: usize = 24;

/// Each replica is killed twice, at least.
const LEAST_KILLS: usize = 4;

const TIMEOUT: (&str, &str) = ("PAYMENTS_ACQUIRER_TIMEOUT", "1s");

/// A late answer comes after [`TIMEOUT`].
const LATE_MS: u64 = 3000;

/// The pause before a request is repeated.
const PAUSE: Duration = Duration::from_millis(100);

/// The longest time until a request has a final answer. A job asks for an unknown outcome, and the
/// lease of a killed replica ends after ten seconds.
const PATIENCE: Duration = DEADLINE.saturating_mul(3);

/// The amount of each payment.
const AMOUNT: i64 = 1000;

/// The state that the callers share.
struct Shop {
    merchant: Merchant,
    /// A payment whose card pays again.
    original: Transaction,
    /// The replicas at the moment.
    replicas: watch::Sender<[App; 2]>,
    /// The number of payments so far.
    begun: AtomicUsize,
    /// Payments that a caller began, and that have ended.
    ended: AtomicUsize,
    /// Requests with an idempotency key whose first answer was `outcome_unknown`.
    unknown: AtomicU64,
    is_over: AtomicBool,
}

/// A successful payment, as its caller knows it.
struct Paid {
    id: String,
    by_merchant: bool,
    captured: i64,
    refunded: i64,
    voided: i64,
}

impl Shop {
    async fn new(service: &Service, other: &Service) -> Self {
        let merchant = service.app().await.merchant_with(&minimal()).await;
        let answer = merchant.charge(&merchant.payment(Card(card::VISA), "EUR", AMOUNT)).await;
        let original = merchant.transaction(&answer.expect(201));
        let (replicas, _) = watch::channel([merchant.app.clone(), merchant.app.at(other)]);
        Self {
            merchant,
            original,
            replicas,
            begun: AtomicUsize::default(),
            ended: AtomicUsize::default(),
            unknown: AtomicU64::default(),
            is_over: AtomicBool::default(),
        }
    }

    fn replica(&self, number: usize) -> App {
        self.replicas.borrow()[number % 2].clone()
    }

    fn ended(&self) -> usize {
        self.ended.load(Ordering::Relaxed)
    }

    /// Pays until the end. Returns the successful payments.
    async fn pay(self: Arc<Self>) -> Vec<Paid> {
        let mut made = Vec::new();
        while !self.is_over.load(Ordering::Relaxed) {
            let number = self.begun.fetch_add(1, Ordering::Relaxed);
            made.extend(if number % 10 == 9 {
                self.pay_as_customer(number).await
            } else {
                self.pay_as_merchant(number).await
            });
            self.ended.fetch_add(1, Ordering::Relaxed);
        }
        made
    }

    /// A customer pays with a typed card. Without an idempotency key, nobody learns of a payment
    /// whose answer was lost.
    async fn pay_as_customer(&self, number: usize) -> Option<Paid> {
        let body = self.merchant.payment(Card(card::VISA), "EUR", AMOUNT);
        let request = self.replica(number).customer("/transactions").json(&body);
        let answer = request.attempt().await.filter(|answer| answer.status == 201)?;
        let Transaction { id, .. } = self.merchant.transaction(&answer);
        Some(Paid { id, by_merchant: false, captured: 0, refunded: 0, voided: 0 })
    }

    /// The merchant pays with a known card. Then it voids, or captures and refunds.
    async fn pay_as_merchant(&self, number: usize) -> Option<Paid> {
        let body =
            json!({ "transactionId": self.original.id, "currency": "EUR", "amount": AMOUNT });
        let path = self.merchant.path("/transactions");
        let answer = self.settled(number, "pay", &path, &body).await;
        if answer.status != 201 {
            // The question about the outcome came before the request.
            answer.declined(12);
            return None;
        }
        let transaction = self.merchant.transaction(&answer);
        let (captured, refunded, voided) = match number % 3 {
            0 => (0, 0, AMOUNT),
            1 => (AMOUNT, 250, 0),
            _ => (600, 600, 400),
        };
        let moves = [(Move::Capture, captured), (Move::Refund, refunded), (Move::Void, voided)];
        for (action, amount) in moves.into_iter().filter(|(_, amount)| *amount > 0) {
            let (path, body) = (transaction.path_of(action), json!({ "amount": amount }));
            let _ = self.settled(number, action.name(), &path, &body).await.expect(201);
        }
        Some(Paid { id: transaction.id, by_merchant: true, captured, refunded, voided })
    }

    /// Repeats a request under its key, at both replicas in turn, until it has a final answer.
    async fn settled(&self, number: usize, action: &str, path: &str, body: &Value) -> Answer {
        let (begin, mut attempt, mut is_unknown) = (Instant::now(), number, false);
        loop {
            let request = self.replica(attempt).request(Method::POST, path);
            let request = request.header("idempotency-key", format!("{number} {action}"));
            let answer = request.json(body).attempt().await;
            match answer {
                Some(answer) if ![409, 503].contains(&answer.status.as_u16()) => {
                    self.unknown.fetch_add(is_unknown.into(), Ordering::Relaxed);
                    return answer;
                }
                Some(answer) => is_unknown |= answer.json()["error"] == "outcome_unknown",
                None => {}
            }
            assert!(begin.elapsed() < PATIENCE, "{number} {action} has no final answer");
            sleep(PAUSE).await;
            attempt += 1;
        }
    }
}

/// Kills the replicas in turn. After half of the payments, the standby takes over. Returns the
/// replicas and the number of kills.
async fn break_often(
    shop: &Shop,
    services: [Service; 2],
    pair: &Pair,
    payments: usize,
) -> ([Service; 2], usize) {
    let every = Duration::from_secs(rounds(3, 30).try_into().unwrap());
    let (mut services, mut kills, mut has_failed_over) = (services, 0, false);
    while kills < LEAST_KILLS || shop.ended() < payments {
        sleep(every).await;
        if !has_failed_over && shop.ended() >= payments / 2 {
            pair.fail_over();
            has_failed_over = true;
            continue;
        }
        let [first, second] = services;
        let first = first.kill().await.start().await;
        shop.replicas.send_replace([&second, &first].map(|service| shop.merchant.app.at(service)));
        services = [second, first];
        kills += 1;
    }
    assert!(has_failed_over);
    (services, kills)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_live_merchant_is_charged_for_what_was_acknowledged_and_for_nothing_else() {
    let (payments, begin, date) = (rounds(150, 10_000), Instant::now(), today());
    let pair = Pair::synchronous().await;
    let acquirer = Acquirer::with(&[("RUST_LOG", "demo_acquirer=debug")]).await;
    let own = acquirer.of_payments();
    let own = own.iter().map(|(name, value)| (*name, value.as_str()));
    let settings: Vec<_> = own.chain([TIMEOUT]).collect();
    let services = two_with(&pair.url(Route::Hosts), &settings).await;
    let shop = Arc::new(Shop::new(&services[0], &services[1]).await);
    acquirer
        .rules(json!([
            { "probability": 0.1, "fault": "drop" },
            { "probability": 0.05, "fault": { "late": { "ms": LATE_MS } } },
        ]))
        .await;
    let mut callers = JoinSet::new();
    for _ in 0..CALLERS {
        callers.spawn(Arc::clone(&shop).pay());
    }
    let breaking = break_often(&shop, services, &pair, payments);
    let limit = Duration::from_secs(rounds(600, 3600).try_into().unwrap());
    let (services, kills) = timeout(limit, breaking).await.unwrap();
    shop.is_over.store(true, Ordering::Relaxed);
    let paid: Vec<_> = callers.join_all().await.into_iter().flatten().collect();
    acquirer.clear_rules().await;
    let books = Stopped::on(Some(pair.survivor()), &[]);
    books.settled().await;
    let elapsed = begin.elapsed();
    for service in services {
        service.stop().await;
    }
    books.agrees().await;
    let operations = acquirer.operations().await;
    books.equals(&operations);
    acknowledged(&books, &paid);
    reconciles(&books, &acquirer.settlement_since(date).await).await;
    let log = acquirer.process().log();
    let faults = |fault: &str| log.iter().filter(|line| line.contains(fault)).count();
    let reversals = operations.iter().filter(|known| known["kind"] == "reversal").count();
    println!(
        "{} payments in {elapsed:.0?}: {kills} kills, 1 failover, {} answers dropped, {} late, {} \
         outcomes unknown and settled, {reversals} reversals, {} operations",
        shop.ended(),
        faults("Some(Drop)"),
        faults("Some(Late"),
        shop.unknown.load(Ordering::Relaxed),
        operations.len(),
    );
}

/// Checks that the books have each payment with the amounts that its caller knows, and that the
/// merchant has made no other payment.
fn acknowledged(books: &Stopped, paid: &[Paid]) {
    let id = books.digits("id");
    let sums = format!("SELECT {id} || ' ' || captured || ' ' || refunded || ' ' || voided");
    let known = format!("{sums} FROM transactions WHERE error IS NULL");
    let known: HashSet<_> = books.texts(&known).into_iter().collect();
    for Paid { id, captured, refunded, voided, .. } in paid {
        let sums = format!("{id} {captured} {refunded} {voided}");
        assert!(known.contains(&sums), "{sums} is missing");
    }
    let by_merchant = "SELECT count(*) FROM transactions WHERE error IS NULL AND recurring";
    let expected = paid.iter().filter(|paid| paid.by_merchant).count();
    assert_eq!(books.number(by_merchant), i64::try_from(expected).unwrap());
}

/// Compares the books with this settlement file.
async fn reconciles(books: &Stopped, settlement: &str) {
    let file = books.data().join("settlement.csv");
    fs::write(&file, settlement).unwrap();
    let mut command = books.command();
    command.args(["reconcile", "--acquirer-fee-rate", "0.01", "--from"]).arg(&file);
    let compared = process::run(command).await;
    assert_eq!(compared.status.code(), Some(0), "{compared:?}");
}
