//! The page for a code of the authenticator: after a link, and before money and keys.

use askama::Template;
use axum::{http::StatusCode, response::Response};

use super::{
    next::Next,
    view::{self, Field, typed},
    visitor::{AnySession, Session},
};
use crate::{
    app::{Codes, Refused},
    web::{Body, Error},
};

#[derive(Template)]
#[template(path = "desk/code.html")]
struct CodePage<'a> {
    at: &'a Session,
    refused: Option<Refused>,
}

impl CodePage<'_> {
    fn field(&self) -> Field<'_> {
        Field { hint: Some(self.at.language.code_hint()), ..field(self.at, self.refused) }
    }
}

/// The status of a page that refuses a code.
pub(super) fn status(refused: Refused) -> StatusCode {
    match refused {
        Refused::Wrong => StatusCode::BAD_REQUEST,
        Refused::Locked => StatusCode::TOO_MANY_REQUESTS,
    }
}

/// The field for a code of an app.
pub(super) fn field(at: &Session, refused: Option<Refused>) -> Field<'_> {
    let language = at.language;
    Field {
        name: "code",
        label: language.code(),
        value: "",
        attributes: "autocomplete=\"one-time-code\" spellcheck=\"false\" required maxlength=\"32\"",
        hint: Some(language.first_code_hint()),
        error: refused.map(|refused| match refused {
            Refused::Wrong => language.code_error(),
            Refused::Locked => language.code_locked(),
        }),
    }
}

pub(super) async fn form(AnySession(at): AnySession) -> Response {
    match at.signed_in.codes {
        Codes::NotSetUp => at.redirect("account"),
        _ => view::page(StatusCode::OK, &CodePage { at: &at, refused: None }),
    }
}

/// A right code begins another session.
pub(super) async fn enter(
    AnySession(at): AnySession,
    next: Next,
    body: Body,
) -> Result<Response, Error> {
    let (typed, key) = (typed(&body, "code"), &at.desk.settings.key);
    match at.payments().enter_code(&at.signed_in, key, &typed, None).await? {
        Ok(session) => Ok(at.set_session(Some(&session), next.redirect(at.home()))),
        Err(refused) => {
            let page = CodePage { at: &at, refused: Some(refused) };
            Ok(view::page(status(refused), &page))
        }
    }
}
