//! The JSON body of every error, and the hidden cause for the log.

use std::{borrow::Cow, error::Error, fmt, sync::Arc};

use axum::{
    Json,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Serialize;

use crate::causes::causes;

/// The JSON body of an error: `{"error": "<stable_snake_case>", "message": "<for people>"}`.
#[derive(Debug, Clone, Serialize)]
pub struct ErrorBody {
    error: &'static str,
    message: Cow<'static, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    operation: Option<usize>,
}

impl ErrorBody {
    /// Takes a stable name for programs and a sentence for people.
    pub fn new(error: &'static str, message: impl Into<Cow<'static, str>>) -> Self {
        Self { error, message: message.into(), operation: None }
    }

    /// Names the operation of the request that has the error, by its index.
    #[must_use]
    pub fn of_operation(self, operation: Option<usize>) -> Self {
        Self { operation, ..self }
    }

    /// Renders this body with a status.
    pub fn response(self, status: StatusCode) -> Response {
        (status, Json(self)).into_response()
    }
}

/// `Retry-After` of a write that a full disk refused, in seconds.
pub const DISK_FULL_RETRY_AFTER: u64 = 5;

/// Adds `Retry-After` in seconds.
pub fn retry_after(mut response: Response, seconds: u64) -> Response {
    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    response
}

/// Adds `Retry-After: 1` and `Connection: close` to a response. The request was rejected because
/// the memory for request bodies is used up.
pub fn no_memory(response: Response) -> Response {
    let mut response = retry_after(response, 1);
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    response
}

/// The internal cause of an error response, attached as an extension. The caller does not
/// see it. The log line of the request shows it with all its sources, each once.
#[derive(Clone)]
pub struct Cause(Arc<dyn Error + Send + Sync>);

impl Cause {
    /// Wraps the error that the response hides.
    pub fn new(error: impl Error + Send + Sync + 'static) -> Self {
        Self(Arc::new(error))
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut last = self.0.to_string();
        formatter.write_str(&last)?;
        for cause in causes(&*self.0).skip(1) {
            let cause = cause.to_string();
            if !last.ends_with(&cause) {
                write!(formatter, ": {cause}")?;
                last = cause;
            }
        }
        Ok(())
    }
}

/// Returns the message of an error in one line, without the rows that PostgreSQL quotes in its
/// details.
#[cfg(feature = "store")]
pub(crate) fn reason(error: &(dyn Error + 'static)) -> String {
    if let Some(error) = error.downcast_ref::<tokio_postgres::error::DbError>() {
        return format!("{} ({})", error.message(), error.code().code());
    }
    match error.source() {
        Some(source) => format!("{error}: {}", reason(source)),
        None => error.to_string(),
    }
}
