//! The body of almost every answer.

use axum::Json;
use jiff::Timestamp;
use serde::Serialize;
use tokio::{task::futures::TaskLocalFuture, task_local};

use crate::domain::local_offset;

task_local! {
    /// When the request that is being answered arrived.
    static ARRIVED: Timestamp;
}

/// Notes that a request arrives now, for its answer to tell.
pub(super) fn note_arrival<F: Future>(answering: F) -> TaskLocalFuture<Timestamp, F> {
    ARRIVED.scope(Timestamp::now(), answering)
}

/// Whether a request succeeded, what there is to say, and when it was.
#[derive(Serialize)]
pub(super) struct StatusOutput {
    status: bool,
    message: String,
    timestamp: String,
}

impl StatusOutput {
    pub(super) fn new(status: bool, message: impl Into<String>) -> Self {
        let arrived = ARRIVED.try_with(|&arrived| arrived);
        let arrived = arrived.unwrap_or_else(|_| Timestamp::now());
        Self { status, message: message.into(), timestamp: written(arrived) }
    }

    pub(super) fn json(self) -> Json<Self> {
        Json(self)
    }
}

/// RFC 3339 with microseconds, at +05:30.
fn written(at: Timestamp) -> String {
    format!("{:.6}", at.display_with_offset(local_offset()))
}
