//! A merchant, as one of its apps sees it.

use serde_json::{Value, json};
use uuid::Uuid;

use super::{App, Card, Transaction, app::text, ids, transaction::int};
use crate::http::Answer;

/// What a merchant needs to be created.
pub fn minimal() -> Value {
    json!({
        "currency": "EUR",
        "email": "ann@shop.example",
        "website": "https://shop.example",
        "descriptor": "Corner shop",
        "company": { "country": "DK" },
    })
}

/// An address that nobody else has.
pub fn email() -> String {
    format!("user-{}@shop.example", Uuid::new_v4())
}

/// A merchant.
#[derive(Clone)]
pub struct Merchant {
    /// The app that asks.
    pub app: App,
    /// Its id.
    pub id: String,
    /// Its public key.
    pub key: String,
}

impl Merchant {
    /// The same merchant, seen by another app, or at another address.
    #[must_use]
    pub fn by(&self, app: &App) -> Self {
        Self { app: app.clone(), ..self.clone() }
    }

    /// A path below that of the merchant.
    pub fn path(&self, rest: &str) -> String {
        format!("/merchants/{}{rest}", self.id)
    }

    /// The answer to a plain GET below its path.
    pub async fn get(&self, rest: &str) -> Answer {
        self.app.get(&self.path(rest)).await
    }

    /// The answer to a JSON body below its path.
    pub async fn post(&self, rest: &str, body: &Value) -> Answer {
        self.app.post(&self.path(rest), body).await
    }

    /// The items of a list below its path.
    pub async fn list(&self, rest: &str) -> Vec<Value> {
        self.app.list(&self.path(rest)).await
    }

    /// The ids of the items of a list below its path.
    pub async fn ids(&self, rest: &str) -> Vec<String> {
        ids(&self.list(rest).await)
    }

    /// The merchant itself.
    pub async fn fetch(&self) -> Value {
        self.get("").await.expect(200).json()["merchant"].clone()
    }

    /// Its balance, in minor units.
    pub async fn balance(&self) -> i64 {
        int(&self.fetch().await["balance"])
    }

    /// Invites a user, and says whether that was a member already.
    ///
    /// # Panics
    ///
    /// When the answer does not say.
    pub async fn invite(&self, email: &str) -> bool {
        let answer = self.post("/users", &json!({ "email": email })).await.expect(201);
        answer.json()["isMember"].as_bool().expect("a boolean")
    }

    /// Adds an app.
    pub async fn add(&self, app: &App) {
        let _ = self.post("/apps", &json!({ "appId": app.id })).await.expect(201);
    }

    /// What a customer sends to pay with a card.
    pub fn payment(&self, card: Card, currency: &str, amount: i64) -> Value {
        let (key, card) = (&self.key, card.details());
        json!({ "key": key, "currency": currency, "amount": amount, "card": card })
    }

    /// The answer to what a customer sends. It is open to any origin, and echoes no card.
    ///
    /// # Panics
    ///
    /// When it does not, or is not.
    pub async fn charge(&self, body: &Value) -> Answer {
        let answer = self.app.customer("/transactions").json(body).send().await;
        assert_eq!(answer.header("access-control-allow-origin"), Some("*"), "{answer:?}");
        if let Some(number) = body["card"]["number"].as_str().filter(|number| number.len() > 8) {
            // Quoted: there are ids with that many zeros in them.
            let number = format!("\"{number}\"");
            assert!(!answer.text().contains(&number), "echoes the card: {answer:?}");
        }
        answer
    }

    /// A transaction of a customer with a good card.
    pub async fn pay(&self, currency: &str, amount: i64) -> Transaction {
        self.pay_with(Card::VISA, currency, amount).await
    }

    /// A transaction of a customer with this card, which has to be charged.
    pub async fn pay_with(&self, card: Card, currency: &str, amount: i64) -> Transaction {
        let answer = self.charge(&self.payment(card, currency, amount)).await.expect(201);
        self.transaction(&answer)
    }

    /// The failed transaction of a customer with a card that the bank declines.
    pub async fn fail(&self, amount: i64) -> Transaction {
        let answer = self.charge(&self.payment(Card::DECLINED, "EUR", amount)).await.expect(400);
        self.transaction(&answer)
    }

    /// A transaction of the merchant's server, on the card of an original.
    pub async fn repeat(&self, original: &Transaction, amount: i64) -> Transaction {
        let body = json!({ "transactionId": original.id, "currency": "EUR", "amount": amount });
        self.transaction(&self.post("/transactions", &body).await.expect(201))
    }

    /// Saves the card of a transaction, and returns its id.
    pub async fn save_card(&self, transaction: &Transaction) -> String {
        let body = json!({ "transactionId": transaction.id });
        text(&self.post("/cards", &body).await.expect(201).json()["card"]["id"])
    }

    /// The transaction that an answer names.
    pub fn transaction(&self, answer: &Answer) -> Transaction {
        Transaction { app: self.app.clone(), id: text(&answer.json()["transaction"]["id"]) }
    }

    /// The sum of its lines, which has to be its balance.
    ///
    /// # Panics
    ///
    /// When it is not.
    pub async fn sum_of_lines(&self) -> i64 {
        let (mut sum, mut before) = (0, "f".repeat(24));
        loop {
            let page = self.list(&format!("/lines?limit=1000&before={before}")).await;
            sum += page.iter().map(|line| int(&line["balance"])).sum::<i64>();
            let Some(last) = ids(&page).pop() else { break };
            assert!(last < before, "{last} is not older than {before}");
            before = last;
        }
        assert_eq!(sum, self.balance().await);
        sum
    }
}
