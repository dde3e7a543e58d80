//! The control interface: the methods of [`Controller`] over HTTP, for tests in another process. It
//! has a separate port without TLS, so that scripts of TLS and the counters do not affect it.

use axum::{
    Json, Router,
    extract::{Path, State},
    http::StatusCode,
    routing::{get, put},
};
use serde::Deserialize;

use crate::{
    controller::Controller,
    record::{Counters, Received},
    script::{Behaviour, Operation, Script, Tls},
    student::Student,
};

/// The routes. The documentation of the crate lists them.
pub(crate) fn router(controller: Controller) -> Router {
    Router::new()
        .route("/_script/{username}", put(script))
        .route("/_students/{username}", put(enrol))
        .route("/_received/{username}", get(received))
        .route("/_tls", put(script_tls))
        .route("/_counters", get(counters))
        .with_state(controller)
}

/// The scripts of a user. An absent script leaves the current one unchanged.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Scripts {
    login: Option<Script<Behaviour>>,
    profile: Option<Script<Behaviour>>,
}

async fn script(
    State(controller): State<Controller>,
    Path(username): Path<String>,
    Json(scripts): Json<Scripts>,
) -> StatusCode {
    let scripts = [(Operation::Login, scripts.login), (Operation::Profile, scripts.profile)];
    for (operation, script) in scripts {
        if let Some(script) = script {
            controller.script(&username, operation, script);
        }
    }
    StatusCode::NO_CONTENT
}

async fn enrol(
    State(controller): State<Controller>,
    Path(username): Path<String>,
    Json(student): Json<Student>,
) -> StatusCode {
    controller.enrol(student.or(&username));
    StatusCode::NO_CONTENT
}

async fn received(
    State(controller): State<Controller>,
    Path(username): Path<String>,
) -> Json<Vec<Received>> {
    Json(controller.received(&username))
}

async fn script_tls(
    State(controller): State<Controller>,
    Json(script): Json<Script<Tls>>,
) -> StatusCode {
    controller.script_tls(script);
    StatusCode::NO_CONTENT
}

async fn counters(State(controller): State<Controller>) -> Json<Counters> {
    Json(controller.counters())
}
