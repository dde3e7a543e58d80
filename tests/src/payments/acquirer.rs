//! An acquirer, which sends notifications about transactions.

use std::time::{SystemTime, UNIX_EPOCH};

use hmac::{Hmac, KeyInit as _, Mac as _};
use reqwest::Method;
use serde_json::{Value, json};
use sha2::Sha256;
use uuid::Uuid;

use super::{Service, Transaction, overload::with_retries};
use crate::http::{Answer, Request};

/// The setting with the secret that signs the acquirer's notifications.
pub const SECRET: (&str, &str) = ("PAYMENTS_ACQUIRER_SECRET", "whsec_of_the_tests");

/// Settings with which live merchants can take payments, from an acquirer that does not answer.
pub const UNREACHABLE: [(&str, &str); 3] =
    [SECRET, ("PAYMENTS_ACQUIRER", "http"), ("PAYMENTS_ACQUIRER_URL", "https://127.0.0.1:9")];

/// In the future, so that no dispute is overdue when it is opened.
const CREATED: &str = "2099-11-21T10:00:00Z";

/// An acquirer that signs with [`SECRET`].
pub struct Acquirer<'a>(pub &'a Service);

impl Acquirer<'_> {
    /// A notification with a new id, and with `members` added to the common ones.
    pub fn event(kind: &str, transaction: &Transaction, members: Value) -> Value {
        let mut event = json!({
            "id": format!("evt {}", Uuid::new_v4()),
            "type": kind,
            "created": CREATED,
            "transactionId": transaction.id,
        });
        if let (Some(event), Value::Object(members)) = (event.as_object_mut(), members) {
            event.extend(members);
        }
        event
    }

    /// A notification with this signature.
    pub fn signed(&self, signature: &str, body: &str) -> Request {
        let request = self.0.request(Method::POST, "/acquirer/events");
        request.header("acquirer-signature", signature).body_of("application/json", body)
    }

    /// Sends a signed notification, with a bounded number of retries while the service is
    /// overloaded.
    pub async fn notify(&self, event: &Value) -> Answer {
        let body = event.to_string();
        let signed = || self.signed(&signature(SECRET.1, seconds(), &body), &body);
        with_retries(|| signed().send()).await
    }

    /// Reports a new dispute and returns its id at the acquirer.
    pub async fn open(&self, transaction: &Transaction, amount: i64) -> String {
        let dispute = format!("dp {}", Uuid::new_v4());
        let members = json!({ "disputeId": dispute, "amount": amount });
        let event = Self::event("dispute.opened", transaction, members);
        let _ = self.notify(&event).await.expect(204);
        dispute
    }

    /// Reports the end of a dispute. `how` is `won` or `lost`.
    pub async fn end(&self, transaction: &Transaction, dispute: &str, how: &str) {
        let members = json!({ "disputeId": dispute });
        let event = Self::event(&format!("dispute.{how}"), transaction, members);
        let _ = self.notify(&event).await.expect(204);
    }
}

/// The signature of a body with this secret. `seconds` is Unix time.
pub fn signature(secret: &str, seconds: i64, body: &str) -> String {
    let key = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).expect("any length is a key");
    let tag = key.chain_update(format!("{seconds}.{body}")).finalize().into_bytes();
    format!("t={seconds},v1={}", hex::encode(tag))
}

/// Unix time in seconds.
#[expect(clippy::disallowed_methods, reason = "signatures need the current time")]
pub fn seconds() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is later");
    since.as_secs().try_into().expect("it is not that late")
}
