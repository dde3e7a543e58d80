//! Routes and the layers around them.

use std::sync::Arc;

use axum::{
    Router,
    extract::MatchedPath,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
    routing::{MethodRouter, get, post},
};
use common::{
    bearer::BearerToken,
    edge::{Admit, Edge, Refusal},
    telemetry::Observe,
};
use serde_json::json;
use tower::util::MapFutureLayer;

use crate::{
    limits::SignInLimits,
    metrics::{Metering, Metrics, SIGN_IN},
    portal::Portal,
};

mod authenticate;
mod error;
mod operations;
mod output;
mod pages;

use error::Error;
use output::{StatusOutput, with_code};

/// Shared state of the handlers.
pub(crate) struct App {
    pub(crate) portal: Portal,
    pub(crate) limits: SignInLimits,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) metrics_token: Option<BearerToken>,
    pub(crate) readme_url: String,
}

/// Every route of the service, in the order of the specification.
pub(crate) fn router(app: Arc<App>, edge: Edge) -> Router {
    let observe = observe(&app.metrics);
    let admit = Admit::new(Arc::new(edge), refused);
    Router::new()
        .merge(pages::routes())
        .route(SIGN_IN, post(authenticate::authenticate))
        .route("/health", api(get(operations::health)))
        .route("/metrics", api(get(operations::metrics)))
        .route("/readme", api(get(operations::readme)))
        .with_state(app)
        .fallback(not_found)
        .method_not_allowed_fallback(method_not_allowed)
        .layer((observe, MapFutureLayer::new(output::note_arrival), admit))
}

fn observe(metrics: &Arc<Metrics>) -> Observe<Metering> {
    Observe::new(Metering(Arc::clone(metrics)), || Error::Panicked.into_response())
}

/// A route that answers GET and rejects HEAD, unlike the pages.
fn api(get: MethodRouter<Arc<App>>) -> MethodRouter<Arc<App>> {
    get.head(method_not_allowed)
}

/// The body of a 404, as the specification defines it.
async fn not_found() -> Response {
    let detail = axum::Json(json!({ "detail": "Not Found" }));
    with_code((StatusCode::NOT_FOUND, detail).into_response(), "not_found")
}

async fn method_not_allowed(path: MatchedPath) -> Response {
    let allowed = match path.as_str() {
        SIGN_IN => "POST",
        "/health" | "/metrics" | "/readme" => "GET",
        _ => "GET, HEAD",
    };
    let detail = axum::Json(json!({ "detail": "Method Not Allowed" }));
    let response = (StatusCode::METHOD_NOT_ALLOWED, [(header::ALLOW, allowed)], detail);
    with_code(response.into_response(), "method_not_allowed")
}

/// The answer to a malformed request, or to a request to another host. It comes from no handler, so
/// it adds no error sample, like 404 and 405.
fn refused(refusal: Refusal) -> Response {
    let status = match refusal.status() {
        // The fault is the client's, and the metrics count every 5xx as the server's.
        StatusCode::NOT_IMPLEMENTED => StatusCode::BAD_REQUEST,
        status => status,
    };
    let body = StatusOutput::new(false, refusal.to_string()).json();
    with_code((status, body).into_response(), refusal.name())
}

#[cfg(test)]
mod tests {
    use axum::{
        Extension,
        body::{Body, to_bytes},
        extract::Request,
    };
    use tower::ServiceExt as _;

    use super::*;
    use crate::metrics::{Samples, json as render};

    async fn panics(Extension(samples): Extension<Samples>) -> StatusCode {
        samples.attempted(false);
        let _open = samples.client();
        panic!("a test panics")
    }

    #[tokio::test]
    async fn a_panic_is_answered_and_counted_as_500() {
        let metrics = Arc::new(Metrics::start());
        let router = Router::new().route(SIGN_IN, get(panics)).layer(observe(&metrics));
        let request = Request::get(SIGN_IN).body(Body::empty()).unwrap();
        let response = router.oneshot(request).await.unwrap();
        assert_eq!(response.status(), StatusCode::INTERNAL_SERVER_ERROR);
        let body = to_bytes(response.into_body(), 1024).await.unwrap();
        let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(body["status"], false);
        assert_eq!(body["message"], "an internal error occurred");
        let counted = serde_json::to_value(render(metrics.snapshot())).unwrap();
        assert_eq!(counted["errorsByType"], json!({ "InternalError": 1 }));
        assert_eq!(counted["failuresByFault"], json!({ "client": 0, "server": 1 }));
        assert_eq!(counted["authenticationResults"], json!({ "failure": 1, "success": 0 }));
        assert_eq!(counted["httpClients"]["closed"], 1);
        assert_eq!(counted["requestsInFlight"], 0);
    }
}
