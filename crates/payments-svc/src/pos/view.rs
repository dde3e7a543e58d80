//! The response and its headers, common to all pages.

use askama::Template;
use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};

/// Content security policy: only files of this service and `data:` images, and no frames. The script
/// asks the service for the outcome of a payment.
///
/// Decision: forms may only send to the service. Browsers apply this rule to every redirect after a
/// form, so a redirect to the shop would be blocked. Customers who have paid go to the shop with a
/// link and a meta refresh on the result page.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; \
     connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
);

pub(super) fn page(status: StatusCode, page: &impl Template) -> Response {
    let Ok(html) = page.render() else { return StatusCode::INTERNAL_SERVER_ERROR.into_response() };
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8")),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
        (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
    ];
    (status, headers, html).into_response()
}

/// The class of an amount in large type: a long amount gets a smaller one, because it must fit the
/// screen of a phone in one line.
pub(super) fn size(amount: &str) -> &'static str {
    match amount.chars().count() {
        ..=11 => "",
        12..=15 => "long",
        _ => "longest",
    }
}
