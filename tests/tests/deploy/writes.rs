//! Writes of one kind to each service with a store.

use std::sync::{
    Mutex,
    atomic::{AtomicUsize, Ordering},
};

use blackbox::{
    objstore::{Client, Key, Object, Objstore},
    payments::{Card, Merchant, Payments, Transaction, with_retries},
    process::{output, run},
    service::{Program, Service, Stopped},
};

/// Writes to a new store, one after the other.
pub(crate) trait Writes: Sized {
    type To: Program;

    async fn begin(service: &Service<Self::To>) -> Self;

    /// Returns when the service has acknowledged the next write.
    async fn write(&self);

    /// Reads the first writes.
    async fn are_in(&self, service: &Service<Self::To>, count: usize);
}

pub(crate) struct Objects {
    client: Client,
    next: AtomicUsize,
}

impl Objects {
    fn object(number: usize) -> Object {
        let value = format!(r#"{{"number":{number},"filler":"{}"}}"#, "x".repeat(8000));
        Object::new(&Key::new("kind", "writes", &number.to_string()), value)
    }
}

impl Writes for Objects {
    type To = Objstore;

    async fn begin(service: &Service<Objstore>) -> Self {
        Self { client: service.client().await, next: AtomicUsize::new(0) }
    }

    async fn write(&self) {
        let object = Self::object(self.next.fetch_add(1, Ordering::Relaxed));
        let _ = with_retries(|| self.client.post("/set", object.body())).await.expect(204);
    }

    async fn are_in(&self, service: &Service<Objstore>, count: usize) {
        let client = self.client.at(service);
        for object in (0..count).map(Self::object) {
            assert_eq!(client.get(&object.key).await, object);
        }
    }
}

pub(crate) struct Charges {
    merchant: Merchant,
    charged: Mutex<Vec<Transaction>>,
}

impl Writes for Charges {
    type To = Payments;

    async fn begin(service: &Service<Payments>) -> Self {
        Self { merchant: service.merchant().await, charged: Mutex::default() }
    }

    async fn write(&self) {
        let body = self.merchant.payment(Card::VISA, "EUR", 100);
        let answer = with_retries(|| self.merchant.charge(&body)).await.expect(201);
        self.charged.lock().unwrap().push(self.merchant.transaction(&answer));
    }

    async fn are_in(&self, service: &Service<Payments>, count: usize) {
        let charged = self.charged.lock().unwrap()[..count].to_vec();
        for transaction in charged {
            transaction.by(&transaction.app.at(service)).fetch().await;
        }
    }
}

/// Runs a subcommand, which must succeed.
pub(crate) async fn succeeds<P: Program>(place: &Stopped<P>, arguments: &[&str]) {
    let mut command = place.command();
    command.args(arguments);
    let ended = run(command).await;
    assert!(ended.status.success(), "{arguments:?}: {}", output(&ended));
}
