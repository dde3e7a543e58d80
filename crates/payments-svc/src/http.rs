//! The API on the main port, for the apps of merchants: routes, handlers and their JSON. Every
//! request passes the layers of [`crate::web`].

use std::sync::Arc;

use axum::{
    Router,
    routing::{delete, get, post},
};
use bytes::Bytes;
use common::{edge::Edge, operations::Operations, pages::reference, telemetry::Traffic};

use crate::web::{SlashRoutes as _, with_fallbacks, with_telemetry};

mod access;
mod api;
mod api_keys;
mod apps;
mod cards;
mod disputes;
mod events;
mod evidence;
mod frauds;
mod idempotency;
mod lines;
mod list;
mod merchants;
mod notifications;
mod output;
mod payouts;
mod sandbox_clock;
mod transactions;
mod users;
mod webhooks;

pub(crate) use api::Api;
pub(crate) use events::event_json;
use transactions::movement;

/// `assets/openapi.yaml` as JSON, converted by the build script.
const OPENAPI: &str = include_str!(concat!(env!("OUT_DIR"), "/openapi.json"));

/// The URL of the payment page in [`OPENAPI`]. [`description`] replaces it.
const POS_URL: &str = "http://127.0.0.1:5003";

/// All routes, in the order of the specification. Extensions come last.
pub(crate) fn router(
    api: Arc<Api>,
    operations: Operations,
    traffic: Arc<Traffic>,
    edge: Arc<Edge>,
) -> Router {
    let routes = Router::new()
        .route_or_slash("/apps", post(apps::create))
        .route_or_slash("/apps/me/keys", get(api_keys::list).post(api_keys::create))
        .route_or_slash("/apps/me/keys/{key_id}", delete(api_keys::delete))
        .route_or_slash("/me", get(apps::me))
        .route_or_slash("/merchants", post(merchants::create))
        .route_or_slash("/merchants/{merchant_id}", get(merchants::get).put(merchants::update))
        .route_or_slash("/identities/{app_id}/merchants", get(merchants::list))
        .route_or_slash("/merchants/{merchant_id}/link-secret", post(merchants::new_link_secret))
        .route_or_slash("/merchants/{merchant_id}/users", get(users::list).post(users::invite))
        .route_or_slash("/merchants/{merchant_id}/users/{user_id}", delete(users::revoke))
        .route_or_slash("/merchants/{merchant_id}/apps", get(apps::list).post(apps::add))
        .route_or_slash("/merchants/{merchant_id}/apps/{app_id}", delete(apps::revoke))
        .route_or_slash("/merchants/{merchant_id}/lines", get(lines::list))
        .route_or_slash("/lines/{line_id}", get(lines::get))
        .route_or_slash(
            "/merchants/{merchant_id}/transactions",
            get(transactions::list).post(transactions::create),
        )
        .route_or_slash("/transactions/{transaction_id}", get(transactions::get))
        .route_or_slash("/transactions/{transaction_id}/captures", movement(transactions::capture))
        .route_or_slash("/transactions/{transaction_id}/refunds", movement(transactions::refund))
        .route_or_slash("/transactions/{transaction_id}/voids", movement(transactions::void))
        .route_or_slash("/merchants/{merchant_id}/cards", post(cards::create))
        .route_or_slash("/cards/{card_id}", get(cards::get))
        .route_or_slash("/disputes", get(disputes::list))
        .route_or_slash("/disputes/{dispute_id}", get(disputes::get))
        .route_or_slash("/disputes/{dispute_id}/evidence", get(evidence::get).post(evidence::save))
        .route_or_slash("/disputes/{dispute_id}/evidence/files/{file_id}", get(evidence::file))
        .route_or_slash("/disputes/{dispute_id}/evidence/submit", post(evidence::submit))
        .route_or_slash("/disputes/{dispute_id}/accept", post(evidence::accept))
        .route_or_slash("/frauds", get(frauds::list))
        .route_or_slash("/frauds/{fraud_id}", get(frauds::get))
        .route_or_slash("/events", get(events::list))
        .route_or_slash("/events/{event_id}", get(events::get))
        .route_or_slash("/payouts", get(payouts::list))
        .route_or_slash("/payouts/{payout_id}/lines", get(payouts::lines))
        .route_or_slash("/webhooks", get(webhooks::list).post(webhooks::create))
        .route_or_slash(
            "/webhooks/{webhook_id}",
            get(webhooks::get).put(webhooks::update).delete(webhooks::delete),
        )
        .route_or_slash("/webhooks/{webhook_id}/rotate", post(webhooks::rotate))
        .route_or_slash("/webhooks/{webhook_id}/test", post(webhooks::test))
        .route_or_slash("/webhooks/{webhook_id}/replay", post(webhooks::replay))
        .route_or_slash("/webhooks/{webhook_id}/deliveries", get(webhooks::deliveries))
        .merge(reference("payments-svc", api.description.clone()));
    let routes = if api.sandbox_clock {
        routes.route_or_slash("/sandbox/clock", post(sandbox_clock::advance))
    } else {
        routes
    };
    let routes = match api.signature {
        Some(_) => routes.route_or_slash("/acquirer/events", post(notifications::receive)),
        None => routes,
    };
    let routes = match api.stripe_signature {
        Some(_) => routes.route_or_slash("/stripe/events", post(notifications::receive_stripe)),
        None => routes,
    };
    let routes = routes.with_state(api).merge(operations.routes());
    with_telemetry(with_fallbacks(routes), traffic, edge)
}

/// The OpenAPI document with the configured URL of the payment page.
pub(crate) fn description(pos_url: &str) -> Bytes {
    let quoted = |url: &str| serde_json::Value::from(url.trim_end_matches('/')).to_string();
    OPENAPI.replace(&quoted(POS_URL), &quoted(pos_url)).into()
}
