//! Reading a request body whole, within a size and a time.

use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use http_body_util::{BodyExt, LengthLimitError, Limited};

/// How long a client may take to send one body.
pub const BODY_TIMEOUT: Duration = Duration::from_secs(30);

/// Why a body was not read.
#[derive(Debug, thiserror::Error)]
pub enum BodyError {
    /// The body is longer than the limit.
    #[error("the body is longer than {limit} bytes")]
    TooLarge {
        /// The limit it exceeds, in bytes.
        limit: usize,
    },
    /// The body did not arrive within [`BODY_TIMEOUT`].
    #[error("the body did not arrive in time")]
    TimedOut,
    /// The connection broke, or its framing is wrong.
    #[error("the body could not be read")]
    Broken(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// Reads a body of at most `limit` bytes, however it is framed.
pub async fn read(body: Body, limit: usize) -> Result<Bytes, BodyError> {
    let whole = Limited::new(body, limit).collect();
    match tokio::time::timeout(BODY_TIMEOUT, whole).await {
        Ok(Ok(collected)) => Ok(collected.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(BodyError::TooLarge { limit }),
        Ok(Err(error)) => Err(BodyError::Broken(error)),
        Err(_) => Err(BodyError::TimedOut),
    }
}
