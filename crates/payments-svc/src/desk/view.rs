//! What all pages of the desk share.

use std::sync::LazyLock;

use askama::Template;
use axum::{
    http::{HeaderValue, StatusCode},
    response::{IntoResponse, Response},
};

use crate::web::page::{STYLE as PAGE_STYLE, css, html, version};

const STYLE: &str = include_str!("../../assets/desk/desk.css");

/// Only files of this service and `data:` images. Forms are sent to the desk only.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; style-src 'self'; img-src 'self' data:; form-action 'self'; \
     base-uri 'none'; frame-ancestors 'none'",
);

/// The version of both style sheets.
pub(super) static VERSION: LazyLock<String> = LazyLock::new(|| version(&[PAGE_STYLE, STYLE]));

/// With the referrer policy `no-referrer`, browsers would send `Origin: null` with forms.
pub(super) fn page(status: StatusCode, page: &impl Template) -> Response {
    html(status, page, POLICY, "same-origin")
}

pub(super) async fn style() -> impl IntoResponse {
    css(STYLE)
}
