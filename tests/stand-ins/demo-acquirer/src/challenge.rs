//! The page on which the customer answers 3-D Secure.

use std::sync::Arc;

use askama::Template;
use axum::{
    Router,
    extract::{Path, State},
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Redirect, Response},
    routing::{get, post},
};

use crate::{key::Key, service::Acquirer};

/// No script, no frame, nothing from elsewhere. Forms are free, because browsers apply their rule
/// also to the redirect to payments-svc.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'",
);

/// The routes of the page.
pub(crate) fn router(acquirer: Arc<Acquirer>) -> Router {
    Router::new()
        .route("/challenges/{key}", get(page))
        .route("/challenges/{key}/confirm", post(confirm))
        .route("/challenges/{key}/decline", post(decline))
        .with_state(acquirer)
}

#[derive(Template)]
#[template(path = "challenge.html")]
struct Challenge<'a> {
    /// Such as `9.95 EUR`.
    amount: String,
    key: &'a Key,
    is_open: bool,
    return_url: &'a str,
}

#[derive(Template)]
#[template(path = "unknown.html")]
struct Unknown;

async fn page(State(acquirer): State<Arc<Acquirer>>, Path(key): Path<String>) -> Response {
    let Ok(key) = key.parse() else { return html(StatusCode::NOT_FOUND, &Unknown) };
    let book = acquirer.book();
    let Some(question) = book.question(&key) else {
        return html(StatusCode::NOT_FOUND, &Unknown);
    };
    let (authorization, is_open) = (question.authorization, question.is_open);
    let Some(return_url) = &authorization.return_url else {
        return html(StatusCode::NOT_FOUND, &Unknown);
    };
    let currency = authorization.currency;
    let amount = format!("{} {}", currency.decimal(authorization.amount), currency.code());
    let status = if is_open { StatusCode::OK } else { StatusCode::GONE };
    html(status, &Challenge { amount, key: &key, is_open, return_url })
}

async fn confirm(State(acquirer): State<Arc<Acquirer>>, Path(key): Path<String>) -> Response {
    answer(&acquirer, &key, true)
}

async fn decline(State(acquirer): State<Arc<Acquirer>>, Path(key): Path<String>) -> Response {
    answer(&acquirer, &key, false)
}

/// Records the answer, and sends the customer back to payments-svc.
fn answer(acquirer: &Acquirer, key: &str, confirm: bool) -> Response {
    let Ok(key) = key.parse() else { return html(StatusCode::NOT_FOUND, &Unknown) };
    let mut book = acquirer.book();
    book.answer(&key, confirm);
    let return_url = book.question(&key).and_then(|it| it.authorization.return_url.as_deref());
    match return_url {
        Some(return_url) => Redirect::to(return_url).into_response(),
        None => html(StatusCode::NOT_FOUND, &Unknown),
    }
}

fn html(status: StatusCode, page: &impl Template) -> Response {
    let Ok(html) = page.render() else { return StatusCode::INTERNAL_SERVER_ERROR.into_response() };
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8")),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    (status, headers, html).into_response()
}
