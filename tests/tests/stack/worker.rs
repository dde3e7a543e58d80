//! A client that retries a failed request once.

use std::time::Duration;

use blackbox::{
    authsvc,
    http::{Answer, Request},
    objstore::{self, Client, Object},
    payments::{self, Card, Merchant, Move},
};
use reqwest::Method;
use serde_json::json;
use tokio::time::sleep;
use uuid::Uuid;

/// The delay before the retry.
const PAUSE: Duration = Duration::from_secs(5);

/// The amount of a sale, in cents.
const AMOUNT: i64 = 1000;

/// A client of one of the services.
pub(crate) struct Worker {
    role: Role,
    retried: usize,
}

/// The task of a client and the state to verify.
enum Role {
    /// Signs in repeatedly.
    Visitor(authsvc::Service),
    /// Sets an object that no other client sets.
    Writer { client: Client, object: Object, number: usize },
    /// Makes sales as its own merchant. `proceeds` is the balance that each sale adds.
    Seller { merchant: Merchant, proceeds: i64, sales: i64 },
}

impl Worker {
    pub(crate) fn visitor(service: authsvc::Service) -> Self {
        Self { role: Role::Visitor(service), retried: 0 }
    }

    pub(crate) async fn writer(service: &objstore::Service) -> Self {
        let (client, object) = (service.client().await, Object::fresh());
        Self { role: Role::Writer { client, object, number: 0 }, retried: 0 }
    }

    pub(crate) async fn seller(service: &payments::Service) -> Self {
        let merchant = service.merchant().await;
        merchant.pay("EUR", AMOUNT).await.capture(AMOUNT).await;
        let proceeds = merchant.balance().await;
        Self { role: Role::Seller { merchant, proceeds, sales: 1 }, retried: 0 }
    }

    /// The number of retried requests.
    pub(crate) fn retried(&self) -> usize {
        self.retried
    }

    /// Performs one task.
    pub(crate) async fn work(&mut self) {
        let retried = &mut self.retried;
        match &mut self.role {
            Role::Visitor(service) => {
                let student = json!({ "username": "QLV1UG23CS217", "password": "demo-asha" });
                let ask = || service.request(Method::POST, "/authenticate").json(&student);
                send_with_retry(retried, ask, 200).await;
            }
            Role::Writer { client, object, number } => {
                *number += 1;
                let body = object.numbered(*number).body();
                let set = || {
                    client.request(Method::POST, "/set").body_of("application/json", body.clone())
                };
                send_with_retry(retried, set, 204).await;
            }
            Role::Seller { merchant, sales, .. } => {
                let payment = merchant.payment(Card::VISA, "EUR", AMOUNT);
                let pay = || merchant.app.customer("/transactions").json(&payment);
                let paid = merchant.transaction(&send_with_retry(retried, pay, 201).await);
                let (path, key) = (paid.path_of(Move::Capture), Uuid::new_v4().to_string());
                let capture = || {
                    let request = merchant.app.request(Method::POST, &path);
                    request.header("idempotency-key", &key).json(&json!({ "amount": AMOUNT }))
                };
                send_with_retry(retried, capture, 201).await;
                *sales += 1;
            }
        }
    }

    /// Checks that all acknowledged work is stored exactly once.
    pub(crate) async fn verify(self) {
        match self.role {
            Role::Visitor(_) => {}
            Role::Writer { client, object, number } => {
                assert_eq!(client.get(&object.key).await, object.numbered(number));
            }
            Role::Seller { merchant, proceeds, sales } => {
                assert_eq!(merchant.balance().await, proceeds * sales);
            }
        }
    }
}

/// Sends a request, and retries it once if it fails. Returns the answer.
async fn send_with_retry(
    retried: &mut usize,
    request: impl Fn() -> Request,
    status: u16,
) -> Answer {
    let first = request().attempt_undescribed().await;
    if let Some(answer) = first.filter(|answer| answer.status == status) {
        return answer;
    }
    *retried += 1;
    sleep(PAUSE).await;
    request().send().await.expect(status)
}
