//! A transaction, accessed by an app of its merchant.

use serde_json::{Value, json};

use super::{App, overload::with_retries};
use crate::http::Answer;

/// An action on a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Move {
    /// Takes money.
    Capture,
    /// Returns money.
    Refund,
    /// Releases reserved money.
    Void,
}

impl Move {
    pub const ALL: [Self; 3] = [Self::Capture, Self::Refund, Self::Void];

    /// The member that marks this action in a trail.
    pub fn name(self) -> &'static str {
        match self {
            Self::Capture => "capture",
            Self::Refund => "refund",
            Self::Void => "void",
        }
    }

    /// The member with the total of this action.
    pub fn counter(self) -> &'static str {
        match self {
            Self::Capture => "capturedAmount",
            Self::Refund => "refundedAmount",
            Self::Void => "voidedAmount",
        }
    }
}

#[derive(Clone)]
pub struct Transaction {
    /// The app that sends the requests.
    pub app: App,
    pub id: String,
}

impl Transaction {
    /// The same transaction with requests by another app, or to a restarted service.
    #[must_use]
    pub fn by(&self, app: &App) -> Self {
        Self { app: app.clone(), ..self.clone() }
    }

    pub fn path(&self) -> String {
        format!("/transactions/{}", self.id)
    }

    /// The path of an action.
    pub fn path_of(&self, action: Move) -> String {
        format!("{}/{}s", self.path(), action.name())
    }

    /// Reads the transaction and checks that its members agree.
    pub async fn fetch(&self) -> Value {
        let transaction = self.app.get(&self.path()).await.expect(200).json();
        consistent(transaction["transaction"].clone())
    }

    /// Posts a JSON body to the path of an action.
    pub async fn ask(&self, action: Move, body: &Value) -> Answer {
        self.app.post(&self.path_of(action), body).await
    }

    /// [`Self::ask`] with a bounded number of retries while the service is overloaded.
    pub async fn ask_with_retries(&self, action: Move, body: &Value) -> Answer {
        with_retries(|| self.ask(action, body)).await
    }

    /// Does an action that has to succeed, with retries while the service is overloaded. Returns
    /// the transaction, after checking that the action is in its trail. A void of the rest may follow it.
    pub async fn make(&self, action: Move, body: &Value) -> Value {
        let answer = self.ask_with_retries(action, body).await.expect(201);
        let transaction = consistent(answer.json()["transaction"].clone());
        let trail = transaction["trail"].as_array().expect("a trail");
        let made = trail.iter().rfind(|step| step[action.name()] == true);
        let made = made.unwrap_or_else(|| panic!("is not in the trail: {answer:?}"));
        assert_eq!(made["amount"], body["amount"]);
        transaction
    }

    /// `amount` is in minor units, as in the other actions.
    pub async fn capture(&self, amount: i64) -> Value {
        self.make(Move::Capture, &json!({ "amount": amount })).await
    }

    pub async fn refund(&self, amount: i64) -> Value {
        self.make(Move::Refund, &json!({ "amount": amount })).await
    }

    pub async fn void(&self, amount: i64) -> Value {
        self.make(Move::Void, &json!({ "amount": amount })).await
    }
}

/// The value as a whole number.
pub fn int(value: &Value) -> i64 {
    value.as_i64().unwrap_or_else(|| panic!("{value} is no whole number"))
}

/// Checks that the counters equal the sums of the trail and stay within their limits.
fn consistent(transaction: Value) -> Value {
    let counter = |name: &str| int(&transaction[name]);
    let trail = transaction["trail"].as_array().expect("a trail");
    for action in Move::ALL {
        let steps = trail.iter().filter(|step| step[action.name()] == true);
        let sum: i64 = steps.map(|step| int(&step["amount"])).sum();
        assert_eq!(sum, counter(action.counter()), "{transaction}");
    }
    let gone = counter("capturedAmount") + counter("voidedAmount");
    if transaction["successful"] == true {
        assert_eq!(counter("pendingAmount"), counter("amount") - gone, "{transaction}");
    }
    // A refused capture is reversed before the refunds behind it.
    let is_reversed = trail.iter().any(|step| int(&step["amount"]) < 0);
    let can_exceed = counter("refundedAmount") <= counter("capturedAmount") || is_reversed;
    assert!(can_exceed, "{transaction}");
    transaction
}
