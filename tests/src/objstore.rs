//! A client of objstore-svc.

mod client;
mod documented;
mod object;
mod service;
mod socket;
mod state_stream;
mod writers;

use std::sync::LazyLock;

pub use client::Client;
pub use documented::Documented;
pub use object::{Key, Object, batch, revision, unique};
pub use service::{Objstore, Service, Stopped};
pub use socket::{Event, Socket};
pub use state_stream::{Change, Part, StateStream, exact, stream_path};
pub use writers::{Shift, Writers};

use crate::openapi::Document;

pub const PROGRAM: &str = "objstore-svc";

/// The OpenAPI document, against which all answers are checked.
pub static DOCUMENT: LazyLock<Document> = LazyLock::new(|| {
    Document::parse(include_str!("../../crates/objstore-svc/assets/openapi.yaml"))
});
