//! Why there is no page to pay on: what a customer is told in its place.

use std::borrow::Cow;

use axum::response::{IntoResponse, Response};

use super::{
    language::Language,
    view::{self, ProblemPage},
};
use crate::{domain::Invalid, http::error::Error};

/// A failure, told in a language.
pub(super) struct Problem {
    pub(super) language: &'static Language,
    pub(super) error: Error,
}

impl Language {
    /// A failure, told in this language.
    pub(super) fn problem<E: Into<Error>>(&'static self) -> impl Fn(E) -> Problem {
        move |error| Problem { language: self, error: error.into() }
    }

    /// A parameter of the link is wrong.
    pub(super) fn invalid(
        &'static self,
        field: &'static str,
        message: impl Into<Cow<'static, str>>,
    ) -> Problem {
        self.problem()(vec![Invalid::new(field, message)])
    }
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
        let mut response = view::page(told.status, &page, None);
        response.extensions_mut().extend(told.extensions);
        response
    }
}
