//! Outcomes that are kept under an `Idempotency-Key`: each kind is replayed byte for byte, even
//! after later changes.

use blackbox::{
    http::Answer,
    payments::{Acquirer, App, Card, Merchant, Move, SECRET, Service, Transaction, email, minimal},
};
use serde_json::{Value, json};
use uuid::Uuid;

/// A request with a key and its first answer.
struct Kept {
    key: String,
    path: String,
    body: Value,
    answer: Answer,
}

impl Kept {
    async fn of(app: &App, status: u16, path: String, body: Value) -> Self {
        let key = format!("kept {}", Uuid::new_v4());
        let answer = app.post_once(&key, &path, &body).await.expect(status);
        assert_eq!(answer.header("idempotent-replayed"), None, "{answer:?}");
        Self { key, path, body, answer }
    }

    async fn is_replayed(&self, app: &App) {
        let again = app.post_once(&self.key, &self.path, &self.body).await;
        assert_eq!(again.header("idempotent-replayed"), Some("true"), "{again:?}");
        assert_eq!((again.status, again.text()), (self.answer.status, self.answer.text()));
        assert_eq!(again.header("content-type"), self.answer.header("content-type"));
        let mut other = self.body.clone();
        other["other"] = true.into();
        let refused = app.post_once(&self.key, &self.path, &other).await;
        refused.refused(422, "idempotency_key_reused");
    }
}

/// A merchant with a transaction and a kept outcome of each kind.
struct Shop {
    merchant: Merchant,
    transaction: Transaction,
    kept: Vec<Kept>,
    dispute: String,
}

impl Shop {
    async fn at(service: &Service) -> Self {
        let merchant = service.merchant().await;
        let transaction = merchant.pay("EUR", 1000).await;
        let empty = merchant.pay_with(Card::LATER_EMPTY, "EUR", 100).await;
        let (app, user) = (service.app().await, email());
        let repeat =
            |of: &Transaction| json!({ "transactionId": of.id, "currency": "EUR", "amount": 100 });
        let named = {
            let mut body = minimal();
            body["name"] = "Ann & \u{e9}".into();
            body
        };
        let (users, transactions) = (merchant.path("/users"), merchant.path("/transactions"));
        let captures = transaction.path_of(Move::Capture);
        let mut kept = Vec::new();
        for (status, path, body) in [
            (201, "/merchants".to_owned(), minimal()),
            (201, "/merchants".to_owned(), named),
            (201, users.clone(), json!({ "email": user })),
            (201, users, json!({ "email": user })),
            (201, merchant.path("/apps"), json!({ "appId": app.id })),
            (201, transactions.clone(), repeat(&transaction)),
            (400, transactions, repeat(&empty)),
            (201, merchant.path("/cards"), json!({ "transactionId": transaction.id })),
            (201, captures.clone(), json!({ "amount": 400 })),
            (201, transaction.path_of(Move::Refund), json!({ "amount": 50 })),
            (201, transaction.path_of(Move::Void), json!({ "amount": 30 })),
        ] {
            kept.push(Kept::of(&merchant.app, status, path, body).await);
        }
        // This outcome is kept while a dispute is open.
        let dispute = Acquirer(service).open(&transaction, 200).await;
        kept.push(Kept::of(&merchant.app, 201, captures, json!({ "amount": 10 })).await);
        Self { merchant, transaction, kept, dispute }
    }

    async fn is_replayed(&self) {
        for kept in &self.kept {
            kept.is_replayed(&self.merchant.app).await;
        }
    }

    /// Changes everything that the kept outcomes show and that can be changed.
    async fn change(&self, service: &Service) {
        let app = &self.merchant.app;
        let made = self.kept.iter().filter(|kept| kept.path == "/merchants");
        let made =
            made.map(|kept| kept.answer.json()["merchant"]["id"].as_str().unwrap().to_owned());
        for id in made.chain([self.merchant.id.clone()]) {
            let name = format!("Name {}", Uuid::new_v4());
            let body = json!({ "name": name, "email": email(), "descriptor": "Another" });
            let _ = app.put(&format!("/merchants/{id}"), &body).await.expect(204);
        }
        self.transaction.capture(20).await;
        self.transaction.refund(20).await;
        let dispute = Acquirer(service).open(&self.transaction, 7).await;
        Acquirer(service).end(&self.transaction, &self.dispute, "won").await;
        Acquirer(service).end(&self.transaction, &dispute, "lost").await;
    }

    /// The same shop at a restarted service.
    fn at_another(self, service: &Service) -> Self {
        let app = self.merchant.app.at(service);
        let (merchant, transaction) = (self.merchant.by(&app), self.transaction.by(&app));
        Self { merchant, transaction, ..self }
    }
}

#[tokio::test]
async fn every_kind_of_outcome_is_replayed_after_later_changes() {
    let service = Service::with(&[SECRET]).await;
    let shop = Shop::at(&service).await;
    shop.is_replayed().await;
    shop.change(&service).await;
    shop.is_replayed().await;
    let service = service.kill().await.start().await;
    let shop = shop.at_another(&service);
    shop.is_replayed().await;
    service.stop().await.agrees().await;
}
