//! Where a user goes after a code: back to the page that needed it.

use std::convert::Infallible;

use axum::{extract::FromRequestParts, http::request::Parts, response::Response};
use url::form_urlencoded;

use super::Desk;
use crate::web::page::see_other;

/// The path of a page of the desk, from the query.
pub(super) struct Next(Option<String>);

impl FromRequestParts<Desk> for Next {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, desk: &Desk) -> Result<Self, Infallible> {
        let query = form_urlencoded::parse(parts.uri.query().unwrap_or_default().as_bytes());
        let mut paths = query.filter(|(name, _)| name == "next").map(|(_, path)| path.into_owned());
        Ok(Self(paths.next().filter(|path| is_page(path, &desk.settings.path))))
    }
}

impl Next {
    pub(super) fn path<'a>(&'a self, or: &'a str) -> &'a str {
        self.0.as_deref().unwrap_or(or)
    }

    /// The query that keeps it.
    pub(super) fn query(&self) -> String {
        self.0.as_deref().map(query).unwrap_or_default()
    }

    pub(super) fn redirect(&self, or: &str) -> Response {
        see_other(self.path(or))
    }
}

/// The query that leads back to this path.
pub(super) fn query(path: &str) -> String {
    format!("?next={}", form_urlencoded::byte_serialize(path.as_bytes()).collect::<String>())
}

/// Whether a browser finds the path below `home`, and never at another host.
pub(super) fn is_page(path: &str, home: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-_.?=&%+".contains(&byte);
    let rest = path.strip_prefix(home);
    rest.is_some_and(|rest| !rest.starts_with('/') && rest.bytes().all(is_plain))
}

#[cfg(test)]
mod tests {
    use super::is_page;

    #[test]
    fn only_pages_of_the_desk_are_next() {
        for (path, home, expected) in [
            ("/", "/", true),
            ("/merchants/1/payments?amount=9.95&last4=", "/", true),
            ("/desk/account", "/desk/", true),
            ("/account", "/desk/", false),
            ("//evil.example", "/", false),
            ("/desk//evil.example", "/desk/", false),
            ("/\\evil.example", "/", false),
            ("/\t/evil.example", "/", false),
            ("/a\r\nb", "/", false),
            ("https://evil.example/", "/", false),
            ("evil.example", "/", false),
            ("", "/", false),
        ] {
            assert_eq!(is_page(path, home), expected, "{path}");
        }
    }
}
