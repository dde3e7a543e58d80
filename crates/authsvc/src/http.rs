//! Routes, and what happens to every request.

use std::sync::Arc;

use axum::{
    Router,
    extract::MatchedPath,
    http::{StatusCode, header},
    response::IntoResponse,
    routing::{MethodRouter, get, post},
};
use common::{operations::MetricsToken, telemetry::Observe};
use serde_json::json;

use crate::{
    metrics::{Metering, Metrics},
    portal::Portal,
};

mod authenticate;
mod error;
mod operations;
mod output;
mod pages;

use error::Error;

/// What handlers work with.
pub(crate) struct App {
    pub(crate) portal: Portal,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) metrics_token: Option<MetricsToken>,
    pub(crate) readme_url: String,
}

/// Every route of the service, in the order of the specification.
pub(crate) fn router(app: Arc<App>) -> Router {
    let metering = Metering(Arc::clone(&app.metrics));
    Router::new()
        .merge(pages::routes())
        .route("/authenticate", post(authenticate::authenticate))
        .route("/health", api(get(operations::health)))
        .route("/metrics", api(get(operations::metrics)))
        .route("/readme", api(get(operations::readme)))
        .with_state(app)
        .fallback(not_found)
        .method_not_allowed_fallback(method_not_allowed)
        .layer(Observe::new(metering, || Error::Panicked.into_response()))
}

/// A route that answers GET and not HEAD, unlike the pages.
fn api(get: MethodRouter<Arc<App>>) -> MethodRouter<Arc<App>> {
    get.head(method_not_allowed)
}

/// The router's own answer, in the shape the specification gives it.
async fn not_found() -> impl IntoResponse {
    (StatusCode::NOT_FOUND, axum::Json(json!({ "detail": "Not Found" })))
}

async fn method_not_allowed(path: MatchedPath) -> impl IntoResponse {
    let allowed = match path.as_str() {
        "/authenticate" => "POST",
        "/health" | "/metrics" | "/readme" => "GET",
        _ => "GET, HEAD",
    };
    let detail = axum::Json(json!({ "detail": "Method Not Allowed" }));
    (StatusCode::METHOD_NOT_ALLOWED, [(header::ALLOW, allowed)], detail)
}
