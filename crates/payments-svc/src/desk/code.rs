//! The page for a code of the authenticator: after a link, and before money and keys.

use std::convert::Infallible;

use askama::Template;
use axum::{
    extract::FromRequestParts,
    http::{StatusCode, header::LOCATION, request::Parts},
    response::{IntoResponse as _, Response},
};
use payments_domain::Token;
use url::form_urlencoded;

use super::{
    Desk,
    cookies::Kind,
    next::{Next, is_page},
    view::{self, Field, typed},
    visitor::{AnySession, Session, Visitor},
};
use crate::{
    app::{self, Codes, Refused},
    web::{Body, Error},
};

/// The field with the path that gets a form after the code.
pub(super) const THEN: &str = "then";

/// A form that was sent without a fresh code. The page for the code keeps its fields. After a right
/// code, the browser sends all of them to the path of the form (307). A link cannot do that: only a form
/// of the desk has the field [`THEN`].
pub(super) struct Waiting {
    path: String,
    fields: Vec<(String, String)>,
}

impl Waiting {
    pub(super) fn new(path: &str, body: &Body) -> Self {
        let fields = form_urlencoded::parse(body.as_bytes()).into_owned();
        let fields = fields.take_while(|(name, _)| name != THEN).collect();
        Self { path: path.to_owned(), fields }
    }

    /// The form that was sent with a code.
    fn read(body: &Body, home: &str) -> Option<Self> {
        let path = typed(body, THEN);
        is_page(&path, home).then(|| Self::new(&path, body))
    }

    /// Asks for the code.
    pub(super) fn page(&self, at: &Session) -> Response {
        let page = CodePage { at, refused: None, waiting: Some(self) };
        view::page(StatusCode::FORBIDDEN, &page)
    }

    fn send(&self) -> Response {
        (StatusCode::TEMPORARY_REDIRECT, [(LOCATION, &*self.path)]).into_response()
    }
}

#[derive(Template)]
#[template(path = "desk/code.html")]
struct CodePage<'a> {
    at: &'a Session,
    refused: Option<Refused>,
    waiting: Option<&'a Waiting>,
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
        _ => view::page(StatusCode::OK, &CodePage { at: &at, refused: None, waiting: None }),
    }
}

/// A browser that sends a code.
pub(super) struct Entry {
    visitor: Visitor,
    session: Option<Token>,
}

impl FromRequestParts<Desk> for Entry {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, desk: &Desk) -> Result<Self, Infallible> {
        let Ok(visitor) = Visitor::from_request_parts(parts, desk).await;
        let session = Kind::Session.read(&parts.headers, &desk.settings);
        Ok(Self { visitor, session })
    }
}

impl Entry {
    /// A right code gives the secret of another session. `is_first`: it is the first one of the
    /// authenticator.
    pub(super) async fn enter(
        self,
        body: &Body,
        is_first: bool,
    ) -> Result<(Session, Result<Token, Refused>), Error> {
        let Self { visitor, session } = self;
        let (desk, typed) = (visitor.desk.clone(), typed(body, "code"));
        let (payments, key) = (&desk.payments, &desk.settings.key);
        let lead = |page, error| match error {
            app::Error::NotFound => Error::SeeOther(format!("{}{page}", desk.settings.path)),
            error => error.into(),
        };
        let Some(session) = session else { return Err(lead("sign-in", app::Error::NotFound)) };
        if let Some(signed_in) = payments.signed_in(&session).await? {
            let entered = payments.enter_code(&signed_in, key, &typed, is_first).await;
            // The user has no authenticator, or has entered its first code before.
            let entered = entered.map_err(|error| lead("account", error))?;
            return Ok((visitor.session(signed_in), entered));
        }
        let repeated = payments.repeated_code(session.digest(), key, &typed).await;
        let (next, signed_in) = repeated.map_err(|error| lead("sign-in", error))?;
        Ok((visitor.session(signed_in), Ok(next)))
    }
}

pub(super) async fn enter(entry: Entry, next: Next, body: Body) -> Result<Response, Error> {
    let (at, entered) = entry.enter(&body, false).await?;
    let waiting = Waiting::read(&body, at.home());
    let waiting = waiting.as_ref();
    match entered {
        Ok(session) => {
            let goes_on = waiting.map_or_else(|| next.redirect(at.home()), Waiting::send);
            Ok(at.set_session(Some(&session), goes_on))
        }
        Err(refused) => {
            let page = CodePage { at: &at, refused: Some(refused), waiting };
            Ok(view::page(status(refused), &page))
        }
    }
}
