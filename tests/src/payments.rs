//! payments-svc from outside.

mod acquirer;
mod app;
mod card;
mod link;
mod list;
mod merchant;
mod overload;
mod refusal;
mod service;
mod transaction;

use std::sync::LazyLock;

pub use acquirer::{Acquirer, SECRET, seconds, signature};
pub use app::App;
pub use card::{Card, EXPIRY, group_of};
pub use link::{Link, next};
pub use list::{ids, items};
pub use merchant::{Merchant, email, minimal};
pub use refusal::Refusal;
pub use service::{DEFAULT_LIMITS, Idle, Service};
pub use transaction::{Move, Transaction, int};

use crate::openapi::Document;

/// The name of the program.
pub const PROGRAM: &str = "payments-svc";

/// What the service says of itself.
pub static DOCUMENT: LazyLock<Document> = LazyLock::new(|| {
    Document::parse(include_str!("../../crates/payments-svc/assets/openapi.yaml"))
});

/// What of it is about the listener for apps.
static API: LazyLock<Document> =
    LazyLock::new(|| DOCUMENT.part(|path| path.get("servers").is_none()));

/// What of it is about the listener for customers.
static POS: LazyLock<Document> =
    LazyLock::new(|| DOCUMENT.part(|path| path.get("servers").is_some()));
