//! The control interface. The documentation of the crate describes it.

use std::sync::Arc;

use axum::{
    Json, Router,
    extract::{Query, State},
    http::{StatusCode, header::CONTENT_TYPE},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use jiff::{Timestamp, civil::Date};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::{
    book::{Entry, FinalError},
    fault::{Kind, Rule},
    notification::Sent,
    service::Acquirer,
    settlement,
};

type Shared = State<Arc<Acquirer>>;

/// The routes.
pub(crate) fn router(acquirer: Arc<Acquirer>) -> Router {
    Router::new()
        .route("/book", get(book))
        .route("/settlement", get(settlement))
        .route("/faults", post(add_rules).delete(clear_rules))
        .route("/delay", post(delay))
        .route("/capabilities", post(capabilities))
        .route("/notifications", post(notify))
        .with_state(acquirer)
}

async fn book(State(acquirer): Shared) -> Response {
    #[derive(Serialize)]
    struct Shown<'a> {
        operations: Vec<Entry<'a>>,
        notifications: Vec<Sent>,
    }
    let book = acquirer.book();
    let operations = book.entries().collect();
    Json(Shown { operations, notifications: acquirer.notifications.shown() }).into_response()
}

#[derive(Deserialize)]
struct Settled {
    date: Date,
}

async fn settlement(State(acquirer): Shared, Query(settled): Query<Settled>) -> Response {
    match settlement::csv(&acquirer.book(), settled.date) {
        Ok(file) => ([(CONTENT_TYPE, "text/csv; charset=utf-8")], file).into_response(),
        Err(error) => refusal(StatusCode::INTERNAL_SERVER_ERROR, &error),
    }
}

async fn add_rules(State(acquirer): Shared, Json(rules): Json<Vec<Rule>>) -> Response {
    match acquirer.faults().add(rules) {
        Ok(()) => StatusCode::NO_CONTENT.into_response(),
        Err(error) => refusal(StatusCode::UNPROCESSABLE_ENTITY, &error),
    }
}

async fn clear_rules(State(acquirer): Shared) -> StatusCode {
    acquirer.faults().clear();
    StatusCode::NO_CONTENT
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Delay {
    ms: u64,
}

async fn delay(State(acquirer): Shared, Json(delay): Json<Delay>) -> StatusCode {
    acquirer.set_delay(delay.ms);
    StatusCode::NO_CONTENT
}

async fn capabilities(State(acquirer): Shared, Json(body): Json<Value>) -> StatusCode {
    *acquirer.capabilities() = Some(body);
    StatusCode::NO_CONTENT
}

async fn notify(State(acquirer): Shared, Json(body): Json<Map<String, Value>>) -> Response {
    if let Err(error) = refuse_later(&acquirer, &body) {
        return refusal(StatusCode::CONFLICT, &error);
    }
    let fault = acquirer.faults().draw(Kind::Notification);
    match acquirer.notifications.add(body, fault, Timestamp::now()) {
        Ok(()) => StatusCode::ACCEPTED.into_response(),
        Err(error) => refusal(StatusCode::CONFLICT, &error),
    }
}

/// Undoes the operation of a notification of type `operation.refused`.
fn refuse_later(acquirer: &Acquirer, body: &Map<String, Value>) -> Result<(), FinalError> {
    if body.get("type").and_then(Value::as_str) != Some("operation.refused") {
        return Ok(());
    }
    let text = |name| body.get(name).and_then(Value::as_str).unwrap_or_default();
    let key = text("operation").parse().map_err(|_| FinalError)?;
    acquirer.book().refuse_later(&key, text("reason"))
}

fn refusal(status: StatusCode, error: &impl ToString) -> Response {
    (status, Json(json!({ "error": error.to_string() }))).into_response()
}
