//! The body every error of a service has, and what its log line is made of.

use std::{borrow::Cow, error::Error, fmt, sync::Arc};

use axum::{
    Json,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Serialize;

/// The JSON body of an error: `{"error": "<stable_snake_case>", "message": "<for people>"}`.
#[derive(Debug, Clone, Serialize)]
pub struct ErrorBody {
    error: &'static str,
    message: Cow<'static, str>,
}

impl ErrorBody {
    /// A body with a stable name for programs and a sentence for people.
    pub fn new(error: &'static str, message: impl Into<Cow<'static, str>>) -> Self {
        Self { error, message: message.into() }
    }

    /// The response that carries this body.
    pub fn response(self, status: StatusCode) -> Response {
        (status, Json(self)).into_response()
    }
}

/// A response that says when to try again, in whole seconds.
pub fn retry_after(mut response: Response, seconds: u64) -> Response {
    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    response
}

/// A response to a request whose body found no memory: try again in a second. The connection ends
/// with it.
pub fn no_memory(response: Response) -> Response {
    let mut response = retry_after(response, 1);
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    response
}

/// What went wrong inside, attached to a response whose body does not tell it, so that the one
/// line the request leaves in the log names the cause with its whole chain.
#[derive(Clone)]
pub struct Cause(Arc<dyn Error + Send + Sync>);

impl Cause {
    /// Wraps the error that a response hides from the client.
    pub fn new(error: impl Error + Send + Sync + 'static) -> Self {
        Self(Arc::new(error))
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.0)?;
        let mut source = self.0.source();
        while let Some(error) = source {
            write!(formatter, ": {error}")?;
            source = error.source();
        }
        Ok(())
    }
}

/// The message of an error in one line, without the rows that PostgreSQL quotes in its details.
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub(crate) fn reason(error: &(dyn Error + 'static)) -> String {
    #[cfg(feature = "postgres")]
    if let Some(error) = error.downcast_ref::<tokio_postgres::error::DbError>() {
        return format!("{} ({})", error.message(), error.code().code());
    }
    match error.source() {
        Some(source) => format!("{error}: {}", reason(source)),
        None => error.to_string(),
    }
}
