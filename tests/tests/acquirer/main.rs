//! Black-box tests of the acquirer protocol, against demo-acquirer.

mod authorizations;
mod books;
mod challenges;
mod document;
mod faults;
mod keys;
mod movements;
mod notifications;
mod program;
mod settlement;
mod signatures;

use serde_json::{Value, json};

/// The body of a capture, refund or void in EUR.
fn part(authorization: &str, amount: u64) -> Value {
    json!({
        "authorization": authorization,
        "transactionId": blackbox::acquirer::id(),
        "currency": "EUR",
        "amount": amount,
    })
}

fn reversal(authorization: &str) -> Value {
    json!({ "authorization": authorization, "transactionId": blackbox::acquirer::id() })
}

fn done(key: &str) -> Value {
    json!({ "key": key, "status": "done" })
}

fn declined(key: &str, code: u64) -> Value {
    json!({ "key": key, "status": "declined", "code": code })
}

fn refused(key: &str, reason: &str) -> Value {
    json!({ "key": key, "status": "refused", "reason": reason })
}

fn pending(key: &str) -> Value {
    json!({ "key": key, "status": "pending" })
}

const CLOSED: &str = "the key was closed before the request arrived";
