//! The error page for customers: invalid link, too many attempts, or payments unavailable.

use std::borrow::Cow;

use askama::Template;
use axum::{
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};

use super::{asset::VERSION, language::Language, view};
use crate::{app, domain::FieldError, web::Error};

#[derive(Template)]
#[template(path = "problem.html")]
struct ProblemPage {
    language: &'static Language,
    heading: Cow<'static, str>,
    hint: Cow<'static, str>,
    /// The parameters of the link that are wrong.
    invalid: Vec<FieldError>,
}

/// An error, answered with a page in the customer's language.
pub(super) struct Problem {
    pub(super) language: &'static Language,
    pub(super) error: Error,
}

impl IntoResponse for Problem {
    /// Keeps the status of the error, its `Retry-After` and, for the log, its cause.
    fn into_response(self) -> Response {
        let Self { language, error } = self;
        let invalid = match &error {
            Error::App(app::Error::Invalid(invalid)) => invalid.clone(),
            _ => Vec::new(),
        };
        let (mut answer, _) = error.into_response().into_parts();
        let (heading, hint) = match answer.status {
            StatusCode::TOO_MANY_REQUESTS => {
                (language.too_many_attempts(), language.too_many_attempts_hint())
            }
            StatusCode::NOT_FOUND | StatusCode::BAD_REQUEST | StatusCode::UNPROCESSABLE_ENTITY => {
                (language.link_broken(), language.link_broken_hint())
            }
            _ => (language.unavailable(), language.unavailable_hint()),
        };
        let page = ProblemPage { language, heading, hint, invalid };
        let mut response = view::page(answer.status, &page);
        if let Some(retry_after) = answer.headers.remove(header::RETRY_AFTER) {
            response.headers_mut().insert(header::RETRY_AFTER, retry_after);
        }
        response.extensions_mut().extend(answer.extensions);
        response
    }
}
