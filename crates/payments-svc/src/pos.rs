//! The pos port: a second listener, with the payment page and the two endpoints for card numbers.
//! It is a separate web origin, and the only one that receives card numbers. Requests have no
//! credentials: the public key of a merchant selects who is paid.

use std::sync::Arc;

use axum::{
    Router,
    extract::FromRef,
    middleware::from_fn_with_state,
    routing::{get, post},
};
use common::{edge::Edge, telemetry::Traffic};
use tower_http::cors::CorsLayer;

use crate::{
    app::Payments,
    language,
    web::{Error, SlashRoutes as _, page::style, with_fallbacks, with_telemetry},
};

mod asset;
mod browser;
mod customer;
mod page;
mod problem;
mod receipt;
mod screens;
mod settings;
mod view;
mod visit;

pub(crate) use settings::{Settings, Tokenizer};

/// The endpoints that pages of any origin may use.
const SHARED: [&str; 2] = ["/transactions", "/cards"];

/// The state of the pos port.
#[derive(Clone)]
struct Pos {
    payments: Arc<Payments>,
    settings: Arc<Settings>,
}

impl FromRef<Pos> for Arc<Payments> {
    fn from_ref(pos: &Pos) -> Self {
        Self::clone(&pos.payments)
    }
}

impl FromRef<Pos> for Arc<Settings> {
    fn from_ref(pos: &Pos) -> Self {
        Self::clone(&pos.settings)
    }
}

pub(crate) fn router(
    payments: Arc<Payments>,
    settings: Settings,
    traffic: Arc<Traffic>,
    edge: Arc<Edge>,
) -> Router {
    language::load();
    let [transactions, cards] = SHARED;
    // Both also answer preflight requests.
    let shared = Router::new()
        .route_or_slash(transactions, post(customer::pay))
        .route_or_slash(cards, post(customer::save))
        .method_not_allowed_fallback(async || Error::MethodNotAllowed)
        .layer(CorsLayer::permissive());
    let own = Router::new()
        .route("/", get(page::show).post(page::pay))
        .route("/returned", get(page::returned))
        .route("/challenge", get(page::leave_challenge).post(page::respond))
        .route("/receipt", get(receipt::show))
        .route("/page.css", get(style))
        .route("/page.js", get(asset::script));
    let pos = Pos { payments, settings: Arc::new(settings) };
    let routes = with_fallbacks(shared.merge(own).with_state(pos.clone()));
    with_telemetry(routes, traffic, edge).layer(from_fn_with_state(pos, problem::pages))
}
