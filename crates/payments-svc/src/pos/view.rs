//! What every page is answered with.

use askama::Template;
use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};

/// Nothing but what the service itself serves, and nobody frames it.
///
/// Decision: forms lead to the service alone, since browsers hold every redirect after a form against
/// the policy, those of the shop included. Whoever has paid leaves by the page.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; \
     form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
);

/// A response with a page.
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
