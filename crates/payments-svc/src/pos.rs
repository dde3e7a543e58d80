//! The origin of the payment page, the only place that ever sees a card number. It knows no
//! credentials: a merchant's public key says who is paid.

use std::sync::Arc;

use axum::{
    Router,
    routing::{get, post},
};
use common::telemetry::Traffic;
use tower_http::cors::CorsLayer;

use crate::{
    app::Payments,
    web::{Error, complete, observed},
};

mod asset;
mod customer;
mod language;
mod page;
mod problem;
mod screens;
mod view;
mod visit;

/// Every route of the origin.
pub(crate) fn router(payments: Arc<Payments>, traffic: Arc<Traffic>) -> Router {
    // Any page may use these, and may ask whether it may.
    let shared = Router::new()
        .route("/transactions", post(customer::pay))
        .route("/cards", post(customer::save))
        .method_not_allowed_fallback(async || Error::MethodNotAllowed)
        .layer(CorsLayer::permissive());
    let own = Router::new()
        .route("/", get(page::show).post(page::pay))
        .route("/challenge", post(page::respond))
        .route("/page.css", get(asset::style))
        .route("/page.js", get(asset::script));
    observed(complete(shared.merge(own).with_state(payments)), traffic)
}
