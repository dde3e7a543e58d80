//! The pages, as templates that are checked when the service is built, and the headers they have.

use askama::Template;
use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};

use super::{
    asset::VERSION,
    language::Language,
    visit::{Mistyped, Visit},
};
use crate::domain::{Currency, DeclineGroup, Id, Invalid};

/// The screen where the amount is entered.
#[derive(Template)]
#[template(path = "amount.html")]
pub(super) struct AmountPage<'a> {
    pub(super) language: &'static Language,
    pub(super) visit: &'a Visit,
    /// What of what was typed is wrong.
    pub(super) wrong: Mistyped,
}

/// The form for a card.
#[derive(Template)]
#[template(path = "card.html")]
pub(super) struct CardPage<'a> {
    pub(super) language: &'static Language,
    pub(super) visit: &'a Visit,
    /// What of what was typed is wrong.
    pub(super) wrong: WrongCard,
}

/// What is wrong with what was typed of a card.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct WrongCard {
    pub(super) number: bool,
    pub(super) expiry: bool,
    pub(super) code: bool,
}

/// A payment that is with the acquirer.
#[derive(Template)]
#[template(path = "processing.html")]
pub(super) struct ProcessingPage<'a> {
    pub(super) language: &'static Language,
    pub(super) visit: &'a Visit,
}

/// The bank that the sandbox is asks the customer.
#[derive(Template)]
#[template(path = "challenge.html")]
pub(super) struct ChallengePage<'a> {
    pub(super) language: &'static Language,
    pub(super) visit: &'a Visit,
    pub(super) last4: &'a str,
    /// Where the answer goes.
    pub(super) action: String,
}

/// What came of the payment.
#[derive(Template)]
#[template(path = "result.html")]
pub(super) struct ResultPage<'a> {
    pub(super) language: &'static Language,
    pub(super) visit: &'a Visit,
    pub(super) transaction: Id,
    /// Why it did not succeed, if it did not: as much as a customer learns.
    pub(super) declined: Option<DeclineGroup>,
    /// Where the customer may try again.
    pub(super) again: String,
    /// The page of the shop that they go to at once, if they have paid, or may go back to.
    pub(super) shop: Option<String>,
}

/// There is nothing to pay on.
#[derive(Template)]
#[template(path = "problem.html")]
pub(super) struct ProblemPage {
    pub(super) language: &'static Language,
    pub(super) heading: &'static str,
    pub(super) hint: &'static str,
    /// The parameters of the link that are wrong.
    pub(super) invalid: Vec<Invalid>,
}

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
