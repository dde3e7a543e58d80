//! Every way a request can fail, and what the client is told.

use axum::{
    Json,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use common::{
    ErrorBody,
    error::{Cause, retry_after},
    limits,
};

use super::body::BodyRefusal;
use crate::{
    acquirer::NoAnswer,
    domain::{Invalid, NoRate, Refused, write::Refusal},
    payments::{PayError, VerifyError},
    store::StoreError,
};

/// Seconds after which a client that met a full queue may try again.
const RETRY_AFTER: u64 = 1;

/// What credentials are asked for.
const CHALLENGE: HeaderValue = HeaderValue::from_static("Basic realm=\"payments\"");

/// The same where a token is asked for.
const TOKEN_CHALLENGE: HeaderValue = HeaderValue::from_static("Bearer");

/// A request that failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("the API key is missing or wrong")]
    Unauthenticated,
    #[error("the token for new apps is missing or wrong")]
    TokenRequired,
    #[error("this app has no access")]
    Forbidden,
    #[error("there is nothing under this path")]
    NotFound,
    #[error("this path has no such method")]
    MethodNotAllowed,
    #[error("the request is not valid")]
    Invalid(Vec<Invalid>),
    #[error(transparent)]
    Body(BodyRefusal),
    #[error("the request with this idempotency key is not finished")]
    InFlight,
    #[error("the idempotency key was used for another request")]
    KeyReused,
    #[error("there is no exchange rate that is fresh enough")]
    NoRate(#[source] NoRate),
    #[error("the outcome is not known; what may have been reserved will be let go")]
    OutcomeUnknown(#[source] PayError),
    #[error("the acquirer did not answer")]
    NoAnswer(#[source] NoAnswer),
    #[error(transparent)]
    RateLimited(limits::Refused),
    #[error("too much is waiting")]
    Overloaded,
    #[error("the store is not available")]
    Store(#[source] StoreError),
    #[error("an internal error occurred")]
    Internal(#[source] StoreError),
}

impl Error {
    /// One member is wrong.
    pub(crate) fn field(field: &'static str, message: impl ToString) -> Self {
        Self::Invalid(vec![Invalid::new(field, message.to_string())])
    }
}

impl IntoResponse for Error {
    fn into_response(self) -> Response {
        let message = self.to_string();
        let answer = |status, name| ErrorBody::new(name, message).response(status);
        match self {
            Self::Unauthenticated => {
                let response = answer(StatusCode::UNAUTHORIZED, "unauthenticated");
                ([(header::WWW_AUTHENTICATE, CHALLENGE)], response).into_response()
            }
            Self::TokenRequired => {
                let response = answer(StatusCode::UNAUTHORIZED, "unauthenticated");
                ([(header::WWW_AUTHENTICATE, TOKEN_CHALLENGE)], response).into_response()
            }
            Self::Forbidden => answer(StatusCode::FORBIDDEN, "forbidden"),
            Self::NotFound => answer(StatusCode::NOT_FOUND, "not_found"),
            Self::MethodNotAllowed => answer(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed"),
            Self::Invalid(invalid) => (StatusCode::BAD_REQUEST, Json(invalid)).into_response(),
            Self::Body(refusal) => refusal.into_response(),
            Self::InFlight => answer(StatusCode::CONFLICT, "idempotency_key_in_flight"),
            Self::KeyReused => answer(StatusCode::UNPROCESSABLE_ENTITY, "idempotency_key_reused"),
            Self::NoRate(cause) => {
                hiding(answer(StatusCode::SERVICE_UNAVAILABLE, "no_exchange_rate"), cause)
            }
            Self::OutcomeUnknown(cause) => {
                hiding(answer(StatusCode::SERVICE_UNAVAILABLE, "outcome_unknown"), cause)
            }
            Self::NoAnswer(cause) => {
                hiding(answer(StatusCode::SERVICE_UNAVAILABLE, "acquirer_unavailable"), cause)
            }
            Self::RateLimited(refused) => {
                let response = answer(StatusCode::TOO_MANY_REQUESTS, "rate_limited");
                retry_after(response, refused.retry_after)
            }
            Self::Overloaded => {
                retry_after(answer(StatusCode::SERVICE_UNAVAILABLE, "overloaded"), RETRY_AFTER)
            }
            Self::Store(cause) => {
                hiding(answer(StatusCode::SERVICE_UNAVAILABLE, "storage_unavailable"), cause)
            }
            Self::Internal(cause) => {
                hiding(answer(StatusCode::INTERNAL_SERVER_ERROR, "internal"), cause)
            }
        }
    }
}

/// A response whose cause is for the log alone.
fn hiding(
    mut response: Response,
    cause: impl std::error::Error + Send + Sync + 'static,
) -> Response {
    response.extensions_mut().insert(Cause::new(cause));
    response
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Panicked => Self::Internal(error),
            StoreError::Overloaded => Self::Overloaded,
            StoreError::NotRead(_) | StoreError::NotWritten(_) => Self::Store(error),
        }
    }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::NotFound => Self::NotFound,
            Refusal::NotAMember => Self::Forbidden,
            Refusal::NoSuchApp => Self::field("appId", refusal),
            Refusal::Movement(Refused::OtherCurrency) => Self::field("currency", refusal),
            Refusal::Movement(_) => Self::field("amount", refusal),
            Refusal::KeyReused => Self::KeyReused,
            Refusal::InFlight => Self::InFlight,
        }
    }
}

impl From<limits::Refused> for Error {
    fn from(refused: limits::Refused) -> Self {
        Self::RateLimited(refused)
    }
}

impl From<PayError> for Error {
    fn from(error: PayError) -> Self {
        match error {
            PayError::RateLimited(refused) => refused.into(),
            PayError::Refused(refusal) => refusal.into(),
            PayError::Store(error) => error.into(),
            PayError::NoAnswer(_) | PayError::NotNoted(_) => Self::OutcomeUnknown(error),
        }
    }
}

impl From<VerifyError> for Error {
    fn from(error: VerifyError) -> Self {
        match error {
            VerifyError::RateLimited(refused) => refused.into(),
            VerifyError::NoAnswer(no_answer) => Self::NoAnswer(no_answer),
            VerifyError::Overloaded => Self::Overloaded,
            VerifyError::Panicked => Self::Internal(StoreError::Panicked),
        }
    }
}

impl From<Vec<Invalid>> for Error {
    fn from(invalid: Vec<Invalid>) -> Self {
        Self::Invalid(invalid)
    }
}

impl From<BodyRefusal> for Error {
    fn from(refusal: BodyRefusal) -> Self {
        Self::Body(refusal)
    }
}
