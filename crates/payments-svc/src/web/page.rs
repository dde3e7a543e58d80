//! HTML pages and their files, for the payment page and the desk.

use std::fmt::Write as _;

use askama::Template;
use axum::{
    http::{HeaderMap, HeaderValue, StatusCode, header, response::Parts},
    response::{IntoResponse, Response},
};
use cookie::Cookie;
use sha2::{Digest as _, Sha256};

/// The style sheet of all pages.
pub(crate) const STYLE: &str = include_str!("../../assets/page/page.css");

/// The media type of a page.
pub(crate) const HTML: HeaderValue = HeaderValue::from_static("text/html; charset=utf-8");

const CACHE_ONE_YEAR: &str = "public, max-age=31536000, immutable";

pub(crate) async fn style() -> impl IntoResponse {
    css(STYLE)
}

pub(crate) fn css(text: &'static str) -> Response {
    file("text/css; charset=utf-8", text)
}

pub(crate) fn file(content_type: &'static str, text: &'static str) -> Response {
    ([(header::CONTENT_TYPE, content_type), (header::CACHE_CONTROL, CACHE_ONE_YEAR)], text)
        .into_response()
}

/// Version in the URLs of files: a digest of their content. Browsers may cache a file for a year,
/// because a changed file gets a new URL.
pub(crate) fn version(files: &[&str]) -> String {
    let digest = files.iter().fold(Sha256::new(), |digest, file| digest.chain_update(file));
    digest.finalize().iter().take(6).fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// A page, with its Content Security Policy and referrer policy.
pub(crate) fn html(
    status: StatusCode,
    page: &impl Template,
    policy: HeaderValue,
    referrer_policy: &'static str,
) -> Response {
    let Ok(html) = page.render() else { return StatusCode::INTERNAL_SERVER_ERROR.into_response() };
    let headers = [
        (header::CONTENT_TYPE, HTML),
        (header::CONTENT_SECURITY_POLICY, policy),
        (header::REFERRER_POLICY, HeaderValue::from_static(referrer_policy)),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
        (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
    ];
    (status, headers, html).into_response()
}

/// The value of a cookie that the browser sent.
pub(crate) fn cookie(headers: &HeaderMap, name: &str) -> Option<String> {
    let cookies = headers.get_all(header::COOKIE).into_iter();
    let mut cookies = cookies
        .filter_map(|cookies| cookies.to_str().ok())
        .flat_map(|cookies| Cookie::split_parse(cookies).flatten());
    let cookie = cookies.find(|cookie| cookie.name() == name);
    cookie.map(|cookie| cookie.value().to_owned())
}

/// Redirects a browser with 303: it follows with `GET`, whatever the method was.
pub(crate) fn see_other(url: &str) -> Response {
    (StatusCode::SEE_OTHER, [(header::LOCATION, url)]).into_response()
}

/// A page in place of the body of an error. Keeps its status, its other headers and, for the log, its
/// cause.
pub(crate) fn in_place_of(mut error: Parts, page: Response) -> Response {
    let (page, body) = page.into_parts();
    error.headers.remove(header::CONTENT_LENGTH);
    error.headers.extend(page.headers);
    Response::from_parts(error, body)
}
