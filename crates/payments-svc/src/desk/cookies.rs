//! The two cookies of the desk: the session, and the browser that asks for a link.

use axum::http::{HeaderMap, HeaderValue};
use cookie::{Cookie, SameSite, time::Duration};
use payments_domain::Token;

use super::settings::Settings;
use crate::web::page::cookie;

/// A link works for 72 hours at most.
const BROWSER_AGE: Duration = Duration::days(4);

#[derive(Clone, Copy)]
pub(super) enum Kind {
    Session,
    Browser,
}

impl Kind {
    /// Browsers accept the prefix only with TLS. Then no other host can set the cookie.
    fn name(self, is_secure: bool) -> &'static str {
        match (self, is_secure) {
            (Self::Session, true) => "__Host-session",
            (Self::Session, false) => "session",
            (Self::Browser, true) => "__Host-browser",
            (Self::Browser, false) => "browser",
        }
    }

    /// The cookie that the browser sent.
    pub(super) fn read(self, headers: &HeaderMap, settings: &Settings) -> Option<Token> {
        cookie(headers, self.name(settings.is_secure)).map(|value| Token::sent(&value))
    }

    /// The header that sets the cookie, or deletes it.
    pub(super) fn set(self, token: Option<&Token>, settings: &Settings) -> Option<HeaderValue> {
        let value = token.map_or("", Token::expose).to_owned();
        let cookie = Cookie::build((self.name(settings.is_secure), value))
            .path("/")
            .http_only(true)
            .same_site(SameSite::Lax)
            .secure(settings.is_secure);
        let cookie = match (self, token) {
            (_, None) => cookie.max_age(Duration::ZERO),
            // It ends with the browser, or before.
            (Self::Session, _) => cookie,
            (Self::Browser, _) => cookie.max_age(BROWSER_AGE),
        };
        HeaderValue::try_from(cookie.to_string()).ok()
    }
}

#[cfg(test)]
mod tests {
    use axum::http::header;

    use super::*;
    use crate::authenticator::DeskKey;

    #[test]
    fn cookies_are_bound_to_the_host_behind_tls() {
        let token = Token::sent("secret");
        for (url, expected) in [
            ("http://localhost:5004/", "session=secret; HttpOnly; SameSite=Lax; Path=/"),
            (
                "https://desk.example/",
                "__Host-session=secret; HttpOnly; SameSite=Lax; Secure; Path=/",
            ),
        ] {
            let key = DeskKey::of(&"00".repeat(32).into()).unwrap();
            let settings = Settings::new(&url.parse().unwrap(), key);
            let set = Kind::Session.set(Some(&token), &settings).unwrap();
            assert_eq!(set, expected);
            let sent = HeaderValue::from_str(expected.split(';').next().unwrap()).unwrap();
            let headers = HeaderMap::from_iter([(header::COOKIE, sent)]);
            assert_eq!(Kind::Session.read(&headers, &settings).unwrap().expose(), "secret");
            assert!(Kind::Browser.read(&headers, &settings).is_none());
        }
    }
}
