//! The page that asks before something is removed.

use std::borrow::Cow;

use askama::Template;
use axum::{http::StatusCode, response::Response};

use super::{form::key, view, visitor::AtMerchant};

#[derive(Template)]
#[template(path = "desk/confirm.html")]
pub(super) struct ConfirmPage<'a> {
    pub(super) at: &'a AtMerchant,
    pub(super) question: Cow<'a, str>,
    pub(super) hint: Cow<'a, str>,
    /// The text of the button.
    pub(super) action: Cow<'a, str>,
    /// The page of the merchant to return to.
    pub(super) back: &'a str,
}

impl ConfirmPage<'_> {
    pub(super) fn show(&self) -> Response {
        view::page(StatusCode::OK, self)
    }
}
