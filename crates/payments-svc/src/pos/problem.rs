//! The pages that end a payment before it begins: an invalid, used or expired link, an old form, too
//! many attempts, or payments that are not available. Each names the shop and leads back to it, if
//! the link names one. A browser gets them also in place of an error that no handler of the page has
//! answered.

use std::{borrow::Cow, sync::Arc};

use askama::Template;
use axum::{
    extract::{Request, State},
    http::{StatusCode, header, request, response},
    middleware::Next,
    response::{IntoResponse, Response},
};
use payments_domain::{FieldError, Merchant};

use super::{Pos, SHARED, asset::VERSION, language::Language, settings::Settings, view};
use crate::{
    app,
    web::{
        Error, Fields, fields,
        page::{HTML, in_place_of},
    },
};

#[derive(Template)]
#[template(path = "problem.html")]
struct ProblemPage {
    language: &'static Language,
    heading: Cow<'static, str>,
    hint: Option<Cow<'static, str>>,
    /// The URL for a new start, if one is possible.
    retry_url: Option<String>,
    /// The parameters of the link that are wrong. Only the source of the page names them: they are
    /// for those who made the link, and not for customers.
    invalid: Vec<FieldError>,
    shop: Option<Box<Shop>>,
    settings: Arc<Settings>,
}

impl ProblemPage {
    fn merchant(&self) -> Option<&Merchant> {
        self.shop.as_ref().map(|shop| &shop.merchant)
    }

    fn way_back(&self) -> Option<&str> {
        self.shop.as_ref()?.url.as_deref()
    }
}

/// A page in the customer's language in place of the payment.
pub(super) struct Problem {
    pub(super) language: &'static Language,
    pub(super) reason: Reason,
    pub(super) shop: Option<Box<Shop>>,
    pub(super) settings: Arc<Settings>,
}

/// The shop that a link pays.
pub(super) struct Shop {
    pub(super) merchant: Merchant,
    /// Where the customer goes on without paying.
    pub(super) url: Option<String>,
}

impl Problem {
    /// The problem of a request without a valid link. The link still names its shop if its key is
    /// right, but proves nothing else. So the way back is the shop's website and never `redirect`.
    pub(super) async fn of(pos: &Pos, parts: &request::Parts, reason: Reason) -> Self {
        let key = |fields: &mut Fields<'_>| fields.required::<String, _>("key", str::parse);
        let merchant = match fields::read_query(parts.uri.query(), key) {
            Ok(key) if reason.may_name_shop() => pos.payments.merchant_by_key(&key).await.ok(),
            _ => None,
        };
        let shop = merchant.map(|merchant| {
            let url = view::website_url(&merchant).map(str::to_owned);
            Box::new(Shop { merchant, url })
        });
        let (language, settings) = (view::language(parts), Arc::clone(&pos.settings));
        Self { language, reason, shop, settings }
    }
}

/// Answers a browser with a page in place of every error that has none.
///
/// Decision: 400 of `POST /transactions` and `POST /cards` stays. It says what is wrong with the
/// card, in words for the page of the shop.
pub(super) async fn pages(State(pos): State<Pos>, request: Request, next: Next) -> Response {
    let accepted =
        request.headers().get(header::ACCEPT).and_then(|accepted| accepted.to_str().ok());
    if !accepted.is_some_and(|accepted| accepted.contains("text/html")) {
        return next.run(request).await;
    }
    let (parts, body) = request.into_parts();
    let asked = parts.clone();
    let answer = next.run(Request::from_parts(parts, body)).await;
    let (status, kind) = (answer.status(), answer.headers().get(header::CONTENT_TYPE));
    let is_error = status.is_client_error() || status.is_server_error();
    let is_shared = SHARED.contains(&asked.uri.path().trim_end_matches('/'));
    let is_about_card = is_shared && status == StatusCode::BAD_REQUEST;
    if !is_error || is_about_card || kind.is_some_and(|kind| kind == HTML) {
        return answer;
    }
    let (answer, _) = answer.into_parts();
    let reason = Reason::Refused { answer: Box::new(answer), invalid: Vec::new() };
    Problem::of(&pos, &asked, reason).await.into_response()
}

pub(super) enum Reason {
    /// The request failed with this answer.
    Refused {
        answer: Box<response::Parts>,
        invalid: Vec<FieldError>,
    },
    /// Another browser used the form, or the link has paid and pays only once.
    LinkUsed,
    LinkExpired,
    /// No acquirer processes payments of the shop.
    NoAcquirer,
    /// The form is too old. The link still works.
    FormExpired {
        /// `None` if the form may have paid: its outcome is not kept any more.
        retry_url: Option<String>,
    },
}

impl Reason {
    pub(super) fn of(error: Error) -> Self {
        let invalid = match &error {
            Error::App(app::Error::Invalid(invalid)) => invalid.clone(),
            _ => Vec::new(),
        };
        let (answer, _) = error.into_response().into_parts();
        Self::Refused { answer: Box::new(answer), invalid }
    }

    /// Whether the shop may be read from the store. Not if the service has just failed: that would
    /// take as long. And nothing is read for a foreign host.
    fn may_name_shop(&self) -> bool {
        let Self::Refused { answer, .. } = self else { return true };
        !answer.status.is_server_error() && answer.status != StatusCode::MISDIRECTED_REQUEST
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let Self { language, reason, shop, settings } = self;
        let ask_shop = language.link_broken_hint();
        let status = match reason {
            Reason::NoAcquirer => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::GONE,
        };
        let (heading, hint, retry_url) = match reason {
            Reason::Refused { answer, invalid } => {
                return refused(language, (*answer, invalid), (shop, settings));
            }
            Reason::LinkUsed => (language.link_used(), Some(ask_shop), None),
            Reason::LinkExpired => (language.link_expired(), Some(ask_shop), None),
            Reason::NoAcquirer => (language.unavailable(), Some(language.declined_shop()), None),
            Reason::FormExpired { retry_url } => {
                let hint = retry_url.is_some().then(|| language.form_expired_hint());
                (language.form_expired(), hint, retry_url)
            }
        };
        let invalid = Vec::new();
        view::page(
            status,
            &ProblemPage { language, heading, hint, retry_url, invalid, shop, settings },
        )
    }
}

fn refused(
    language: &'static Language,
    (answer, invalid): (response::Parts, Vec<FieldError>),
    (shop, settings): (Option<Box<Shop>>, Arc<Settings>),
) -> Response {
    let (heading, hint) = match answer.status {
        StatusCode::TOO_MANY_REQUESTS => {
            (language.too_many_attempts(), Some(language.too_many_attempts_hint()))
        }
        StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED => (language.not_found(), None),
        StatusCode::BAD_REQUEST
        | StatusCode::MISDIRECTED_REQUEST
        | StatusCode::UNPROCESSABLE_ENTITY => {
            (language.link_broken(), Some(language.link_broken_hint()))
        }
        _ => (language.unavailable(), Some(language.unavailable_hint())),
    };
    let retry_url = None;
    let page = ProblemPage { language, heading, hint, retry_url, invalid, shop, settings };
    let page = view::page(answer.status, &page);
    in_place_of(answer, page)
}
