//! All errors of a request, and their responses. The body is `{error, message}`, with two
//! exceptions: an invalid request gets an array of fields, and [`super::json`] writes declined
//! payments.
//!
//! The names in `error` are stable, because callers compare them. `assets/openapi.yaml` and
//! `docs/payments-svc.md` list them.

use axum::{
    Json,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use common::{
    ErrorBody,
    body::BodyError,
    edge,
    error::{Cause, DISK_FULL_RETRY_AFTER, no_memory, retry_after},
};
use payments_domain::FieldError;

use super::page::see_other;
use crate::app::{Error as Failure, SignatureError};

/// `Retry-After` of 503 `overloaded` and `store_busy`, in seconds.
const RETRY_AFTER: u64 = 1;

/// Asks for the key of an app.
const CHALLENGE: HeaderValue = HeaderValue::from_static("Basic realm=\"payments\"");

/// Asks for the token of `POST /apps`.
const TOKEN_CHALLENGE: HeaderValue = HeaderValue::from_static("Bearer");

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error(transparent)]
    Edge(edge::Refusal),
    #[error("the token of POST /apps is missing or wrong")]
    TokenRequired,
    #[error("{error}")]
    Unsigned {
        /// The header of the signature.
        header: &'static str,
        error: SignatureError,
    },
    #[error("this path does not support the method")]
    MethodNotAllowed,
    #[error("the body must be application/json or application/x-www-form-urlencoded")]
    ContentType,
    #[error("the body must be multipart/form-data")]
    NotMultipart,
    #[error("the body is longer than {limit} bytes")]
    TooLarge { limit: usize },
    #[error("the body did not arrive in time")]
    TimedOut,
    #[error("too many request bodies are waiting: try again in a second")]
    NoMemory,
    #[error("the body could not be read")]
    Unreadable,
    /// Not an error: a browser goes on at this address first.
    #[error("go on at {0}")]
    SeeOther(String),
    #[error(transparent)]
    App(Failure),
}

impl IntoResponse for Error {
    fn into_response(self) -> Response {
        let message = self.to_string();
        let answer = |status, name| ErrorBody::new(name, message).response(status);
        let unavailable = StatusCode::SERVICE_UNAVAILABLE;
        match self {
            Self::Edge(refusal) => answer(refusal.status(), refusal.name()),
            Self::TokenRequired => {
                let response = answer(StatusCode::UNAUTHORIZED, "unauthenticated");
                ([(header::WWW_AUTHENTICATE, TOKEN_CHALLENGE)], response).into_response()
            }
            Self::Unsigned { header, .. } => {
                let response = answer(StatusCode::UNAUTHORIZED, "unauthenticated");
                ([(header::WWW_AUTHENTICATE, header)], response).into_response()
            }
            Self::MethodNotAllowed => answer(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed"),
            Self::ContentType | Self::NotMultipart => {
                answer(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type")
            }
            Self::TooLarge { .. } => answer(StatusCode::PAYLOAD_TOO_LARGE, "body_too_large"),
            Self::TimedOut => answer(StatusCode::REQUEST_TIMEOUT, "request_timeout"),
            Self::NoMemory => no_memory(answer(unavailable, "overloaded")),
            Self::Unreadable => {
                let invalid = [FieldError::new("", "could not be read")];
                (StatusCode::BAD_REQUEST, Json(invalid)).into_response()
            }
            Self::SeeOther(url) => see_other(&url),
            Self::App(Failure::Unauthenticated) => {
                let response = answer(StatusCode::UNAUTHORIZED, "unauthenticated");
                ([(header::WWW_AUTHENTICATE, CHALLENGE)], response).into_response()
            }
            Self::App(Failure::Forbidden) => answer(StatusCode::FORBIDDEN, "forbidden"),
            Self::App(Failure::NotFound) => answer(StatusCode::NOT_FOUND, "not_found"),
            Self::App(Failure::Invalid(invalid)) => {
                (StatusCode::BAD_REQUEST, Json(invalid)).into_response()
            }
            Self::App(Failure::InFlight) => {
                answer(StatusCode::CONFLICT, "idempotency_key_in_flight")
            }
            Self::App(Failure::KeyReused) => {
                answer(StatusCode::UNPROCESSABLE_ENTITY, "idempotency_key_reused")
            }
            Self::App(Failure::MerchantHeld) => answer(StatusCode::BAD_REQUEST, "merchant_held"),
            // Only the payment page can get this one, and it answers with a page.
            Self::App(Failure::LinkUsed) => answer(StatusCode::GONE, "link_used"),
            Self::App(Failure::NoRate(cause)) => {
                hiding(answer(unavailable, "no_exchange_rate"), cause)
            }
            Self::App(Failure::OutcomeUnknown(cause)) if cause.is_disk_full() => {
                answer(unavailable, "outcome_unknown")
            }
            Self::App(Failure::OutcomeUnknown(cause)) => {
                hiding(answer(unavailable, "outcome_unknown"), cause)
            }
            Self::App(Failure::NoAnswer(cause)) => {
                hiding(answer(unavailable, "acquirer_unavailable"), cause)
            }
            Self::App(Failure::RateLimited(refused)) => {
                let response = answer(StatusCode::TOO_MANY_REQUESTS, "rate_limited");
                retry_after(response, refused.retry_after)
            }
            Self::App(Failure::Overloaded) => {
                retry_after(answer(unavailable, "overloaded"), RETRY_AFTER)
            }
            Self::App(Failure::Busy) => retry_after(answer(unavailable, "store_busy"), RETRY_AFTER),
            Self::App(Failure::DiskFull) => {
                retry_after(answer(unavailable, "storage_unavailable"), DISK_FULL_RETRY_AFTER)
            }
            Self::App(Failure::Store(cause)) => {
                hiding(answer(unavailable, "storage_unavailable"), cause)
            }
            Self::App(Failure::Internal(cause)) => {
                hiding(answer(StatusCode::INTERNAL_SERVER_ERROR, "internal"), cause)
            }
            Self::App(Failure::Sealed(cause)) => {
                hiding(answer(StatusCode::INTERNAL_SERVER_ERROR, "internal"), cause)
            }
        }
    }
}

/// Attaches the cause for the log. The caller does not see it.
fn hiding(
    mut response: Response,
    cause: impl std::error::Error + Send + Sync + 'static,
) -> Response {
    response.extensions_mut().insert(Cause::new(cause));
    response
}

impl<E: Into<Failure>> From<E> for Error {
    fn from(error: E) -> Self {
        Self::App(error.into())
    }
}

impl From<BodyError> for Error {
    fn from(error: BodyError) -> Self {
        match error {
            BodyError::TooLarge { limit } => Self::TooLarge { limit },
            BodyError::TimedOut => Self::TimedOut,
            BodyError::NoMemory => Self::NoMemory,
            BodyError::Broken(_) | BodyError::Gone => Self::Unreadable,
        }
    }
}
