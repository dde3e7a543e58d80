//! Everything that can go wrong, and what a client is told of it.

use axum::{
    Extension,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use common::{
    error::{Cause, no_memory, retry_after},
    limits::Refused,
};

use super::output::StatusOutput;
use crate::{
    domain::Invalid,
    limits::Denied,
    metrics::{Abandoned, ErrorType, Failure},
    portal::{Fault, SignInError},
};

/// Why a request is not answered as it was meant to be.
pub(super) enum Error {
    /// It breaks rules.
    Invalid(Vec<Invalid>),
    /// The portal rejected the credentials.
    Authentication,
    /// The token of `/metrics` is missing or wrong.
    MetricsAuthorization,
    /// The portal did not answer the login as it should.
    Upstream(Fault),
    /// The portal did not answer the request for the profile as it should.
    ProfileFetch(Fault),
    /// What the portal sent is no profile.
    ProfileParse,
    /// The metrics cannot be rendered.
    Metrics(prometheus::Error),
    /// Its client went away before it was complete. There is nobody to answer.
    Abandoned,
    /// The limit of sign-ins in flight is reached.
    Busy,
    /// Bodies of requests hold all the memory that they may.
    NoMemory,
    /// Too many sign-ins were rejected.
    RateLimited(Refused),
    /// A file that belongs to the service is not in it.
    Missing(&'static str),
    /// A handler is broken. What it was has been logged where it happened.
    Panicked,
}

impl From<SignInError> for Error {
    fn from(error: SignInError) -> Self {
        match error {
            SignInError::Rejected => Self::Authentication,
            SignInError::Login(fault) => Self::Upstream(fault),
            SignInError::ProfileFetch(fault) => Self::ProfileFetch(fault),
            SignInError::ProfileParse => Self::ProfileParse,
        }
    }
}

impl From<Denied> for Error {
    fn from(denied: Denied) -> Self {
        match denied {
            Denied::Busy => Self::Busy,
            Denied::TooMany(refused) => Self::RateLimited(refused),
        }
    }
}

impl IntoResponse for Error {
    fn into_response(self) -> Response {
        use ErrorType as Type;
        if matches!(self, Self::Abandoned) {
            return (StatusCode::BAD_REQUEST, Extension(Abandoned)).into_response();
        }
        let unreachable = "the portal could not be reached, or answered unexpectedly";
        let internal = "an internal error occurred";
        let (status, error, message) = match &self {
            Self::Invalid(_) => (StatusCode::BAD_REQUEST, Type::RequestValidation, ""),
            Self::Authentication => (
                StatusCode::UNAUTHORIZED,
                Type::Authentication,
                "the portal rejected the username or the password",
            ),
            Self::MetricsAuthorization => (
                StatusCode::UNAUTHORIZED,
                Type::MetricsAuthorization,
                "the metrics token is missing or wrong",
            ),
            Self::ProfileParse => (
                StatusCode::UNPROCESSABLE_ENTITY,
                Type::ProfileParse,
                "the portal's answer holds no profile that can be read",
            ),
            Self::Upstream(_) => (StatusCode::BAD_GATEWAY, Type::Upstream, unreachable),
            Self::ProfileFetch(_) => (StatusCode::BAD_GATEWAY, Type::ProfileFetch, unreachable),
            Self::Busy | Self::NoMemory => (
                StatusCode::SERVICE_UNAVAILABLE,
                Type::Overload,
                "the service is busy: try again in a second",
            ),
            Self::RateLimited(_) => (
                StatusCode::TOO_MANY_REQUESTS,
                Type::RateLimit,
                "too many sign-ins were rejected: try again later",
            ),
            Self::Metrics(_) | Self::Missing(_) | Self::Panicked | Self::Abandoned => {
                (StatusCode::INTERNAL_SERVER_ERROR, Type::Internal, internal)
            }
        };
        let retry = match self {
            Self::Busy => Some(1),
            Self::RateLimited(refused) => Some(refused.retry_after),
            _ => None,
        };
        let ends = matches!(self, Self::NoMemory);
        let (invalid, cause) = match self {
            Self::Invalid(invalid) => (invalid, None),
            Self::Upstream(fault) | Self::ProfileFetch(fault) => {
                (Vec::new(), Some(Cause::new(fault)))
            }
            Self::Metrics(error) => (Vec::new(), Some(Cause::new(error))),
            Self::Missing(name) => (Vec::new(), Some(Cause::new(Missing(name)))),
            _ => (Vec::new(), None),
        };
        let message = if invalid.is_empty() { message.to_owned() } else { rules(&invalid) };
        let mut response = (status, StatusOutput::new(false, message).json()).into_response();
        if error == Type::MetricsAuthorization {
            let challenge = HeaderValue::from_static("Bearer");
            response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
        }
        if let Some(seconds) = retry {
            response = retry_after(response, seconds);
        }
        if ends {
            response = no_memory(response);
        }
        response.extensions_mut().insert(Failure { error, invalid });
        if let Some(cause) = cause {
            response.extensions_mut().insert(cause);
        }
        response
    }
}

/// All rules that are broken, in one sentence.
fn rules(invalid: &[Invalid]) -> String {
    invalid.iter().map(|invalid| invalid.rule).collect::<Vec<_>>().join("; ")
}

#[derive(Debug, thiserror::Error)]
#[error("{0} is missing")]
struct Missing(&'static str);
