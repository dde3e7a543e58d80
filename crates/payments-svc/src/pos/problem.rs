//! Why there is no page to pay on: what a customer is told in its place.

use axum::response::{IntoResponse, Response};

use super::{
    language::Language,
    view::{self, ProblemPage},
};
use crate::http::error::Error;

/// A failure, told in a language.
pub(super) struct Problem {
    pub(super) language: &'static Language,
    pub(super) error: Error,
}

impl IntoResponse for Problem {
    /// With the status of the error and, for the log, its cause.
    fn into_response(self) -> Response {
        let Self { language, error } = self;
        let invalid = match &error {
            Error::Invalid(invalid) => invalid.clone(),
            _ => Vec::new(),
        };
        let (told, _) = error.into_response().into_parts();
        let page = ProblemPage { language, is_broken: told.status.is_client_error(), invalid };
        let mut response = view::page(told.status, &page);
        response.extensions_mut().extend(told.extensions);
        response
    }
}
