//! The JSON body of most responses.

use std::borrow::Cow;

use axum::{
    Json,
    http::{HeaderName, HeaderValue},
    response::Response,
};
use jiff::Timestamp;
use serde::Serialize;
use tokio::{task::futures::TaskLocalFuture, task_local};

use crate::domain::local_offset;

task_local! {
    /// Arrival time of the current request.
    static ARRIVED: Timestamp;
}

/// Records the arrival time of a request, which its response contains.
pub(super) fn note_arrival<F: Future>(answering: F) -> TaskLocalFuture<Timestamp, F> {
    ARRIVED.scope(Timestamp::now(), answering)
}

/// Whether the request succeeded, a message for people, and the arrival time.
#[derive(Serialize)]
pub(super) struct StatusOutput {
    status: bool,
    message: Cow<'static, str>,
    timestamp: String,
}

impl StatusOutput {
    pub(super) fn new(status: bool, message: impl Into<Cow<'static, str>>) -> Self {
        let arrived = ARRIVED.try_with(|&arrived| arrived);
        let arrived = arrived.unwrap_or_else(|_| Timestamp::now());
        Self { status, message: message.into(), timestamp: format_time(arrived) }
    }

    pub(super) fn json(self) -> Json<Self> {
        Json(self)
    }
}

/// Header with a stable name of the error, for programs.
const ERROR_CODE: HeaderName = HeaderName::from_static("x-error-code");

pub(super) fn with_code(mut response: Response, code: &'static str) -> Response {
    response.headers_mut().insert(ERROR_CODE, HeaderValue::from_static(code));
    response
}

/// Formats a time as RFC 3339 with microseconds, at +05:30.
fn format_time(at: Timestamp) -> String {
    format!("{:.6}", at.display_with_offset(local_offset()))
}
