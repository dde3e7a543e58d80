//! The routes of the service.

use std::sync::Arc;

use axum::{
    Router,
    http::{HeaderMap, Method},
    middleware::from_fn_with_state,
    response::IntoResponse,
    routing::{get, post},
};
use common::{
    edge::{Admit, Edge},
    limits::{Budget, ClientAddress, RateLimiter},
    operations::Operations,
    outage::Outage,
    pages::reference,
    telemetry::{Observe, Traffic},
};
use cookie::SameSite;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::{
    domain::{AccessRules, Allowlist, Lifetime},
    store::{Store, StoreError},
    watch::{Connected, Hub, OpenSockets},
};

mod batch;
mod body;
mod console;
mod error;
pub(crate) mod metrics;
mod objects;
mod open;
pub(crate) mod origin;
mod query;
mod session;
mod socket;
mod streams;
mod watches;

use error::Error;
use origin::Origins;

/// The OpenAPI document as JSON. `build.rs` converts it from `assets/openapi.yaml`.
const OPENAPI: &str = include_str!(concat!(env!("OUT_DIR"), "/openapi.json"));

/// The state that handlers share.
pub(crate) struct App {
    pub(crate) store: Store,
    pub(crate) hub: Arc<Hub>,
    pub(crate) clients: watch::Receiver<Arc<Allowlist>>,
    pub(crate) rules: watch::Receiver<Arc<AccessRules>>,
    pub(crate) registrations: Arc<RateLimiter<ClientAddress>>,
    pub(crate) lifetime: Lifetime,
    /// Of changes to sessions, after which a request or a stream goes on.
    pub(crate) session_outage: Outage,
    pub(crate) cookie_secure: bool,
    pub(crate) cookie_same_site: SameSite,
    pub(crate) console: bool,
    pub(crate) origins: Origins,
    pub(crate) max_body: usize,
    /// For responses that are not written to their connections yet.
    pub(crate) response_memory: Arc<Budget>,
    /// For messages that are not written to sockets yet.
    pub(crate) socket_memory: Arc<Budget>,
    pub(crate) open_sockets: Arc<OpenSockets>,
    pub(crate) connected: Arc<Connected>,
    pub(crate) shutdown: CancellationToken,
}

/// Every route of the service, in the order of the specification.
pub(crate) fn router(
    app: Arc<App>,
    operations: Operations,
    traffic: Arc<Traffic>,
    edge: Edge,
) -> Router {
    let streams = || get(streams::read).head(streams::head);
    let console = if app.console { console::routes() } else { Router::new() };
    let asked = Arc::clone(&app);
    let router = Router::new()
        .route("/register", post(session::register))
        .route("/logout", post(session::logout))
        .route("/get", post(objects::get))
        .route("/set", post(objects::set))
        .route("/find", post(objects::find))
        .route("/delete", post(objects::delete))
        .route("/batch", post(batch::batch))
        .route("/watch", post(watches::watch))
        .route("/unwatch", post(watches::unwatch))
        .route("/watches", get(watches::list))
        .route("/socket", get(socket::socket))
        .route("/streams", streams())
        .route("/streams/", streams())
        .route("/streams/{*pattern}", streams())
        .merge(reference("objstore-svc", OPENAPI))
        .merge(console)
        .with_state(Arc::clone(&app))
        .merge(operations.routes())
        .fallback(async || Error::NotFound)
        .method_not_allowed_fallback(async move |method: Method, headers: HeaderMap| {
            origin::preflight(asked, method, headers).await
        })
        .layer((
            Observe::<Traffic>::new(traffic, || Error::from(StoreError::Panicked).into_response()),
            Admit::new(Arc::new(edge), |refusal| Error::from(refusal).into_response()),
        ));
    // Around everything else, because a page has to be able to read every error.
    if app.origins.is_empty() {
        router
    } else {
        router.layer(from_fn_with_state(app, origin::share))
    }
}
