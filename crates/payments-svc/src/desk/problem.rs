//! Pages in place of what was asked for.

use std::borrow::Cow;

use askama::Template;
use axum::{
    http::StatusCode,
    response::{IntoResponse, Response},
};

use super::{
    Desk,
    view::{self, VERSION},
};
use crate::{
    language::Language,
    web::{Error, page::in_place_of},
};

/// A page in the language of the user.
pub(super) struct Problem {
    pub(super) desk: Desk,
    pub(super) language: &'static Language,
    pub(super) reason: Reason,
}

pub(super) enum Reason {
    NotFound,
    /// Another website sent the form.
    Foreign,
    /// The link was used, is too old, or belongs to another browser.
    LinkBroken,
    /// The request failed.
    Failed(Error),
}

#[derive(Template)]
#[template(path = "desk/problem.html")]
struct ProblemPage<'a> {
    language: &'static Language,
    desk: &'a Desk,
    heading: Cow<'static, str>,
    hint: Option<Cow<'static, str>>,
    /// The text of a link to the sign-in page.
    next: Option<Cow<'static, str>>,
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let Self { desk, language, reason } = self;
        let page = |status, heading, hint, next| {
            view::page(status, &ProblemPage { language, desk: &desk, heading, hint, next })
        };
        match reason {
            Reason::NotFound => page(StatusCode::NOT_FOUND, language.not_found(), None, None),
            Reason::Foreign => {
                let hint = Some(language.foreign_form_hint());
                page(StatusCode::FORBIDDEN, language.foreign_form(), hint, None)
            }
            Reason::LinkBroken => {
                let (hint, next) = (language.sign_in_broken_hint(), language.new_link());
                page(StatusCode::GONE, language.sign_in_broken(), Some(hint), Some(next))
            }
            Reason::Failed(error) => {
                let (answer, _) = error.into_response().into_parts();
                let heading = match answer.status {
                    StatusCode::TOO_MANY_REQUESTS => language.too_many_attempts(),
                    StatusCode::NOT_FOUND => language.not_found(),
                    _ => language.desk_unavailable(),
                };
                let page = page(answer.status, heading, Some(language.wait_hint()), None);
                in_place_of(answer, page)
            }
        }
    }
}
