//! A merchant, accessed by one of its apps.

use serde_json::{Value, json};
use uuid::Uuid;

use super::{App, Card, Transaction, app::text, ids, transaction::int};
use crate::http::Answer;

/// The smallest valid body of `POST /merchants`.
pub fn minimal() -> Value {
    json!({
        "currency": "EUR",
        "email": "ann@shop.example",
        "website": "https://shop.example",
        "descriptor": "Corner shop",
        "company": { "country": "DK" },
    })
}

/// A unique e-mail address.
pub fn email() -> String {
    format!("user-{}@shop.example", Uuid::new_v4())
}

#[derive(Clone)]
pub struct Merchant {
    /// The app that sends the requests.
    pub app: App,
    pub id: String,
    /// The public key, which customers send.
    pub key: String,
}

impl Merchant {
    /// The same merchant with requests by another app, or to a restarted service.
    #[must_use]
    pub fn by(&self, app: &App) -> Self {
        Self { app: app.clone(), ..self.clone() }
    }

    /// The path `/merchants/<id>` followed by `rest`.
    pub fn path(&self, rest: &str) -> String {
        format!("/merchants/{}{rest}", self.id)
    }

    /// Makes a key that signs payment links.
    pub async fn link_secret(&self) -> String {
        let made = self.post("/link-secret", &json!({})).await.expect(201).json();
        made["linkSecret"].as_str().expect("a secret").to_owned()
    }

    /// Sends a GET below the path of the merchant.
    pub async fn get(&self, rest: &str) -> Answer {
        self.app.get(&self.path(rest)).await
    }

    /// Posts a JSON body below the path of the merchant.
    pub async fn post(&self, rest: &str, body: &Value) -> Answer {
        self.app.post(&self.path(rest), body).await
    }

    /// The items of a list below the path of the merchant.
    pub async fn list(&self, rest: &str) -> Vec<Value> {
        self.app.list(&self.path(rest)).await
    }

    /// The ids of a list below the path of the merchant.
    pub async fn ids(&self, rest: &str) -> Vec<String> {
        ids(&self.list(rest).await)
    }

    /// Reads the merchant.
    pub async fn fetch(&self) -> Value {
        self.get("").await.expect(200).json()["merchant"].clone()
    }

    /// In minor units.
    pub async fn balance(&self) -> i64 {
        int(&self.fetch().await["balance"])
    }

    /// Invites a user. Returns whether the user was a member already.
    pub async fn invite(&self, email: &str) -> bool {
        let answer = self.post("/users", &json!({ "email": email })).await.expect(201);
        answer.json()["isMember"].as_bool().expect("a boolean")
    }

    /// Gives an app access to the merchant.
    pub async fn add(&self, app: &App) {
        let _ = self.post("/apps", &json!({ "appId": app.id })).await.expect(201);
    }

    /// The body of a customer's payment with a card. `amount` is in minor units.
    pub fn payment(&self, card: Card, currency: &str, amount: i64) -> Value {
        let (key, card) = (&self.key, card.details());
        json!({ "key": key, "currency": currency, "amount": amount, "card": card })
    }

    /// Posts a customer's payment. Checks that the answer allows any origin and echoes no card
    /// number.
    pub async fn charge(&self, body: &Value) -> Answer {
        let answer = self.app.customer("/transactions").json(body).send().await;
        assert_eq!(answer.header("access-control-allow-origin"), Some("*"), "{answer:?}");
        if let Some(number) = body["card"]["number"].as_str().filter(|number| number.len() > 8) {
            // Quoted, because ids can contain as many zeros as some card numbers.
            let number = format!("\"{number}\"");
            assert!(!answer.text().contains(&number), "echoes the card: {answer:?}");
        }
        answer
    }

    /// A successful payment of a customer with [`Card::VISA`].
    pub async fn pay(&self, currency: &str, amount: i64) -> Transaction {
        self.pay_with(Card::VISA, currency, amount).await
    }

    /// A successful payment of a customer with this card.
    pub async fn pay_with(&self, card: Card, currency: &str, amount: i64) -> Transaction {
        let answer = self.charge(&self.payment(card, currency, amount)).await.expect(201);
        self.transaction(&answer)
    }

    /// A failed payment of a customer, declined by the bank.
    pub async fn fail(&self, amount: i64) -> Transaction {
        let answer = self.charge(&self.payment(Card::DECLINED, "EUR", amount)).await.expect(400);
        self.transaction(&answer)
    }

    /// A recurring payment by the merchant, with the card of an earlier transaction.
    pub async fn repeat(&self, original: &Transaction, amount: i64) -> Transaction {
        let body = json!({ "transactionId": original.id, "currency": "EUR", "amount": amount });
        self.transaction(&self.post("/transactions", &body).await.expect(201))
    }

    /// Saves the card of a transaction and returns the id of the card.
    pub async fn save_card(&self, transaction: &Transaction) -> String {
        let body = json!({ "transactionId": transaction.id });
        text(&self.post("/cards", &body).await.expect(201).json()["card"]["id"])
    }

    /// The transaction in an answer.
    pub fn transaction(&self, answer: &Answer) -> Transaction {
        Transaction { app: self.app.clone(), id: text(&answer.json()["transaction"]["id"]) }
    }

    /// The sum of all lines, read page by page. Checks that it equals the balance.
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
