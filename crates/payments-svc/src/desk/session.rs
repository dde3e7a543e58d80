//! The session of a user, which pages take as an argument. Without one, they lead to the sign-in
//! page.

use std::sync::Arc;

use axum::{
    extract::{FromRequestParts, State},
    http::{HeaderMap, header, request::Parts},
    response::{IntoResponse as _, Response},
};
use payments_domain::Token;

use super::{
    Desk,
    cookies::Kind,
    problem::{Problem, Reason},
};
use crate::{
    app::{self, Payments, SignedIn},
    language::Language,
    web::page::see_other,
};

/// A request of a user who is signed in.
pub(super) struct Session {
    pub(super) desk: Desk,
    pub(super) signed_in: SignedIn,
    pub(super) language: &'static Language,
}

impl FromRequestParts<Desk> for Session {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, desk: &Desk) -> Result<Self, Response> {
        let language = Language::of(None, &parts.headers);
        let token = Kind::Session.read(&parts.headers, &desk.settings);
        let signed_in = signed_in(&desk.payments, token).await;
        let desk = desk.clone();
        match signed_in {
            Ok(Some(signed_in)) => Ok(Self { desk, signed_in, language }),
            Ok(None) => Err(redirect(&desk, "sign-in")),
            Err(error) => {
                let reason = Reason::Failed(error.into());
                Err(Problem { desk, language, reason }.into_response())
            }
        }
    }
}

impl Session {
    /// The page for a request that failed.
    pub(super) fn problem(self, error: app::Error) -> Response {
        let Self { desk, language, .. } = self;
        let reason = match error {
            app::Error::NotFound => Reason::NotFound,
            error => Reason::Failed(error.into()),
        };
        Problem { desk, language, reason }.into_response()
    }
}

async fn signed_in(
    payments: &Arc<Payments>,
    token: Option<Token>,
) -> Result<Option<SignedIn>, app::Error> {
    match token {
        Some(token) => payments.signed_in(&token).await,
        None => Ok(None),
    }
}

/// Ends the session. Does nothing if there is none.
pub(super) async fn sign_out(State(desk): State<Desk>, headers: HeaderMap) -> Response {
    let language = Language::of(None, &headers);
    let token = Kind::Session.read(&headers, &desk.settings);
    let ended = async {
        match signed_in(&desk.payments, token).await? {
            Some(signed_in) => desk.payments.sign_out(&signed_in).await,
            None => Ok(()),
        }
    };
    if let Err(error) = ended.await {
        return Problem { desk, language, reason: Reason::Failed(error.into()) }.into_response();
    }
    let mut response = redirect(&desk, "sign-in");
    if let Some(cookie) = Kind::Session.set(None, &desk.settings) {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    response
}

/// Redirects a browser to a page of the desk.
pub(super) fn redirect(desk: &Desk, page: &str) -> Response {
    see_other(&format!("{}{page}", desk.settings.path))
}
