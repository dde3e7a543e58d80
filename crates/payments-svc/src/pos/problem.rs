//! The pages that end a payment before it begins: an invalid, used or expired link, an old form, too
//! many attempts, or payments that are not available. Each names the shop and leads back to it, if
//! the link names one.

use std::{borrow::Cow, sync::Arc};

use askama::Template;
use axum::{
    extract::{Request, State},
    http::{StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
};
use payments_domain::{FieldError, Merchant};

use super::{Pos, asset::VERSION, language::Language, settings::Settings, view};
use crate::{
    app,
    web::{Error, Fields, fields, page::in_place_of},
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
    pub(super) async fn of(pos: &Pos, parts: &Parts, reason: Reason) -> Self {
        let key = |fields: &mut Fields<'_>| fields.required::<String, _>("key", str::parse);
        let merchant = match (&reason, fields::read_query(parts.uri.query(), key)) {
            // The store has just failed: asking again would take as long.
            (Reason::Refused(Error::App(app::Error::Store(_))), _) | (_, Err(_)) => None,
            (_, Ok(key)) => pos.payments.merchant_by_key(&key).await.ok(),
        };
        let shop = merchant.map(|merchant| {
            let url = view::website_url(&merchant).map(str::to_owned);
            Box::new(Shop { merchant, url })
        });
        let (language, settings) = (view::language(parts), Arc::clone(&pos.settings));
        Self { language, reason, shop, settings }
    }
}

/// A path that no route serves.
pub(super) async fn not_found(State(pos): State<Pos>, request: Request) -> Response {
    unserved(&pos, request, app::Error::NotFound.into()).await
}

/// A method that the route of the path does not serve.
pub(super) async fn wrong_method(State(pos): State<Pos>, request: Request) -> Response {
    unserved(&pos, request, Error::MethodNotAllowed).await
}

/// Answers browsers with a page, and programs with the error body of the API.
async fn unserved(pos: &Pos, request: Request, error: Error) -> Response {
    let (parts, _) = request.into_parts();
    let accepted = parts.headers.get(header::ACCEPT).and_then(|accepted| accepted.to_str().ok());
    if accepted.is_some_and(|accepted| accepted.contains("text/html")) {
        Problem::of(pos, &parts, Reason::Refused(error)).await.into_response()
    } else {
        error.into_response()
    }
}

pub(super) enum Reason {
    /// The request failed.
    Refused(Error),
    /// Another browser used the form, or the link has paid and pays only once.
    LinkUsed,
    LinkExpired,
    /// No acquirer processes payments of the shop.
    NoAcquirer,
    /// The form is too old. The link still works.
    FormExpired {
        retry_url: String,
    },
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
            Reason::Refused(error) => return refused(language, error, (shop, settings)),
            Reason::LinkUsed => (language.link_used(), ask_shop, None),
            Reason::LinkExpired => (language.link_expired(), ask_shop, None),
            Reason::NoAcquirer => (language.unavailable(), language.declined_shop(), None),
            Reason::FormExpired { retry_url } => {
                (language.form_expired(), language.form_expired_hint(), Some(retry_url))
            }
        };
        let (hint, invalid) = (Some(hint), Vec::new());
        view::page(
            status,
            &ProblemPage { language, heading, hint, retry_url, invalid, shop, settings },
        )
    }
}

/// Keeps the status of the error, its `Retry-After` and, for the log, its cause.
fn refused(
    language: &'static Language,
    error: Error,
    (shop, settings): (Option<Box<Shop>>, Arc<Settings>),
) -> Response {
    let invalid = match &error {
        Error::App(app::Error::Invalid(invalid)) => invalid.clone(),
        _ => Vec::new(),
    };
    let (answer, _) = error.into_response().into_parts();
    let (heading, hint) = match answer.status {
        StatusCode::TOO_MANY_REQUESTS => {
            (language.too_many_attempts(), Some(language.too_many_attempts_hint()))
        }
        StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED => (language.not_found(), None),
        StatusCode::BAD_REQUEST | StatusCode::UNPROCESSABLE_ENTITY => {
            (language.link_broken(), Some(language.link_broken_hint()))
        }
        _ => (language.unavailable(), Some(language.unavailable_hint())),
    };
    let retry_url = None;
    let page = ProblemPage { language, heading, hint, retry_url, invalid, shop, settings };
    let page = view::page(answer.status, &page);
    in_place_of(answer, page)
}
