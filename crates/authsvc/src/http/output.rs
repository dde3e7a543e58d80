//! The body of almost every answer.

use axum::Json;
use jiff::Timestamp;
use serde::Serialize;

use crate::domain::local_offset;

/// Whether a request succeeded, what there is to say, and when it was.
#[derive(Serialize)]
pub(super) struct StatusOutput {
    pub(super) status: bool,
    pub(super) message: String,
    pub(super) timestamp: String,
}

impl StatusOutput {
    /// An answer given now.
    pub(super) fn now(status: bool, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), timestamp: timestamp() }
    }

    pub(super) fn json(self) -> Json<Self> {
        Json(self)
    }
}

/// Now, as RFC 3339 with microseconds, at +05:30.
fn timestamp() -> String {
    format!("{:.6}", Timestamp::now().display_with_offset(local_offset()))
}
