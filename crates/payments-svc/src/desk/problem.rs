//! Pages in place of errors.

use std::borrow::Cow;

use askama::Template;
use axum::{
    extract::Request,
    http::{Method, StatusCode, header},
    middleware::Next,
    response::{IntoResponse as _, Response},
};

use super::{view, visitor::Visitor};
use crate::{
    app,
    web::{Error, page::in_place_of},
};

#[derive(Template)]
#[template(path = "desk/problem.html")]
struct ProblemPage<'a> {
    at: &'a Visitor,
    heading: Cow<'static, str>,
    hint: Option<Cow<'static, str>>,
    /// The text of a link to the sign-in page.
    next: Option<Cow<'static, str>>,
}

/// Refuses forms of other websites, and answers every error with a page.
pub(super) async fn pages(at: Visitor, request: Request, next: Next) -> Response {
    let answer = if request.method() == Method::POST && is_foreign(&at, &request) {
        Error::from(app::Error::Forbidden).into_response()
    } else {
        next.run(request).await
    };
    let (status, kind) = (answer.status(), answer.headers().get(header::CONTENT_TYPE));
    let is_error = status.is_client_error() || status.is_server_error();
    if !is_error || kind.is_some_and(|kind| kind == view::HTML) {
        return answer;
    }
    let language = at.language;
    let (heading, hint, next) = match status {
        StatusCode::FORBIDDEN => {
            (language.foreign_form(), Some(language.foreign_form_hint()), None)
        }
        StatusCode::GONE => {
            let (hint, next) = (language.sign_in_broken_hint(), language.new_link());
            (language.sign_in_broken(), Some(hint), Some(next))
        }
        StatusCode::TOO_MANY_REQUESTS => {
            (language.too_many_attempts(), Some(language.wait_hint()), None)
        }
        // Also forms that the desk did not make.
        status if status.is_client_error() => (language.not_found(), None, None),
        _ => (language.desk_unavailable(), Some(language.wait_hint()), None),
    };
    let page = view::page(status, &ProblemPage { at: &at, heading, hint, next });
    in_place_of(answer.into_parts().0, page)
}

/// Whether another website sends the request. Browsers say it: all current ones in
/// `Sec-Fetch-Site`, and older ones in `Origin`.
fn is_foreign(at: &Visitor, request: &Request) -> bool {
    let headers = request.headers();
    match (headers.get("sec-fetch-site"), headers.get(header::ORIGIN)) {
        (Some(site), _) => site != "same-origin",
        (None, Some(origin)) => *origin != *at.desk.settings.origin,
        (None, None) => false,
    }
}
