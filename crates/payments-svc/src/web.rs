//! HTTP as both origins speak it: bodies and their members, errors, JSON.

use std::sync::Arc;

use axum::{Router, response::IntoResponse as _};
use common::telemetry::{Observe, Traffic};
use tower_http::normalize_path::NormalizePath;

mod body;
mod error;
pub(crate) mod fields;
mod form;
pub(crate) mod json;
mod members;

pub(crate) use body::Body;
pub(crate) use error::Error;
pub(crate) use fields::{Fields, Noted};
pub(crate) use json::{ProcessingErrorOutput, as_date, as_optional_date, as_text, one};

use crate::app::{self, StoreError};

/// Unknown paths and methods are told as all errors are.
pub(crate) fn complete(routes: Router) -> Router {
    routes
        .fallback(async || Error::from(app::Error::NotFound))
        .method_not_allowed_fallback(async || Error::MethodNotAllowed)
}

/// What both origins do to every request: it is observed, and a slash at its end is nothing.
pub(crate) fn observed(routes: Router, traffic: Arc<Traffic>) -> Router {
    let panicked = || Error::from(StoreError::Panicked).into_response();
    let routes = routes.layer(Observe::<Traffic>::new(traffic, panicked));
    Router::new().fallback_service(NormalizePath::trim_trailing_slash(routes))
}
