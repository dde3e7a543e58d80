//! A client of objstore-svc.

mod client;
mod event_stream;
mod object;
mod service;
mod socket;
mod writers;

use std::sync::LazyLock;

pub use client::Client;
pub use event_stream::{Block, EventStream};
pub use object::{Key, Object, revision, unique};
pub use service::{Service, Stopped};
pub use socket::{Event, Socket};
pub use writers::{Shift, Writers};

use crate::openapi::Document;

pub const PROGRAM: &str = "objstore-svc";

/// The OpenAPI document, against which all answers are checked.
pub static DOCUMENT: LazyLock<Document> = LazyLock::new(|| {
    Document::parse(include_str!("../../crates/objstore-svc/assets/openapi.yaml"))
});
