//! objstore-svc from outside.

mod client;
mod object;
mod service;
mod socket;

use std::sync::LazyLock;

pub use client::Client;
pub use object::{Key, Object, revision, unique};
pub use service::{Idle, Service};
pub use socket::{Event, Socket};

use crate::openapi::Document;

/// The name of the program.
pub const PROGRAM: &str = "objstore-svc";

/// What the service says of itself.
pub static DOCUMENT: LazyLock<Document> = LazyLock::new(|| {
    Document::parse(include_str!("../../crates/objstore-svc/assets/openapi.yaml"))
});
