//! Signing in: the form for the address, and the page of a link. A link is used by a button, not by
//! opening it, because programs that scan mails open links, too.

use askama::Template;
use axum::{
    extract::{Path, State},
    http::{HeaderMap, Method, StatusCode, header},
    response::{IntoResponse as _, Response},
};
use common::limits::ClientAddress;
use payments_domain::{Email, Merchant, Token};

use super::{
    Desk,
    cookies::Kind,
    problem::{Problem, Reason},
    session::redirect,
    view::{self, VERSION},
};
use crate::{
    app::{self, SignInLink},
    language::Language,
    web::Body,
};

#[derive(Template)]
#[template(path = "desk/sign_in.html")]
struct SignInPage<'a> {
    language: &'static Language,
    desk: &'a Desk,
    /// What the user typed, if it is no address.
    wrong: Option<&'a str>,
}

#[derive(Template)]
#[template(path = "desk/sent.html")]
struct SentPage<'a> {
    language: &'static Language,
    desk: &'a Desk,
    email: &'a Email,
}

#[derive(Template)]
#[template(path = "desk/link.html")]
struct LinkPage<'a> {
    language: &'static Language,
    desk: &'a Desk,
    email: &'a Email,
    /// The merchant whose invitation the user accepts.
    merchant: Option<&'a Merchant>,
}

/// The browser of the visitor, which gets a cookie if it has none.
struct Browser(Token);

impl Browser {
    fn of(headers: &HeaderMap, desk: &Desk) -> Self {
        let known = Kind::Browser.read(headers, &desk.settings);
        Self(known.unwrap_or_else(|| Token::new(rand::random())))
    }

    fn remember(&self, desk: &Desk, mut response: Response) -> Response {
        if let Some(cookie) = Kind::Browser.set(Some(&self.0), &desk.settings) {
            response.headers_mut().append(header::SET_COOKIE, cookie);
        }
        response
    }
}

pub(super) async fn form(State(desk): State<Desk>, headers: HeaderMap) -> Response {
    let language = Language::of(None, &headers);
    view::page(StatusCode::OK, &SignInPage { language, desk: &desk, wrong: None })
}

/// Sends a link, if the address belongs to a user. The answer is the same for all addresses.
pub(super) async fn request(
    State(desk): State<Desk>,
    address: ClientAddress,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let language = Language::of(None, &headers);
    let typed =
        body.read(|fields| fields.optional("email", |text| Ok::<_, String>(text.to_owned())));
    let typed = typed.ok().flatten().unwrap_or_default();
    let Ok(email) = Email::new(typed.trim()) else {
        let wrong = Some(typed.as_str());
        return view::page(StatusCode::BAD_REQUEST, &SignInPage { language, desk: &desk, wrong });
    };
    let browser = Browser::of(&headers, &desk);
    let asked = desk.payments.request_sign_in(&email, browser.0.digest(), language.code, address);
    match asked.await {
        Ok(()) => {
            let page = SentPage { language, desk: &desk, email: &email };
            browser.remember(&desk, view::page(StatusCode::OK, &page))
        }
        Err(error) => {
            Problem { desk, language, reason: Reason::Failed(error.into()) }.into_response()
        }
    }
}

/// Shows the button that uses the link. `HEAD` changes nothing.
pub(super) async fn open_link(
    State(desk): State<Desk>,
    method: Method,
    Path(token): Path<String>,
    headers: HeaderMap,
) -> Response {
    let language = Language::of(None, &headers);
    let browser = Browser::of(&headers, &desk);
    let (token, opens) = (Token::sent(&token), method == Method::GET);
    match desk.payments.sign_in_link(&token, browser.0.digest(), opens).await {
        Ok(SignInLink { user, merchant }) => {
            let (email, merchant) = (&user.email, merchant.as_ref());
            let page = LinkPage { language, desk: &desk, email, merchant };
            browser.remember(&desk, view::page(StatusCode::OK, &page))
        }
        Err(error) => refused(desk, language, error),
    }
}

/// Uses the link, and begins a session.
pub(super) async fn use_link(
    State(desk): State<Desk>,
    Path(token): Path<String>,
    headers: HeaderMap,
) -> Response {
    let language = Language::of(None, &headers);
    let browser = Browser::of(&headers, &desk);
    match desk.payments.sign_in(&Token::sent(&token), browser.0.digest()).await {
        Ok(session) => {
            let mut response = redirect(&desk, "");
            if let Some(cookie) = Kind::Session.set(Some(&session), &desk.settings) {
                response.headers_mut().append(header::SET_COOKIE, cookie);
            }
            response
        }
        Err(error) => refused(desk, language, error),
    }
}

fn refused(desk: Desk, language: &'static Language, error: app::Error) -> Response {
    let reason = match error {
        app::Error::NotFound => Reason::LinkBroken,
        error => Reason::Failed(error.into()),
    };
    Problem { desk, language, reason }.into_response()
}
