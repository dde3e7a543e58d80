//! A client that repeats failed requests.

use std::time::Duration;

use blackbox::{
    authsvc,
    http::{Answer, Request},
    objstore::{self, Client, Object},
    payments::{self, Card, Merchant, Move},
};
use reqwest::Method;
use serde_json::json;
use tokio::time::{Instant, sleep};
use uuid::Uuid;

/// The amount of a sale, in cents.
const AMOUNT: i64 = 1000;

/// How often a client repeats a failed request.
#[derive(Clone, Copy)]
pub(crate) struct Patience {
    retries: usize,
    pause: Duration,
}

impl Patience {
    /// A planned change takes about 5 s on an idle machine, and longer beside this load.
    pub(crate) const ONE_RETRY: Self = Self { retries: 1, pause: Duration::from_secs(10) };
    pub(crate) const MANY_RETRIES: Self = Self { retries: 200, pause: Duration::from_millis(500) };
}

/// A client of one of the services.
pub(crate) struct Worker {
    role: Role,
    requests: Requests,
}

/// The requests of a client.
struct Requests {
    patience: Patience,
    retried: usize,
    longest: Duration,
}

/// The task of a client and the state to verify.
enum Role {
    /// Signs in repeatedly.
    Visitor(authsvc::Service),
    /// Sets a new object each time.
    Writer { client: Client, object: Object, number: usize },
    /// Makes sales as its own merchant. `proceeds` is the balance that each sale adds.
    Seller { merchant: Merchant, proceeds: i64, sales: i64 },
}

impl Worker {
    pub(crate) fn visitor(service: authsvc::Service, patience: Patience) -> Self {
        Self::new(Role::Visitor(service), patience)
    }

    pub(crate) async fn writer(service: &objstore::Service, patience: Patience) -> Self {
        let (client, object) = (service.client().await, Object::fresh());
        Self::new(Role::Writer { client, object, number: 0 }, patience)
    }

    pub(crate) async fn seller(service: &payments::Service, patience: Patience) -> Self {
        let merchant = service.merchant().await;
        merchant.pay("EUR", AMOUNT).await.capture(AMOUNT).await;
        let proceeds = merchant.balance().await;
        Self::new(Role::Seller { merchant, proceeds, sales: 1 }, patience)
    }

    fn new(role: Role, patience: Patience) -> Self {
        Self { role, requests: Requests { patience, retried: 0, longest: Duration::ZERO } }
    }

    /// The number of retried requests.
    pub(crate) fn retried(&self) -> usize {
        self.requests.retried
    }

    /// The longest time from the first attempt of a request to its success.
    pub(crate) fn longest(&self) -> Duration {
        self.requests.longest
    }

    /// Performs one task.
    pub(crate) async fn work(&mut self) {
        let requests = &mut self.requests;
        match &mut self.role {
            Role::Visitor(service) => {
                let student = json!({ "username": "QLV1UG23CS217", "password": "demo-asha" });
                let ask = || service.request(Method::POST, "/authenticate").json(&student);
                requests.send(ask, 200).await;
            }
            Role::Writer { client, object, number } => {
                *number += 1;
                let body = numbered(object, *number).body();
                let set = || {
                    client.request(Method::POST, "/set").body_of("application/json", body.clone())
                };
                requests.send(set, 204).await;
            }
            Role::Seller { merchant, sales, .. } => {
                let payment = merchant.payment(Card::VISA, "EUR", AMOUNT);
                let pay = || merchant.app.customer("/transactions").json(&payment);
                let paid = merchant.transaction(&requests.send(pay, 201).await);
                let (path, key) = (paid.path_of(Move::Capture), Uuid::new_v4().to_string());
                let capture = || {
                    let request = merchant.app.request(Method::POST, &path);
                    request.header("idempotency-key", &key).json(&json!({ "amount": AMOUNT }))
                };
                requests.send(capture, 201).await;
                *sales += 1;
            }
        }
    }

    /// Checks that all acknowledged work is stored exactly once.
    pub(crate) async fn verify(self) {
        match self.role {
            Role::Visitor(_) => {}
            Role::Writer { client, object, number } => {
                let mut stored = client.find(&object.key.named("")).await;
                stored.sort_by_key(Object::number);
                let written: Vec<_> =
                    (1..=number).map(|number| numbered(&object, number)).collect();
                assert!(stored == written, "{} of {number} objects are stored", stored.len());
            }
            Role::Seller { merchant, proceeds, sales } => {
                assert_eq!(merchant.balance().await, proceeds * sales);
            }
        }
    }
}

impl Requests {
    /// Sends a request, and repeats it while it fails. Returns the answer.
    async fn send(&mut self, request: impl Fn() -> Request, status: u16) -> Answer {
        let began = Instant::now();
        let answer = self.send_patiently(request, status).await;
        self.longest = self.longest.max(began.elapsed());
        answer
    }

    async fn send_patiently(&mut self, request: impl Fn() -> Request, status: u16) -> Answer {
        for _ in 0..self.patience.retries {
            let answer = request().attempt_undescribed().await;
            if let Some(answer) = answer.filter(|answer| answer.status == status) {
                return answer;
            }
            self.retried += 1;
            sleep(self.patience.pause).await;
        }
        request().send().await.expect(status)
    }
}

/// The object that a writer sets as this number.
fn numbered(object: &Object, number: usize) -> Object {
    Object { key: object.key.named(&number.to_string()), ..object.numbered(number) }
}
