//! Every error of a request, with its status, name and message.

use axum::{
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use common::{
    ErrorBody,
    body::BodyError,
    edge,
    error::{Cause, DISK_FULL_RETRY_AFTER, no_memory, retry_after},
    json::InvalidJson,
    limits::Refused as RateRefused,
};

use crate::{
    domain::{
        InvalidETag, InvalidId, InvalidKey, InvalidOffset, InvalidOwner, InvalidTtl, InvalidValue,
        Refusal,
    },
    store::StoreError,
};

/// The value of `Retry-After` in seconds, unless a rate limit computes it.
const RETRY_AFTER: u64 = 1;

#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error(transparent)]
    Edge(#[from] edge::Refusal),
    #[error("the body is invalid: {0}")]
    Body(String),
    #[error("the body must be application/json")]
    ContentType,
    #[error("If-Match or If-None-Match is {0}")]
    Header(#[from] InvalidETag),
    #[error("{0}")]
    Query(&'static str),
    #[error(transparent)]
    Ttl(#[from] InvalidTtl),
    #[error("there is no valid session: register with POST /register")]
    Unauthenticated,
    #[error("this origin is not allowed: the operator can add it to OBJSTORE_ORIGINS")]
    Origin,
    #[error("a page of another origin sends this: the operator can add it to OBJSTORE_ORIGINS")]
    CrossOrigin,
    #[error("there is no such path")]
    NotFound,
    #[error("this path does not support this method")]
    MethodNotAllowed,
    #[error("the body did not arrive in time")]
    Timeout,
    #[error("the body is longer than {0} bytes")]
    TooLarge(usize),
    #[error("the memory for request bodies is used up: try again in a second")]
    NoMemory,
    #[error(transparent)]
    RateLimited(#[from] RateRefused),
    #[error("the connection could not be upgraded to a websocket: {0}")]
    Upgrade(String),
    #[error("the socket limit is reached: try again later")]
    TooManySockets,
    #[error("the limit of sockets and live streams is reached: try again later")]
    TooManyStreams,
    #[error("a part of the path is longer than 512 bytes, or has U+0000, or is not UTF-8")]
    StreamPath,
    #[error(transparent)]
    Offset(#[from] InvalidOffset),
    #[error("the connection could not be upgraded to a websocket: {0}")]
    Subscription(#[source] StoreError),
    #[error("an internal error occurred")]
    Internal(#[source] StoreError),
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error(transparent)]
    Store(StoreError),
    /// The error of the operation with this index.
    #[error("{1}")]
    Operation(usize, Box<Error>),
}

impl IntoResponse for Error {
    fn into_response(self) -> Response {
        let message = self.to_string();
        let (operation, error) = match self {
            Self::Operation(index, error) => (Some(index), *error),
            error => (None, error),
        };
        let answer =
            |status, name| ErrorBody::new(name, message).of_operation(operation).response(status);
        match error {
            Self::Edge(refusal) => answer(refusal.status(), refusal.name()),
            Self::Body(_) | Self::Operation(..) => answer(StatusCode::BAD_REQUEST, "invalid_body"),
            Self::ContentType => answer(StatusCode::BAD_REQUEST, "invalid_content_type"),
            Self::Header(_) => answer(StatusCode::BAD_REQUEST, "invalid_header"),
            Self::StreamPath => answer(StatusCode::BAD_REQUEST, "invalid_path"),
            Self::Query(_) | Self::Offset(_) | Self::Ttl(_) => {
                answer(StatusCode::BAD_REQUEST, "invalid_query")
            }
            Self::Unauthenticated | Self::Refused(Refusal::ClientRemoved) => {
                answer(StatusCode::UNAUTHORIZED, "unauthenticated")
            }
            Self::Refused(Refusal::IdNotProven) => {
                let challenge = [(header::WWW_AUTHENTICATE, "Bearer")];
                (challenge, answer(StatusCode::UNAUTHORIZED, "identity_not_proven")).into_response()
            }
            Self::Refused(Refusal::NotAllowed) => answer(StatusCode::UNAUTHORIZED, "not_allowed"),
            Self::Refused(Refusal::NotOwner) => answer(StatusCode::UNAUTHORIZED, "not_owner"),
            Self::Origin => answer(StatusCode::UNAUTHORIZED, "origin_not_allowed"),
            Self::CrossOrigin => answer(StatusCode::FORBIDDEN, "cross_origin"),
            Self::NotFound => answer(StatusCode::NOT_FOUND, "not_found"),
            Self::MethodNotAllowed => answer(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed"),
            Self::Timeout => answer(StatusCode::REQUEST_TIMEOUT, "request_timeout"),
            Self::Refused(Refusal::PreconditionFailed) => {
                answer(StatusCode::PRECONDITION_FAILED, "precondition_failed")
            }
            Self::TooLarge(_) | Self::Refused(Refusal::GroupTooLarge) => {
                answer(StatusCode::PAYLOAD_TOO_LARGE, "body_too_large")
            }
            Self::NoMemory => no_memory(answer(StatusCode::SERVICE_UNAVAILABLE, "overloaded")),
            Self::RateLimited(refused) => {
                let response = answer(StatusCode::TOO_MANY_REQUESTS, "rate_limited");
                retry_after(response, refused.retry_after)
            }
            Self::Refused(Refusal::NoObject) => {
                answer(StatusCode::UNPROCESSABLE_ENTITY, "object_not_found")
            }
            Self::Refused(Refusal::IdNotAllowed) => {
                answer(StatusCode::UNPROCESSABLE_ENTITY, "identity_refused")
            }
            Self::Refused(Refusal::TooManyClients) => {
                answer(StatusCode::UNPROCESSABLE_ENTITY, "too_many_clients")
            }
            Self::Refused(Refusal::TooManyWatches) => {
                answer(StatusCode::UNPROCESSABLE_ENTITY, "too_many_watches")
            }
            Self::TooManySockets | Self::Subscription(StoreError::NoWatchMemory) => {
                retry_after(answer(StatusCode::INTERNAL_SERVER_ERROR, "not_upgraded"), RETRY_AFTER)
            }
            Self::Upgrade(_) => answer(StatusCode::INTERNAL_SERVER_ERROR, "not_upgraded"),
            Self::Subscription(cause) => {
                with_cause(answer(StatusCode::INTERNAL_SERVER_ERROR, "not_upgraded"), cause)
            }
            Self::Internal(cause) => {
                with_cause(answer(StatusCode::INTERNAL_SERVER_ERROR, "internal"), cause)
            }
            Self::TooManyStreams
            | Self::Refused(Refusal::TooManyDeletions)
            | Self::Store(StoreError::Overloaded | StoreError::NoWatchMemory) => {
                retry_after(answer(StatusCode::SERVICE_UNAVAILABLE, "overloaded"), RETRY_AFTER)
            }
            Self::Store(StoreError::Busy) => {
                retry_after(answer(StatusCode::SERVICE_UNAVAILABLE, "store_busy"), RETRY_AFTER)
            }
            Self::Store(StoreError::DiskFull) => {
                let response = answer(StatusCode::SERVICE_UNAVAILABLE, "storage_unavailable");
                retry_after(response, DISK_FULL_RETRY_AFTER)
            }
            Self::Store(cause) => {
                let response = answer(StatusCode::SERVICE_UNAVAILABLE, "storage_unavailable");
                // A write that failed may be committed.
                let response = match cause {
                    StoreError::WriteFailed(_) => response,
                    _ => retry_after(response, RETRY_AFTER),
                };
                with_cause(response, cause)
            }
        }
    }
}

/// Attaches the cause for the log. The response does not show it.
fn with_cause(mut response: Response, cause: StoreError) -> Response {
    response.extensions_mut().insert(Cause::new(cause));
    response
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Panicked => Self::Internal(error),
            _ => Self::Store(error),
        }
    }
}

impl From<BodyError> for Error {
    fn from(error: BodyError) -> Self {
        match error {
            BodyError::TooLarge { limit } => Self::TooLarge(limit),
            BodyError::TimedOut => Self::Timeout,
            BodyError::NoMemory => Self::NoMemory,
            BodyError::Broken(_) | BodyError::Gone => Self::Body(error.to_string()),
        }
    }
}

impl From<serde_json::Error> for Error {
    fn from(error: serde_json::Error) -> Self {
        Self::Body(error.to_string())
    }
}

impl From<InvalidJson> for Error {
    fn from(error: InvalidJson) -> Self {
        Self::Body(error.to_string())
    }
}

impl From<InvalidValue> for Error {
    fn from(error: InvalidValue) -> Self {
        Self::Body(error.to_string())
    }
}

impl From<InvalidOwner> for Error {
    fn from(error: InvalidOwner) -> Self {
        Self::Body(error.to_string())
    }
}

/// For keys in bodies. `KeyOnlyInput::key` handles empty parts before this conversion.
impl From<InvalidKey> for Error {
    fn from(error: InvalidKey) -> Self {
        Self::Body(error.to_string())
    }
}

impl From<InvalidId> for Error {
    fn from(error: InvalidId) -> Self {
        match error {
            InvalidId::NotAUuid => Self::Body(error.to_string()),
            InvalidId::Nil => Refusal::IdNotAllowed.into(),
        }
    }
}
