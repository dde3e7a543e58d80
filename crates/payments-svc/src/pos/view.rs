//! The response and its headers, common to all pages.

use std::sync::LazyLock;

use askama::Template;
use axum::{
    http::{HeaderValue, StatusCode, request::Parts},
    response::Response,
};
use payments_domain::Merchant;
use url::Url;

use super::language::Language;
use crate::web::{fields, page::html};

static POLICY: LazyLock<HeaderValue> = LazyLock::new(|| policy(None));

/// Content Security Policy: only files of this service and `data:` images, and no frames. The script
/// asks the service for the outcome of a payment. `others`: the origins of the acquirer's script and
/// of its API, if the page has that script.
///
/// Decision: forms may only send to the service. Browsers apply this rule to every redirect after a
/// form, so a redirect to the shop would be blocked. Customers who have paid go to the shop with a
/// link and a meta refresh on the result page.
pub(super) fn policy(others: Option<(&str, &str)>) -> HeaderValue {
    let (script, api, frames) = match others {
        Some((script, api)) => {
            (format!(" {script}"), format!(" {api}"), format!(" frame-src {script};"))
        }
        None => Default::default(),
    };
    let policy = format!(
        "default-src 'none'; style-src 'self'; script-src 'self'{script}; img-src 'self' data:; \
         connect-src 'self'{api};{frames} form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    );
    HeaderValue::try_from(policy).unwrap_or_else(|_| HeaderValue::from_static("default-src 'none'"))
}

pub(super) fn page(status: StatusCode, page: &impl Template) -> Response {
    page_with(status, page, POLICY.clone())
}

/// [`page`] with another Content Security Policy.
pub(super) fn page_with(status: StatusCode, page: &impl Template, policy: HeaderValue) -> Response {
    html(status, page, policy, "no-referrer")
}

/// The customer's language.
pub(super) fn language(parts: &Parts) -> &'static Language {
    let query = parts.uri.query();
    let locale = fields::read_query(query, |fields| fields.optional("locale", str::parse));
    let locale: Option<String> = locale.unwrap_or_default();
    Language::of(locale.as_deref(), &parts.headers)
}

/// The website of a merchant, if browsers can open it: the API accepts any text.
pub(super) fn website_url(merchant: &Merchant) -> Option<&str> {
    let website = merchant.details.website.as_str();
    let url = Url::parse(website).ok()?;
    ["http", "https"].contains(&url.scheme()).then_some(website)
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
