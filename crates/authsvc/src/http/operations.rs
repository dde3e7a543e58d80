//! `GET /health`, `GET /metrics`, `GET /readme`.

use std::sync::Arc;

use axum::{
    Json,
    extract::{RawQuery, State},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use url::form_urlencoded;

use super::{App, error::Error, output::StatusOutput};
use crate::{
    domain::{Input, Invalid},
    metrics,
};

/// Returns 200 while the process serves. Does not call the portal.
pub(super) async fn health() -> impl IntoResponse {
    StatusOutput::new(true, "ok").json()
}

/// The counters in the format of the query parameter `fmt`. Of several, the last one counts.
pub(super) async fn metrics(
    State(app): State<Arc<App>>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, Error> {
    if app.metrics_token.as_ref().is_some_and(|token| !token.admits(&headers)) {
        return Err(Error::MetricsAuthorization);
    }
    let query = query.unwrap_or_default();
    let format = form_urlencoded::parse(query.as_bytes()).filter(|(name, _)| name == "fmt").last();
    match format.as_ref().map(|(_, format)| format.as_ref()) {
        None | Some("prometheus") => {
            let text = metrics::prometheus(&app.metrics.snapshot()).map_err(Error::Metrics)?;
            Ok(([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text)
                .into_response())
        }
        Some("json") => Ok(Json(metrics::json(app.metrics.snapshot())).into_response()),
        Some(_) => {
            Err(Error::Invalid(vec![Invalid::once(Input::Fmt, "fmt must be prometheus or json")]))
        }
    }
}

/// Redirects to `README_URL`.
pub(super) async fn readme(State(app): State<Arc<App>>) -> impl IntoResponse {
    (StatusCode::PERMANENT_REDIRECT, [(header::LOCATION, app.readme_url.clone())])
}
