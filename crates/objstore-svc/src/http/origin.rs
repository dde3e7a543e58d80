//! Pages of other origins. A browser sends the cookie with the requests of every page of this site,
//! also of another port and of a sibling name, and some of them without asking first. So a request
//! of a page needs the service's own origin, or one that the operator has listed.

use std::sync::Arc;

use axum::{
    extract::{FromRequestParts, Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header, request::Parts},
    middleware::Next,
    response::{IntoResponse, Response},
};

use super::{App, Error};

/// The header in which a browser says how the origins of the page and of the service are related.
/// Scripts cannot set it.
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// These headers name the requests that a page of a listed origin may send. Its browser remembers
/// them for ten minutes.
const PREFLIGHT: [(HeaderName, HeaderValue); 3] = [
    (header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, HEAD, POST")),
    (
        header::ACCESS_CONTROL_ALLOW_HEADERS,
        HeaderValue::from_static(
            "Content-Type, Authorization, If-Match, If-None-Match, Last-Event-ID, Traceparent",
        ),
    ),
    (header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600")),
];

/// These headers name what a page of a listed origin may read. Without them, its browser hides the
/// response, or all but a few of its headers.
const SHARED: [(HeaderName, HeaderValue); 2] = [
    (header::ACCESS_CONTROL_ALLOW_CREDENTIALS, HeaderValue::from_static("true")),
    (
        header::ACCESS_CONTROL_EXPOSE_HEADERS,
        HeaderValue::from_static(
            "ETag, Next-Cursor, Object-Expires, Object-Presence, Retry-After, Stream-Next-Offset, \
             Stream-Cursor, Stream-Up-To-Date",
        ),
    ),
];

/// The listed origins: each as a browser sends it, or only a host, with its port if it has one.
pub(crate) struct Origins(Vec<String>);

impl Origins {
    pub(crate) fn new(listed: Vec<String>) -> Self {
        Self(listed.into_iter().filter(|origin| !origin.is_empty()).collect())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a program sends the request, or a page of the service's own or of a listed origin.
    /// Programs send neither of the two headers.
    ///
    /// Decision: `GET` and `HEAD` are no exceptions: a stream of changes keeps a session alive.
    pub(super) fn admits(&self, headers: &HeaderMap) -> bool {
        let origin = headers.get(header::ORIGIN);
        let is_own = match headers.get(SEC_FETCH_SITE) {
            Some(site) => site == "same-origin" || site == "none",
            None => origin.is_none_or(|origin| is_own(origin, headers)),
        };
        is_own || origin.is_some_and(|origin| self.lists(origin))
    }

    fn lists(&self, origin: &HeaderValue) -> bool {
        let Ok(origin) = origin.to_str() else { return false };
        let host = parse(origin).map(|(_, host)| host);
        self.0.iter().any(|listed| {
            let is_it = |sent: &str| listed.eq_ignore_ascii_case(sent);
            is_it(origin) || host.is_some_and(is_it)
        })
    }
}

/// Whether an origin is that of the request itself. The scheme is unknown behind a proxy.
fn is_own(origin: &HeaderValue, headers: &HeaderMap) -> bool {
    let Some((default_port, host)) = origin.to_str().ok().and_then(parse) else { return false };
    requested_host(headers).is_some_and(|requested| {
        requested.strip_suffix(default_port).unwrap_or(requested).eq_ignore_ascii_case(host)
    })
}

/// The host that the client has requested, with its port if it has sent one.
fn requested_host(headers: &HeaderMap) -> Option<&str> {
    headers.get(header::HOST)?.to_str().ok()
}

/// The default port of an origin's scheme, and its host without that port.
fn parse(origin: &str) -> Option<(&'static str, &str)> {
    let (scheme, host) = origin.split_once("://")?;
    let default_port = if scheme.eq_ignore_ascii_case("https") { ":443" } else { ":80" };
    Some((default_port, host.strip_suffix(default_port).unwrap_or(host)))
}

/// For handlers without a session: they run only if [`Origins::admits`] the request.
pub(super) struct Admitted;

impl FromRequestParts<Arc<App>> for Admitted {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Error> {
        if app.origins.admits(&parts.headers) { Ok(Self) } else { Err(Error::CrossOrigin) }
    }
}

/// Answers the question of a browser before a request of a page of a listed origin. Every other
/// request with a method that its path does not have gets an error.
pub(super) async fn preflight(
    app: Arc<App>,
    method: Method,
    headers: HeaderMap,
) -> Result<impl IntoResponse, Error> {
    let is_listed = headers.get(header::ORIGIN).is_some_and(|origin| app.origins.lists(origin));
    if method == Method::OPTIONS && is_listed {
        Ok((StatusCode::NO_CONTENT, PREFLIGHT))
    } else {
        Err(Error::MethodNotAllowed)
    }
}

/// Lets a page of a listed origin read the response, errors included.
pub(super) async fn share(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let origin = request.headers().get(header::ORIGIN).cloned();
    let mut response = next.run(request).await;
    if let Some(origin) = origin.filter(|origin| app.origins.lists(origin)) {
        let headers = response.headers_mut();
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.extend(SHARED);
        headers.append(header::VARY, HeaderValue::from_static("Origin"));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    const LISTED: [&str; 2] = ["https://app.example", "other.example:8080"];

    /// Whether a request to `https://store.example` is admitted.
    fn admits(site: &'static str, origin: &'static str) -> bool {
        let mut headers =
            HeaderMap::from_iter([(header::HOST, HeaderValue::from_static("store.example"))]);
        let sent = [(SEC_FETCH_SITE, site), (header::ORIGIN, origin)];
        for (name, value) in sent.into_iter().filter(|(_, value)| *value != "absent") {
            headers.insert(name, HeaderValue::from_static(value));
        }
        Origins::new(LISTED.map(str::to_owned).to_vec()).admits(&headers)
    }

    #[test]
    fn programs_are_admitted() {
        assert!(admits("absent", "absent"));
    }

    #[test]
    fn what_the_browser_says_decides() {
        for (site, is_own) in [
            ("same-origin", true),
            ("none", true),
            ("same-site", false),
            ("cross-site", false),
            ("Same-Origin", false),
            ("same-origin, same-origin", false),
            ("", false),
        ] {
            for origin in ["absent", "https://store.example", "https://evil.example", "null"] {
                assert_eq!(admits(site, origin), is_own, "{site} {origin}");
            }
        }
    }

    #[test]
    fn own_origins_are_admitted() {
        for ours in
            ["https://store.example", "http://STORE.example:80", "HTTPS://store.example:443"]
        {
            assert!(admits("absent", ours), "{ours}");
        }
    }

    #[test]
    fn listed_origins_are_admitted() {
        for listed in [
            "https://app.example",
            "https://APP.example",
            "http://other.example:8080",
            "https://other.example:8080",
        ] {
            assert!(admits("absent", listed), "{listed}");
            assert!(admits("cross-site", listed), "{listed}");
        }
    }

    #[test]
    fn other_origins_are_not_admitted() {
        let others = "http://app.example https://app.example:444 \
                      https://app.example.evil.example https://store.example:444 \
                      https://store.example:80 https://store.example/ \
                      https://store.example.evil.example https://store.example@evil.example \
                      https://evil.example https:// store.example app.example null";
        for other in others.split(' ').chain([""]) {
            assert!(!admits("absent", other), "{other}");
            assert!(!admits("same-site", other), "{other}");
        }
    }
}
