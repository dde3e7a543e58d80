//! A client of payments-svc.

mod acquirer;
mod app;
mod books;
mod card;
pub mod desk;
mod link;
mod list;
mod merchant;
mod overload;
mod receiver;
mod refusal;
mod service;
pub mod stripe;
mod transaction;
mod webhook;

use std::sync::LazyLock;

pub use acquirer::{Acquirer, SECRET, UNREACHABLE, seconds, signature};
pub use app::App;
pub use card::{Card, EXPIRY, group_of};
pub use link::{Link, next};
pub use list::{ids, items};
pub use merchant::{Merchant, email, minimal};
pub use overload::with_retries;
pub use receiver::{Received, Receiver, Reply};
pub use refusal::Refusal;
pub use service::{BROWSER, DEFAULT_LIMITS, Payments, Service, Stopped, WRONG_EVENTS};
pub use stripe::{Stripe, WEBHOOK_SECRET as STRIPE_WEBHOOK_SECRET, live_merchant, stripe_event};
pub use transaction::{Move, Transaction, int};
pub use webhook::{LOCAL, Repeats, Webhook, accepted};

use crate::openapi::Document;

pub const PROGRAM: &str = "payments-svc";

/// The OpenAPI document, with the paths of both listeners.
pub static DOCUMENT: LazyLock<Document> = LazyLock::new(|| {
    Document::parse(include_str!("../../crates/payments-svc/assets/openapi.yaml"))
});

/// The paths of the listener for apps.
static API: LazyLock<Document> =
    LazyLock::new(|| DOCUMENT.part(|path| path.get("servers").is_none()));

/// The paths of the listener for customers: those with their own `servers`.
static POS: LazyLock<Document> =
    LazyLock::new(|| DOCUMENT.part(|path| path.get("servers").is_some()));
