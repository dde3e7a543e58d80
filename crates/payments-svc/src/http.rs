//! The API on the main port, for the apps of merchants: routes, handlers and their JSON. Every
//! request passes the layers of [`crate::web`].

use std::sync::Arc;

use axum::{
    Router,
    routing::{delete, get, post},
};
use bytes::Bytes;
use common::{operations::Operations, pages::reference, telemetry::Traffic};

use crate::web::{with_fallbacks, with_telemetry};

mod access;
mod api;
mod api_keys;
mod apps;
mod cards;
mod disputes;
mod events;
mod frauds;
mod idempotency;
mod lines;
mod list;
mod merchants;
mod notifications;
mod output;
mod sandbox_clock;
mod stripe;
mod transactions;
mod users;
mod webhooks;

pub(crate) use api::Api;
pub(crate) use events::event_json;

/// `assets/openapi.yaml` as JSON, converted by the build script.
const OPENAPI: &str = include_str!(concat!(env!("OUT_DIR"), "/openapi.json"));

/// The URL of the payment page in [`OPENAPI`]. [`description`] replaces it.
const POS_URL: &str = "http://127.0.0.1:5003";

/// All routes, in the order of the specification. Extensions come last.
pub(crate) fn router(api: Arc<Api>, operations: Operations, traffic: Arc<Traffic>) -> Router {
    let routes = Router::new()
        .route("/apps", post(apps::create))
        .route("/apps/me/keys", get(api_keys::list).post(api_keys::create))
        .route("/apps/me/keys/{key_id}", delete(api_keys::delete))
        .route("/me", get(apps::me))
        .route("/merchants", post(merchants::create))
        .route("/merchants/{merchant_id}", get(merchants::get).put(merchants::update))
        .route("/identities/{app_id}/merchants", get(merchants::list))
        .route("/merchants/{merchant_id}/link-secret", post(merchants::new_link_secret))
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
        .route("/events", get(events::list))
        .route("/events/{event_id}", get(events::get))
        .route("/webhooks", get(webhooks::list).post(webhooks::create))
        .route(
            "/webhooks/{webhook_id}",
            get(webhooks::get).put(webhooks::update).delete(webhooks::delete),
        )
        .route("/webhooks/{webhook_id}/rotate", post(webhooks::rotate))
        .route("/webhooks/{webhook_id}/test", post(webhooks::test))
        .route("/webhooks/{webhook_id}/replay", post(webhooks::replay))
        .route("/webhooks/{webhook_id}/deliveries", get(webhooks::deliveries))
        .merge(reference("payments-svc", api.description.clone()));
    let routes = if api.sandbox_clock {
        routes.route("/sandbox/clock", post(sandbox_clock::advance))
    } else {
        routes
    };
    let routes = match api.signature {
        Some(_) => routes.route("/acquirer/events", post(notifications::receive)),
        None => routes,
    };
    let routes = match api.stripe_signature {
        Some(_) => routes.route("/stripe/events", post(stripe::receive)),
        None => routes,
    };
    let routes = routes.with_state(api).merge(operations.routes());
    with_telemetry(with_fallbacks(routes), traffic)
}

/// The OpenAPI document with the configured URL of the payment page.
pub(crate) fn description(pos_url: &str) -> Bytes {
    let quoted = |url: &str| serde_json::Value::from(url.trim_end_matches('/')).to_string();
    OPENAPI.replace(&quoted(POS_URL), &quoted(pos_url)).into()
}
