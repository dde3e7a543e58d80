//! Signing in: the form for the address, and the page of a link. A link is used by a button, not by
//! opening it, because programs that scan mails open links, too.

use std::convert::Infallible;

use askama::Template;
use axum::{
    extract::{FromRequestParts, Path},
    http::{HeaderMap, Method, StatusCode, header, request::Parts},
    response::Response,
};
use common::limits::ClientAddress;
use payments_domain::{Email, Merchant, Token};

use super::{
    Desk,
    cookies::Kind,
    view::{self, Field, typed},
    visitor::Visitor,
};
use crate::{
    app::{self, SignInLink},
    web::{Body, Error},
};

#[derive(Template)]
#[template(path = "desk/sign_in.html")]
struct SignInPage<'a> {
    at: &'a Visitor,
    /// What the user typed, if it is no address.
    wrong: Option<&'a str>,
}

impl SignInPage<'_> {
    fn field(&self) -> Field<'_> {
        Field::email(self.at.language, self.wrong)
    }
}

#[derive(Template)]
#[template(path = "desk/sent.html")]
struct SentPage<'a> {
    at: &'a Visitor,
    email: &'a Email,
}

#[derive(Template)]
#[template(path = "desk/link.html")]
struct LinkPage<'a> {
    at: &'a Visitor,
    email: &'a Email,
    /// The merchant whose invitation the user accepts.
    merchant: Option<&'a Merchant>,
}

/// The browser of the visitor, which gets a cookie if it has none.
pub(super) struct Browser(Token);

impl FromRequestParts<Desk> for Browser {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, desk: &Desk) -> Result<Self, Infallible> {
        let known = Kind::Browser.read(&parts.headers, &desk.settings);
        Ok(Self(known.unwrap_or_else(|| Token::new(rand::random()))))
    }
}

impl Browser {
    fn remember(&self, at: &Visitor, mut response: Response) -> Response {
        if let Some(cookie) = Kind::Browser.set(Some(&self.0), &at.desk.settings) {
            response.headers_mut().append(header::SET_COOKIE, cookie);
        }
        response
    }
}

/// Gives the browser its cookie: two quick requests for links come from one browser.
pub(super) async fn form(at: Visitor, browser: Browser) -> Response {
    browser.remember(&at, view::page(StatusCode::OK, &SignInPage { at: &at, wrong: None }))
}

/// Sends a link, if the address belongs to a user. The answer is the same for all addresses.
pub(super) async fn request(
    at: Visitor,
    browser: Browser,
    address: ClientAddress,
    body: Body,
) -> Result<Response, Error> {
    let typed = typed(&body, "email");
    let Ok(email) = Email::new(typed.trim()) else {
        let page = SignInPage { at: &at, wrong: Some(&typed) };
        return Ok(view::page(StatusCode::BAD_REQUEST, &page));
    };
    let payments = &at.desk.payments;
    payments.request_sign_in(&email, browser.0.digest(), at.language.code, address).await?;
    let page = view::page(StatusCode::OK, &SentPage { at: &at, email: &email });
    Ok(browser.remember(&at, page))
}

/// Shows the button that uses the link. `HEAD` changes nothing.
pub(super) async fn open_link(
    at: Visitor,
    browser: Browser,
    method: Method,
    Path(token): Path<String>,
) -> Result<Response, Error> {
    let (token, opens) = (Token::sent(&token), method == Method::GET);
    let link = at.desk.payments.sign_in_link(&token, browser.0.digest(), opens).await;
    let SignInLink { user, merchant } = link.map_err(broken)?;
    let page = LinkPage { at: &at, email: &user.email, merchant: merchant.as_ref() };
    Ok(browser.remember(&at, view::page(StatusCode::OK, &page)))
}

/// Uses the link, and begins a session.
pub(super) async fn use_link(
    at: Visitor,
    browser: Browser,
    Path(token): Path<String>,
) -> Result<Response, Error> {
    let (payments, key) = (&at.desk.payments, &at.desk.settings.key);
    let session = payments.sign_in(&Token::sent(&token), &browser.0, key).await.map_err(broken)?;
    Ok(at.set_session(Some(&session), at.redirect("")))
}

/// The link was used, is too old, or belongs to another browser.
fn broken(error: app::Error) -> app::Error {
    match error {
        app::Error::NotFound => app::Error::LinkUsed,
        error => error,
    }
}

/// Ends the session. Does nothing if there is none.
pub(super) async fn sign_out(at: Visitor, headers: HeaderMap) -> Result<Response, Error> {
    if let Some(signed_in) = at.signed_in(&headers).await? {
        at.desk.payments.sign_out(&signed_in).await?;
    }
    Ok(at.set_session(None, at.redirect("sign-in")))
}
