//! HTTP code that the listeners share: the API, the payment page and the desk. It reads request
//! bodies and queries, and writes errors, JSON and pages.

use std::sync::Arc;

use axum::{Router, response::IntoResponse as _, routing::MethodRouter};
use common::{
    edge::{Admit, Edge},
    telemetry::{Observe, Traffic},
};

mod body;
mod download;
mod error;
pub(crate) mod json;
pub(crate) mod page;
mod upload;

pub(crate) use body::{Body, Content};
pub(crate) use download::download;
pub(crate) use error::Error;
pub(crate) use json::{ProcessingErrorOutput, as_date, as_optional_date, as_text, envelope};
pub(crate) use upload::{Arrived, Upload, Uploads};

use crate::app::{self, StoreError};
pub(crate) use crate::fields::{self, Fields, Reported};

/// Answers unknown paths (404) and methods (405) with the same error body as all other errors.
pub(crate) fn with_fallbacks(routes: Router) -> Router {
    routes
        .fallback(async || Error::from(app::Error::NotFound))
        .method_not_allowed_fallback(async || Error::MethodNotAllowed)
}

/// Adds logs, metrics and common headers to every request, answers 500 after a panic, and refuses
/// malformed requests and foreign hosts.
pub(crate) fn with_telemetry(routes: Router, traffic: Arc<Traffic>, edge: Arc<Edge>) -> Router {
    let panicked = || Error::from(StoreError::Panicked).into_response();
    let refused = |refusal| Error::Edge(refusal).into_response();
    routes.layer((Observe::<Traffic>::new(traffic, panicked), Admit::new(edge, refused)))
}

/// Routes that published clients also request with a slash at the end of the path.
pub(crate) trait SlashRoutes<S> {
    /// Adds a route at `path`, and the same route at `path` with a slash at its end.
    fn route_or_slash(self, path: &str, methods: MethodRouter<S>) -> Self;
}

impl<S: Clone + Send + Sync + 'static> SlashRoutes<S> for Router<S> {
    fn route_or_slash(self, path: &str, methods: MethodRouter<S>) -> Self {
        self.route(path, methods.clone()).route(&format!("{path}/"), methods)
    }
}
