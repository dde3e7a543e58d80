//! Routes of the interface, and what happens to every request.

use std::sync::Arc;

use axum::{
    Router,
    extract::State,
    http::header,
    response::IntoResponse,
    routing::{delete, get, post},
};
use bytes::Bytes;
use common::{
    bearer::BearerToken,
    limits::Budget,
    operations::Operations,
    telemetry::{Observe, Traffic},
};
use tower_http::normalize_path::NormalizePath;

use crate::{
    cases::Cases,
    domain::Pricing,
    limits::Limits,
    payments::Payments,
    rates::ExchangeRates,
    store::{Store, StoreError},
};

mod access;
pub(crate) mod answer;
mod apps;
pub(crate) mod body;
mod cards;
mod cases;
mod disputes;
pub(crate) mod error;
pub(crate) mod fields;
mod form;
mod frauds;
mod idempotency;
mod lines;
mod members;
mod merchants;
pub(crate) mod metrics;
mod notifications;
mod page;
mod transactions;
mod users;

use error::Error;
pub(crate) use notifications::SignatureKey;

/// The description of the interface.
const OPENAPI: &str = include_str!(concat!(env!("OUT_DIR"), "/openapi.json"));

/// The address of the payment page in [`OPENAPI`].
const POS_URL: &str = "http://127.0.0.1:5003";

/// What handlers work with.
pub(crate) struct Api {
    pub(crate) store: Store,
    pub(crate) payments: Payments,
    pub(crate) cases: Cases,
    pub(crate) limits: Arc<Limits>,
    /// The token that `POST /apps` needs; without it, anybody may make an app.
    pub(crate) apps_token: Option<BearerToken>,
    /// What acquirers sign with. Without it, they have nobody to tell.
    pub(crate) signature: Option<SignatureKey>,
    pub(crate) rates: Arc<ExchangeRates>,
    /// For responses that their clients have not taken.
    pub(crate) responses: Arc<Budget>,
    /// Of new merchants.
    pub(crate) pricing: Pricing,
    /// The description of the interface, as it is served.
    pub(crate) description: Bytes,
}

/// Every route of the interface, in the order of the specification.
pub(crate) fn router(api: Arc<Api>, operations: Operations, traffic: Arc<Traffic>) -> Router {
    let routes = Router::new()
        .route("/apps", post(apps::create))
        .route("/me", get(apps::me))
        .route("/merchants", post(merchants::create))
        .route("/merchants/{merchant_id}", get(merchants::get).put(merchants::update))
        .route("/identities/{app_id}/merchants", get(merchants::list))
        .route("/merchants/{merchant_id}/users", get(users::list).post(users::invite))
        .route("/merchants/{merchant_id}/users/{user_id}", delete(users::revoke))
        .route("/merchants/{merchant_id}/apps", get(apps::list).post(apps::add))
        .route("/merchants/{merchant_id}/apps/{app_id}", delete(apps::revoke))
        .route("/merchants/{merchant_id}/lines", get(lines::list))
        .route("/lines/{line_id}", get(lines::get))
        .route(
            "/merchants/{merchant_id}/transactions",
            get(transactions::list).post(transactions::create),
        )
        .route("/transactions/{transaction_id}", get(transactions::get))
        .route("/transactions/{transaction_id}/captures", post(transactions::capture))
        .route("/transactions/{transaction_id}/refunds", post(transactions::refund))
        .route("/transactions/{transaction_id}/voids", post(transactions::void))
        .route("/merchants/{merchant_id}/cards", post(cards::create))
        .route("/cards/{card_id}", get(cards::get))
        .route("/disputes", get(disputes::list))
        .route("/disputes/{dispute_id}", get(disputes::get))
        .route("/frauds", get(frauds::list))
        .route("/frauds/{fraud_id}", get(frauds::get))
        .route("/openapi.json", get(openapi));
    let routes = match api.signature {
        Some(_) => routes.route("/acquirer/events", post(notifications::take)),
        None => routes,
    };
    let routes = routes.with_state(api).merge(operations.routes());
    observed(complete(routes), traffic)
}

/// Unknown paths and methods are told as all errors are.
pub(crate) fn complete(routes: Router) -> Router {
    routes
        .fallback(async || Error::NotFound)
        .method_not_allowed_fallback(async || Error::MethodNotAllowed)
}

/// What both origins do to every request: it is observed, and a slash at its end is nothing.
pub(crate) fn observed(routes: Router, traffic: Arc<Traffic>) -> Router {
    let panicked = || Error::from(StoreError::Panicked).into_response();
    let routes = routes.layer(Observe::<Traffic>::new(traffic, panicked));
    Router::new().fallback_service(NormalizePath::trim_trailing_slash(routes))
}

/// The description of the interface, with this address of the payment page.
pub(crate) fn description(pos_url: &str) -> Bytes {
    let quoted = |url: &str| serde_json::Value::from(url.trim_end_matches('/')).to_string();
    OPENAPI.replace(&quoted(POS_URL), &quoted(pos_url)).into()
}

async fn openapi(State(api): State<Arc<Api>>) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/json")], api.description.clone())
}
