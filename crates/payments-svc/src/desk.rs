//! The desk: a third listener, where users of merchants work. Its pages need no script. A user signs
//! in with a link that a mail contains, and the browser keeps the session in a cookie.

use std::sync::Arc;

use axum::{
    Router,
    extract::{FromRef, Request, State},
    http::{HeaderMap, Method, header},
    middleware::{Next, from_fn_with_state},
    response::{IntoResponse as _, Response},
    routing::{get, post},
};
use common::{edge::Edge, telemetry::Traffic};

use crate::{
    app::Payments,
    language::{self, Language},
    web::{page::style, with_telemetry},
};

mod cookies;
mod home;
mod payments;
mod problem;
mod session;
mod settings;
mod sign_in;
mod view;

use problem::{Problem, Reason};
pub(crate) use settings::Settings;

/// The state of the desk.
#[derive(Clone)]
struct Desk {
    payments: Arc<Payments>,
    settings: Arc<Settings>,
}

impl FromRef<Desk> for Arc<Payments> {
    fn from_ref(desk: &Desk) -> Self {
        Self::clone(&desk.payments)
    }
}

pub(crate) fn router(
    payments: Arc<Payments>,
    settings: Settings,
    traffic: Arc<Traffic>,
    edge: Arc<Edge>,
) -> Router {
    language::load();
    let desk = Desk { payments, settings: Arc::new(settings) };
    let routes = Router::new()
        .route("/", get(home::show))
        .route("/merchants/{merchant}", get(payments::list))
        .route("/merchants/{merchant}/payments/{payment}", get(payments::show))
        .route("/sign-in", get(sign_in::form).post(sign_in::request))
        .route("/link/{token}", get(sign_in::open_link).post(sign_in::use_link))
        .route("/sign-out", post(session::sign_out))
        .route("/page.css", get(style))
        .route("/desk.css", get(view::style))
        .fallback(unknown)
        .method_not_allowed_fallback(unknown)
        .layer(from_fn_with_state(desk.clone(), own_forms))
        .with_state(desk);
    with_telemetry(routes, traffic, edge)
}

async fn unknown(State(desk): State<Desk>, headers: HeaderMap) -> Problem {
    Problem { desk, language: Language::of(None, &headers), reason: Reason::NotFound }
}

/// Refuses forms that another website sends. Browsers say who sends a form: all current ones in
/// `Sec-Fetch-Site`, and older ones in `Origin`.
async fn own_forms(State(desk): State<Desk>, request: Request, next: Next) -> Response {
    let headers = request.headers();
    let is_own = match (headers.get("sec-fetch-site"), headers.get(header::ORIGIN)) {
        (Some(site), _) => site == "same-origin",
        (None, Some(origin)) => *origin == *desk.settings.origin,
        (None, None) => true,
    };
    if request.method() == Method::POST && !is_own {
        let language = Language::of(None, headers);
        return Problem { desk, language, reason: Reason::Foreign }.into_response();
    }
    next.run(request).await
}
