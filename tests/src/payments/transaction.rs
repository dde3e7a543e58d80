//! A transaction, as an app of its merchant sees it.

use serde_json::{Value, json};

use super::{App, overload::until_heard};
use crate::http::Answer;

/// What can be done to a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Move {
    /// Money is taken.
    Capture,
    /// Money is given back.
    Refund,
    /// The reservation is given up.
    Void,
}

impl Move {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Capture, Self::Refund, Self::Void];

    /// The member that tells it apart in a trail.
    pub fn name(self) -> &'static str {
        match self {
            Self::Capture => "capture",
            Self::Refund => "refund",
            Self::Void => "void",
        }
    }

    /// The counter that it raises.
    pub fn counter(self) -> &'static str {
        match self {
            Self::Capture => "capturedAmount",
            Self::Refund => "refundedAmount",
            Self::Void => "voidedAmount",
        }
    }
}

/// A transaction.
#[derive(Clone)]
pub struct Transaction {
    /// The app that asks.
    pub app: App,
    /// Its id.
    pub id: String,
}

impl Transaction {
    /// The same transaction, seen by another app, or at another address.
    #[must_use]
    pub fn by(&self, app: &App) -> Self {
        Self { app: app.clone(), ..self.clone() }
    }

    /// Its path.
    pub fn path(&self) -> String {
        format!("/transactions/{}", self.id)
    }

    /// The path of one of the things that can be done to it.
    pub fn path_of(&self, what: Move) -> String {
        format!("{}/{}s", self.path(), what.name())
    }

    /// The transaction itself, whose members have to agree with each other.
    pub async fn fetch(&self) -> Value {
        let transaction = self.app.get(&self.path()).await.expect(200).json();
        consistent(transaction["transaction"].clone())
    }

    /// The answer to a JSON body that says how to do something to it.
    pub async fn ask(&self, what: Move, body: &Value) -> Answer {
        self.app.post(&self.path_of(what), body).await
    }

    /// The same, repeated a bounded number of times while the service is overloaded.
    pub async fn ask_until_heard(&self, what: Move, body: &Value) -> Answer {
        until_heard(|| self.ask(what, body)).await
    }

    /// Does something to it, and returns the transaction as it is then.
    ///
    /// # Panics
    ///
    /// When it is not done, or is not the last step of the trail.
    pub async fn make(&self, what: Move, body: &Value) -> Value {
        let answer = self.ask_until_heard(what, body).await.expect(201);
        let transaction = consistent(answer.json()["transaction"].clone());
        let last = transaction["trail"].as_array().and_then(|trail| trail.last());
        let last = last.unwrap_or_else(|| panic!("has no trail: {answer:?}"));
        assert_eq!((&last[what.name()], &last["amount"]), (&json!(true), &body["amount"]));
        transaction
    }

    /// Captures an amount.
    pub async fn capture(&self, amount: i64) -> Value {
        self.make(Move::Capture, &json!({ "amount": amount })).await
    }

    /// Refunds an amount.
    pub async fn refund(&self, amount: i64) -> Value {
        self.make(Move::Refund, &json!({ "amount": amount })).await
    }

    /// Voids an amount.
    pub async fn void(&self, amount: i64) -> Value {
        self.make(Move::Void, &json!({ "amount": amount })).await
    }
}

/// A number of an answer.
///
/// # Panics
///
/// When it is no whole number.
pub fn int(value: &Value) -> i64 {
    value.as_i64().unwrap_or_else(|| panic!("{value} is no whole number"))
}

/// The transaction, whose counters have to be those of its trail, and within their limits.
fn consistent(transaction: Value) -> Value {
    let counter = |name: &str| int(&transaction[name]);
    let trail = transaction["trail"].as_array().expect("a trail");
    for what in Move::ALL {
        let steps = trail.iter().filter(|step| step[what.name()] == true);
        let sum: i64 = steps.map(|step| int(&step["amount"])).sum();
        assert_eq!(sum, counter(what.counter()), "{transaction}");
    }
    let gone = counter("capturedAmount") + counter("voidedAmount");
    if transaction["successful"] == true {
        assert_eq!(counter("pendingAmount"), counter("amount") - gone, "{transaction}");
    }
    assert!(counter("refundedAmount") <= counter("capturedAmount"), "{transaction}");
    transaction
}
