//! The control interface: the methods of [`Desk`] over HTTP, for tests in another process. It has a
//! separate port without TLS, so that scripts of TLS and the counters do not affect it.

use axum::{
    Json, Router,
    extract::{Path, State},
    http::StatusCode,
    routing::{get, put},
};
use serde::Deserialize;

use crate::{
    desk::Desk,
    record::{Counters, Received},
    script::{Behaviour, Operation, Script, Tls},
    student::Student,
};

/// The routes. The documentation of the crate lists them.
pub(crate) fn router(desk: Desk) -> Router {
    Router::new()
        .route("/_script/{username}", put(script))
        .route("/_students/{username}", put(enrol))
        .route("/_received/{username}", get(received))
        .route("/_tls", put(script_tls))
        .route("/_counters", get(counters))
        .with_state(desk)
}

/// The scripts of a user. An absent script leaves the current one unchanged.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Scripts {
    login: Option<Script<Behaviour>>,
    profile: Option<Script<Behaviour>>,
}

async fn script(
    State(desk): State<Desk>,
    Path(username): Path<String>,
    Json(scripts): Json<Scripts>,
) -> StatusCode {
    let scripts = [(Operation::Login, scripts.login), (Operation::Profile, scripts.profile)];
    for (operation, script) in scripts {
        if let Some(script) = script {
            desk.script(&username, operation, script);
        }
    }
    StatusCode::NO_CONTENT
}

async fn enrol(
    State(desk): State<Desk>,
    Path(username): Path<String>,
    Json(student): Json<Student>,
) -> StatusCode {
    desk.enrol(student.or(&username));
    StatusCode::NO_CONTENT
}

async fn received(State(desk): State<Desk>, Path(username): Path<String>) -> Json<Vec<Received>> {
    Json(desk.received(&username))
}

async fn script_tls(State(desk): State<Desk>, Json(script): Json<Script<Tls>>) -> StatusCode {
    desk.script_tls(script);
    StatusCode::NO_CONTENT
}

async fn counters(State(desk): State<Desk>) -> Json<Counters> {
    Json(desk.counters())
}
