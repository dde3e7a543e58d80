//! Errors of handlers, and their responses: status, message and headers. The rule texts of 400 come
//! with [`Invalid`]. `http.rs` has the responses 404 and 405.

use std::borrow::Cow;

use axum::{
    Extension,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use common::{
    error::{Cause, no_memory, retry_after},
    limits::Refused,
};

use super::output::{StatusOutput, with_code};
use crate::{
    domain::Invalid,
    limits::Denied,
    metrics::{Abandoned, ErrorType, Failure},
    portal::{Fault, SignInError},
};

pub(super) enum Error {
    /// Rules that the request breaks.
    Invalid(Vec<Invalid>),
    Authentication,
    /// The token of `/metrics` is missing or wrong.
    MetricsAuthorization,
    /// The portal answered the login unexpectedly, or not at all.
    Upstream(Fault),
    /// The portal answered the request for the profile unexpectedly, or not at all.
    ProfileFetch(Fault),
    /// The answer of the portal has no usable profile.
    ProfileParse,
    /// The metrics cannot be rendered.
    Metrics(prometheus::Error),
    /// The caller disconnected before its request was complete. The response is not sent.
    Abandoned,
    /// The limit of sign-ins in flight is reached.
    Busy,
    /// The memory limit of request bodies is reached.
    NoMemory,
    /// Too many sign-ins were rejected.
    RateLimited(Refused),
    /// A handler panicked. The panic hook has logged it.
    Panicked,
}

impl From<SignInError> for Error {
    fn from(error: SignInError) -> Self {
        match error {
            SignInError::Rejected | SignInError::Doubtful(_) => Self::Authentication,
            SignInError::Login(fault) => Self::Upstream(fault),
            SignInError::ProfileFetch(fault) => Self::ProfileFetch(fault),
            SignInError::ProfileParse(_) => Self::ProfileParse,
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
                "the portal's response contains no valid profile",
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
            // `Abandoned` has returned above.
            Self::Metrics(_) | Self::Panicked | Self::Abandoned => {
                (StatusCode::INTERNAL_SERVER_ERROR, Type::Internal, internal)
            }
        };
        let retry = match &self {
            Self::Busy => Some(1),
            Self::RateLimited(refused) => Some(refused.retry_after),
            Self::Upstream(fault) | Self::ProfileFetch(fault) => fault.retry_after(),
            _ => None,
        };
        let closes_connection = matches!(self, Self::NoMemory);
        let (invalid, cause) = match self {
            Self::Invalid(invalid) => (invalid, None),
            Self::Upstream(fault) | Self::ProfileFetch(fault) => {
                (Vec::new(), Some(Cause::new(fault)))
            }
            Self::Metrics(error) => (Vec::new(), Some(Cause::new(error))),
            _ => (Vec::new(), None),
        };
        let message = if invalid.is_empty() { message.into() } else { Cow::Owned(rules(&invalid)) };
        let response = (status, StatusOutput::new(false, message).json()).into_response();
        let mut response = with_code(response, code(error));
        if error == Type::MetricsAuthorization {
            let challenge = HeaderValue::from_static("Bearer");
            response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
        }
        if let Some(seconds) = retry {
            response = retry_after(response, seconds);
        }
        if closes_connection {
            response = no_memory(response);
        }
        response.extensions_mut().insert(Failure { error, invalid });
        if let Some(cause) = cause {
            response.extensions_mut().insert(cause);
        }
        response
    }
}

/// The value of `X-Error-Code`.
fn code(error: ErrorType) -> &'static str {
    match error {
        ErrorType::Authentication => "credentials_rejected",
        ErrorType::Upstream => "portal_login_failed",
        ErrorType::ProfileFetch => "portal_profile_failed",
        ErrorType::ProfileParse => "profile_unreadable",
        ErrorType::MetricsAuthorization => "metrics_token_wrong",
        ErrorType::RequestValidation => "request_invalid",
        ErrorType::Overload => "overloaded",
        ErrorType::RateLimit => "rate_limited",
        ErrorType::Internal => "internal_error",
    }
}

/// Joins all broken rules in one sentence.
fn rules(invalid: &[Invalid]) -> String {
    invalid.iter().map(|invalid| invalid.rule).collect::<Vec<_>>().join("; ")
}
