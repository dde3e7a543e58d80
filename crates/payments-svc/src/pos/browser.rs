//! Binds a payment to the browser that paid, so that nobody else who opens the address of a form
//! sees its outcome or answers its challenge.
//!
//! The browser keeps a secret in a cookie. The digest of the secret is part of the request digest
//! of the form's idempotency key ([`super::visit::Visit::idempotency_key`]), which the store keeps.
//! So every replica recognizes the browser, and nothing else has to be stored.
//!
//! A browser without cookies gets the secret in a hidden field of each form. It sees the outcome in
//! the answer to its form, and at no address.

use axum::http::{HeaderMap, HeaderValue};
use cookie::{Cookie, SameSite, time::Duration};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use super::settings::Settings;
use crate::web::page::cookie;

/// The cookie and the hidden field.
pub(super) const NAME: &str = "browser";

/// Two days, as long as the outcome of a form is kept (`KEY_TTL` of the jobs).
const MAX_AGE: Duration = Duration::days(2);

/// The browser of a customer.
pub(super) struct Browser {
    secret: Uuid,
    /// Whether the browser has sent the secret in its cookie.
    pub(super) has_cookie: bool,
}

impl Browser {
    /// The browser that sent these headers. A browser without the cookie gets a new secret.
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let known = cookie(headers, NAME).and_then(|secret| Uuid::parse_str(&secret).ok());
        Self { secret: known.unwrap_or_else(Uuid::new_v4), has_cookie: known.is_some() }
    }

    /// Takes the secret of the hidden field, if the browser has sent no cookie.
    pub(super) fn use_field(&mut self, field: Option<Uuid>) {
        if let Some(secret) = field.filter(|_| !self.has_cookie) {
            self.secret = secret;
        }
    }

    /// The value of the hidden field. `None` for a browser with the cookie.
    pub(super) fn field(&self) -> Option<String> {
        (!self.has_cookie).then(|| self.secret.to_string())
    }

    /// The header that sets the cookie. It needs no consent, because the payment needs it.
    pub(super) fn set_cookie(&self, settings: &Settings) -> Option<HeaderValue> {
        let cookie = Cookie::build((NAME, self.secret.to_string()))
            .path(&settings.path)
            .max_age(MAX_AGE)
            .http_only(true)
            .same_site(SameSite::Lax)
            .secure(settings.is_secure);
        HeaderValue::try_from(cookie.to_string()).ok()
    }

    pub(super) fn digest(&self) -> [u8; 32] {
        Sha256::digest(self.secret).into()
    }
}

#[cfg(test)]
mod tests {
    use axum::http::header;

    use super::*;

    fn browser(cookies: &[&'static str]) -> Browser {
        let headers =
            cookies.iter().map(|cookie| (header::COOKIE, HeaderValue::from_static(cookie)));
        Browser::of(&headers.collect())
    }

    #[test]
    fn a_browser_is_recognized_by_its_cookie() {
        let known = ["a=b; browser=4b1f0a4e-6f0f-4d53-9f0c-0d6f8c2a9b11", "c=d"];
        let known = browser(&known);
        assert!(known.has_cookie && known.field().is_none());
        assert_eq!(known.secret.to_string(), "4b1f0a4e-6f0f-4d53-9f0c-0d6f8c2a9b11");
        for unknown in [&[][..], &["browser=x"], &["xbrowser=4b1f0a4e-6f0f-4d53-9f0c-0d6f8c2a9b11"]]
        {
            let unknown = browser(unknown);
            assert!(!unknown.has_cookie && unknown.field().is_some());
            assert_ne!(unknown.digest(), known.digest());
        }
    }

    #[test]
    fn the_field_counts_only_without_a_cookie() {
        let secret = Uuid::new_v4();
        let mut without = browser(&[]);
        without.use_field(Some(secret));
        assert_eq!(without.field(), Some(secret.to_string()));
        let mut with = browser(&["browser=4b1f0a4e-6f0f-4d53-9f0c-0d6f8c2a9b11"]);
        let digest = with.digest();
        with.use_field(Some(secret));
        assert_eq!(with.digest(), digest);
    }

    #[test]
    fn the_cookie_is_for_the_page_alone_and_secure_behind_tls() {
        let browser = browser(&[]);
        for (url, end) in [
            ("http://localhost:5003/", "; HttpOnly; SameSite=Lax; Path=/; Max-Age=172800"),
            (
                "https://shop.example/pay",
                "; HttpOnly; SameSite=Lax; Secure; Path=/pay/; Max-Age=172800",
            ),
        ] {
            let settings = Settings::new(url, Vec::new(), [const { None }; 3]);
            let cookie = browser.set_cookie(&settings).unwrap();
            assert!(cookie.to_str().unwrap().ends_with(end), "{cookie:?}");
        }
    }
}
