//! What all pages of the desk share.

use std::{borrow::Cow, sync::LazyLock};

use askama::Template;
use axum::{
    http::{HeaderValue, StatusCode},
    response::{IntoResponse, Response},
};

pub(super) use crate::web::page::HTML;
use crate::{
    language::Language,
    web::{
        Body,
        page::{STYLE as PAGE_STYLE, css, html, version},
    },
};

const STYLE: &str = include_str!("../../assets/desk/desk.css");

/// Only files of this service and `data:` images. Forms are sent to the desk only.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; style-src 'self'; img-src 'self' data:; form-action 'self'; \
     base-uri 'none'; frame-ancestors 'none'",
);

/// The version of both style sheets.
pub(super) static VERSION: LazyLock<String> = LazyLock::new(|| version(&[PAGE_STYLE, STYLE]));

/// A field of a form, with its hint or error.
#[derive(Template)]
#[template(path = "desk/field.html")]
pub(super) struct Field<'a> {
    pub(super) name: &'static str,
    pub(super) label: Cow<'a, str>,
    pub(super) value: &'a str,
    /// Further attributes in HTML.
    pub(super) attributes: &'static str,
    pub(super) hint: Option<Cow<'a, str>>,
    pub(super) error: Option<Cow<'a, str>>,
}

impl<'a> Field<'a> {
    /// The field for an e-mail address. `wrong`: what the user typed, if it is no address.
    pub(super) fn email(language: &'a Language, wrong: Option<&'a str>) -> Self {
        Self {
            name: "email",
            label: language.email_address(),
            value: wrong.unwrap_or_default(),
            attributes: "type=\"email\" autocomplete=\"email\" required maxlength=\"255\"",
            hint: Some(language.email_address_hint()),
            error: wrong.map(|_| language.email_address_error()),
        }
    }
}

/// What the user typed into a field of a form.
pub(super) fn typed(body: &Body, name: &'static str) -> String {
    let typed = body.read(|fields| fields.optional(name, |text| Ok::<_, String>(text.to_owned())));
    typed.ok().flatten().unwrap_or_default()
}

/// A field of a form with a list of values, each with its text.
#[derive(Template)]
#[template(path = "desk/select.html")]
pub(super) struct Select<'a> {
    pub(super) name: &'static str,
    pub(super) label: Cow<'a, str>,
    pub(super) value: &'a str,
    pub(super) options: Vec<(Cow<'a, str>, Cow<'a, str>)>,
}

/// With the referrer policy `no-referrer`, browsers would send `Origin: null` with forms.
pub(super) fn page(status: StatusCode, page: &impl Template) -> Response {
    html(status, page, POLICY, "same-origin")
}

pub(super) async fn style() -> impl IntoResponse {
    css(STYLE)
}
