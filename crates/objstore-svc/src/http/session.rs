//! `POST /register`, and the session every other endpoint asks for.

use std::{borrow::Cow, sync::Arc};

use axum::{
    extract::{FromRequestParts, State},
    http::{HeaderMap, HeaderValue, header, request::Parts},
    response::{AppendHeaders, IntoResponse},
};
use cookie::{Cookie, SameSite, time::Duration};
use serde::Deserialize;

use super::{App, Error, body::Body};
use crate::{
    domain::{ClientId, Refusal, Token, TokenDigest},
    store::now,
};

/// The cookie that carries the session token.
const COOKIE: &str = "token";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RegisterInput<'a> {
    #[serde(borrow, rename = "ID")]
    id: Cow<'a, str>,
}

/// Registers an identity: one more session of the same client, if it is known.
pub(super) async fn register(
    State(app): State<Arc<App>>,
    body: Body,
) -> Result<impl IntoResponse, Error> {
    let client = ClientId::parse(&body.decode::<RegisterInput<'_>>()?.id)?;
    if !app.clients.admit(client) {
        return Err(Refusal::Identity.into());
    }
    let token = Token::new(rand::random());
    app.store.register(client, TokenDigest::of(token.as_str()), now()).await??;
    Ok(set_cookie(&app, token.as_str()))
}

/// Who asks. Holding one proves a live session.
pub(super) struct Authenticated {
    pub(super) client: ClientId,
    pub(super) token: TokenDigest,
    renewed: Option<SetCookie>,
}

/// The header that hands a client its session.
type SetCookie = AppendHeaders<[(header::HeaderName, HeaderValue); 1]>;

impl Authenticated {
    /// The cookie to send again, when this use has extended the session.
    pub(super) fn renewed(&mut self) -> Option<SetCookie> {
        self.renewed.take()
    }
}

impl FromRequestParts<Arc<App>> for Authenticated {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Error> {
        let now = now();
        for token in tokens(&parts.headers) {
            let digest = TokenDigest::of(&token);
            let Some(session) = app.store.session(digest, now)? else { continue };
            let mut renewed = None;
            if app.lifetime.is_due(session, now) {
                // The session is as good as before if this fails: reads go on without a disk.
                match app.store.extend(digest, now).await {
                    Ok(()) => renewed = Some(set_cookie(app, &token)),
                    Err(error) => tracing::warn!(cause = %error, "session not extended"),
                }
            }
            return Ok(Self { client: session.client, token: digest, renewed });
        }
        Err(Error::Unauthenticated)
    }
}

/// Every token a request carries: a browser may hold several, from several paths.
fn tokens(headers: &HeaderMap) -> impl Iterator<Item = String> {
    headers
        .get_all(header::COOKIE)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(Cookie::split_parse)
        .filter_map(Result::ok)
        .filter(|cookie| cookie.name() == COOKIE)
        .map(|cookie| cookie.value().to_owned())
}

fn set_cookie(app: &App, token: &str) -> SetCookie {
    let lifetime = i64::try_from(app.lifetime.seconds()).unwrap_or(i64::MAX);
    let cookie = Cookie::build((COOKIE, token))
        .path("/")
        .http_only(true)
        .same_site(SameSite::Lax)
        .max_age(Duration::seconds(lifetime))
        .secure(app.cookie_secure)
        .build();
    // A token is base64url, so this holds.
    let value = HeaderValue::try_from(cookie.to_string());
    AppendHeaders([(header::SET_COOKIE, value.unwrap_or(HeaderValue::from_static("")))])
}
