//! The pages that end a payment before it begins: an invalid, used or expired link, an old form, too
//! many attempts, or payments that are not available.

use std::borrow::Cow;

use askama::Template;
use axum::{
    http::StatusCode,
    response::{IntoResponse, Response},
};
use payments_domain::FieldError;

use super::{asset::VERSION, language::Language, view};
use crate::{
    app,
    web::{Error, page::in_place_of},
};

#[derive(Template)]
#[template(path = "problem.html")]
struct ProblemPage {
    language: &'static Language,
    heading: Cow<'static, str>,
    hint: Cow<'static, str>,
    /// The URL for a new start, if one is possible.
    retry_url: Option<String>,
    /// The parameters of the link that are wrong.
    invalid: Vec<FieldError>,
}

/// A page in the customer's language in place of the payment.
pub(super) struct Problem {
    pub(super) language: &'static Language,
    pub(super) reason: Reason,
}

pub(super) enum Reason {
    /// The request failed.
    Refused(Error),
    /// Another browser used the form, or the link has paid and pays only once.
    LinkUsed,
    LinkExpired,
    /// No acquirer processes payments of the shop.
    NoAcquirer,
    /// The form is too old. The link still works.
    FormExpired {
        retry_url: String,
    },
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let Self { language, reason } = self;
        let ask_shop = language.link_broken_hint();
        let status = match reason {
            Reason::NoAcquirer => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::GONE,
        };
        let (heading, hint, retry_url) = match reason {
            Reason::Refused(error) => return refused(language, error),
            Reason::LinkUsed => (language.link_used(), ask_shop, None),
            Reason::LinkExpired => (language.link_expired(), ask_shop, None),
            Reason::NoAcquirer => (language.unavailable(), language.declined_shop(), None),
            Reason::FormExpired { retry_url } => {
                (language.form_expired(), language.form_expired_hint(), Some(retry_url))
            }
        };
        let page = ProblemPage { language, heading, hint, retry_url, invalid: Vec::new() };
        view::page(status, &page)
    }
}

/// Keeps the status of the error, its `Retry-After` and, for the log, its cause.
fn refused(language: &'static Language, error: Error) -> Response {
    let invalid = match &error {
        Error::App(app::Error::Invalid(invalid)) => invalid.clone(),
        _ => Vec::new(),
    };
    let (answer, _) = error.into_response().into_parts();
    let (heading, hint) = match answer.status {
        StatusCode::TOO_MANY_REQUESTS => {
            (language.too_many_attempts(), language.too_many_attempts_hint())
        }
        StatusCode::NOT_FOUND | StatusCode::BAD_REQUEST | StatusCode::UNPROCESSABLE_ENTITY => {
            (language.link_broken(), language.link_broken_hint())
        }
        _ => (language.unavailable(), language.unavailable_hint()),
    };
    let page = ProblemPage { language, heading, hint, retry_url: None, invalid };
    let page = view::page(answer.status, &page);
    in_place_of(answer, page)
}
