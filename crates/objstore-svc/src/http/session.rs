//! `POST /register` and `POST /logout`, and the session that the other endpoints need.

use std::{borrow::Cow, panic::resume_unwind, sync::Arc};

use axum::{
    extract::{FromRequestParts, State},
    http::{HeaderMap, HeaderValue, StatusCode, header, request::Parts},
    response::{AppendHeaders, IntoResponse},
};
use common::{bearer::bearer_token, limits::ClientAddress};
use cookie::{Cookie, time::Duration};
use serde::Deserialize;

use super::{
    App, Error,
    body::Registration,
    origin::Admitted,
    query::{Nothing, Query},
};
use crate::{
    domain::{ClientId, Token, TokenDigest},
    store::now,
};

/// The cookie that carries the session token.
const COOKIE: &str = "token";

/// Maximum number of tokens of one request that are looked up.
const MAX_TOKENS: usize = 4;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RegisterInput<'a> {
    #[serde(borrow, rename = "ID")]
    id: Cow<'a, str>,
}

/// Registers a client. A known client gets one more session.
pub(super) async fn register(
    State(app): State<Arc<App>>,
    _: Admitted,
    address: ClientAddress,
    headers: HeaderMap,
    query: Result<Query<Nothing>, Error>,
    Registration(body): Registration,
) -> Result<impl IntoResponse, Error> {
    app.registrations.count(address)?;
    let client = ClientId::parse(&body.decode::<RegisterInput<'_>>()?.id)?;
    app.clients.borrow().check(client, bearer_token(&headers))?;
    let _: Query<Nothing> = query?;
    let token = Token::new(rand::random());
    app.store.register(client, TokenDigest::of(token.as_str()), now()).await??;
    Ok(set_cookie(&app, token.as_str()))
}

/// Ends the session of the request, and closes its sockets. An extension of the specification.
pub(super) async fn logout(
    State(app): State<Arc<App>>,
    session: Authenticated,
    _: Query<Nothing>,
) -> Result<impl IntoResponse, Error> {
    let token = session.token;
    let ending = Arc::clone(&app);
    // On a task of its own: a page that logs out and goes elsewhere does not wait for the answer.
    let ended = tokio::spawn(async move {
        ending.store.end_session(token, now()).await?;
        ending.open_sockets.close(token);
        Ok::<_, Error>(())
    });
    ended.await.unwrap_or_else(|panicked| resume_unwind(panicked.into_panic()))?;
    Ok((StatusCode::NO_CONTENT, cookie(&app, "", 0)))
}

/// The client of a request with a valid session, which no page of another, unlisted origin has sent.
pub(super) struct Authenticated {
    pub(super) client: ClientId,
    pub(super) token: TokenDigest,
    /// The token for the new cookie, if the session must be extended.
    token_to_renew: Option<String>,
    /// Whether the client has set, watched or opened a socket before.
    is_used: bool,
}

type SetCookie = AppendHeaders<[(header::HeaderName, HeaderValue); 1]>;

impl Authenticated {
    /// The session of a request, whatever its origin. For a handler that checks the origin itself.
    pub(super) async fn of_any_origin(headers: &HeaderMap, app: &App) -> Result<Self, Error> {
        let now = now();
        for cookie in tokens(headers) {
            let token = TokenDigest::of(&cookie);
            if let Some(session) = app.store.session(token, now).await? {
                if session.must_postpone(now) {
                    let postponed = app.store.postpone_removal(session, token, now).await;
                    app.session_outage.observe(postponed);
                }
                let token_to_renew = app.lifetime.must_extend(session, now).then_some(cookie);
                let is_used = session.unused_until.is_none();
                return Ok(Self { client: session.client, token, token_to_renew, is_used });
            }
        }
        Err(Error::Unauthenticated)
    }

    /// Records that the client has set, watched or opened a socket, so that it stays as long as its
    /// sessions. A failure is only logged.
    pub(super) async fn mark_used(&self, app: &App) {
        if self.is_used {
            return;
        }
        app.session_outage.observe(app.store.mark_used(self.client, self.token).await);
    }

    /// Extends the session if that is due, and returns the cookie to send again. Call it after the
    /// request has succeeded: the response to a failed request would not carry the cookie.
    pub(super) async fn renew(&mut self, app: &App) -> Option<SetCookie> {
        let token = self.token_to_renew.take()?;
        // If this fails, the session is still valid. So reads succeed while the store rejects writes.
        let extended = app.session_outage.observe(app.store.extend(self.token, now()).await);
        extended.map(|()| set_cookie(app, &token))
    }
}

impl FromRequestParts<Arc<App>> for Authenticated {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Error> {
        Admitted::from_request_parts(parts, app).await?;
        Self::of_any_origin(&parts.headers, app).await
    }
}

/// The values of a request's cookies that may be tokens. A browser may send several cookies of this
/// name, with different paths. Other cookies are ignored, even if they are malformed.
fn tokens(headers: &HeaderMap) -> impl Iterator<Item = String> {
    headers
        .get_all(header::COOKIE)
        .iter()
        .flat_map(|value| value.as_bytes().split(|&byte| byte == b';'))
        .filter_map(|pair| str::from_utf8(pair.trim_ascii()).ok())
        .filter_map(|pair| pair.strip_prefix(COOKIE)?.strip_prefix('='))
        .filter(|token| token.len() == Token::LENGTH)
        .take(MAX_TOKENS)
        .map(str::to_owned)
}

fn set_cookie(app: &App, token: &str) -> SetCookie {
    cookie(app, token, i64::try_from(app.lifetime.seconds()).unwrap_or(i64::MAX))
}

/// A browser keeps the cookie for this number of seconds.
fn cookie(app: &App, token: &str, seconds: i64) -> SetCookie {
    let cookie = Cookie::build((COOKIE, token))
        .path("/")
        .http_only(true)
        .same_site(app.cookie_same_site)
        .max_age(Duration::seconds(seconds))
        .secure(app.cookie_secure)
        .build();
    // The token is base64url, so the conversion does not fail.
    let value = HeaderValue::try_from(cookie.to_string());
    AppendHeaders([(header::SET_COOKIE, value.unwrap_or(HeaderValue::from_static("")))])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_found_among_other_cookies() {
        let (first, second) = ("a".repeat(Token::LENGTH), "b".repeat(Token::LENGTH));
        let foreign = format!("theme=\u{e9}; tokens={first}; token=short;token={first} ;x=y");
        let headers: HeaderMap = [foreign, format!("token={second}")]
            .into_iter()
            .map(|value| (header::COOKIE, HeaderValue::from_bytes(value.as_bytes()).unwrap()))
            .collect();
        assert_eq!(tokens(&headers).collect::<Vec<_>>(), [first, second]);
    }

    #[test]
    fn at_most_four_tokens_are_looked_up() {
        let many = format!("token={};", "a".repeat(Token::LENGTH)).repeat(100);
        let headers =
            HeaderMap::from_iter([(header::COOKIE, HeaderValue::try_from(many).unwrap())]);
        assert_eq!(tokens(&headers).count(), MAX_TOKENS);
    }
}
