//! The query of a request. An unknown or repeated parameter is an error, because a typing error would
//! change the meaning: `?tll=5s` would set an object for good.

use axum::{
    extract::{self, FromRequestParts},
    http::request::Parts,
};
use percent_encoding::percent_decode_str;
use serde::{Deserialize, de::DeserializeOwned};

use super::Error;

/// The parameters of a route. Their type denies unknown fields.
pub(super) trait Parameters: DeserializeOwned {
    /// The error for a query that is not allowed.
    const ALLOWED: &'static str;
}

/// The query of a request, read as the parameters of its route.
pub(super) struct Query<T>(pub(super) T);

/// For a route without parameters.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Nothing {}

impl Parameters for Nothing {
    const ALLOWED: &'static str = "this path has no query parameters";
}

impl<T: Parameters, S: Sync> FromRequestParts<S> for Query<T> {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Error> {
        let query = parts.uri.query().unwrap_or_default();
        // The parser replaces what is not UTF-8.
        let is_text = percent_decode_str(query).decode_utf8().is_ok();
        let read = extract::Query::try_from_uri(&parts.uri).ok().filter(|_| is_text);
        read.map(|extract::Query(parameters)| Self(parameters)).ok_or(Error::Query(T::ALLOWED))
    }
}
