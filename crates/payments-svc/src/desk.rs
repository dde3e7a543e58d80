//! The desk: a third listener, where users of merchants work. Its pages need no script. A user signs
//! in with a link that a mail contains, and the browser keeps the session in a cookie.

use std::sync::Arc;

use axum::{
    Router,
    extract::FromRef,
    middleware::from_fn_with_state,
    routing::{get, post},
};
use common::{edge::Edge, limits::Budget, telemetry::Traffic};

use crate::{
    app::{self, Payments},
    language,
    web::{Error, Uploads, page::style, with_telemetry},
};

mod account;
mod balance;
mod code;
mod confirm;
mod cookies;
mod csv;
mod developers;
mod disputes;
mod evidence;
mod form;
mod home;
mod links;
mod list;
mod log;
mod mails;
mod movements;
mod next;
mod overview;
mod path;
mod payments;
mod people;
mod problem;
mod qr;
mod search;
mod settings;
mod sign_in;
mod view;
mod visitor;
mod webhooks;

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

impl Uploads for Desk {
    fn uploads(&self) -> &Arc<Budget> {
        self.payments.uploads()
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
        .route("/merchants/{merchant}", get(overview::show))
        .route("/merchants/{merchant}/payments", get(payments::list))
        .route("/merchants/{merchant}/payments.csv", get(payments::download))
        .route("/merchants/{merchant}/payments/{payment}", get(payments::show))
        .route(
            "/merchants/{merchant}/payments/{payment}/{movement}",
            get(movements::ask).post(movements::act),
        )
        .route("/merchants/{merchant}/balance", get(balance::show))
        .route("/merchants/{merchant}/balance.csv", get(balance::month))
        .route("/merchants/{merchant}/balance/payouts", get(balance::payouts))
        .route("/merchants/{merchant}/balance/payouts/{payout}", get(balance::payout))
        .route(
            "/merchants/{merchant}/balance/payouts/{payout}/lines.csv",
            get(balance::lines_of_payout),
        )
        .route("/merchants/{merchant}/disputes", get(disputes::list))
        .route("/merchants/{merchant}/disputes/{dispute}", get(evidence::show).post(evidence::save))
        .route("/merchants/{merchant}/disputes/{dispute}/files/{file}", get(evidence::file))
        .route(
            "/merchants/{merchant}/disputes/{dispute}/submit",
            get(evidence::ask_submit).post(evidence::submit),
        )
        .route(
            "/merchants/{merchant}/disputes/{dispute}/accept",
            get(evidence::ask_accept).post(evidence::accept),
        )
        .route("/merchants/{merchant}/mails", get(mails::show).post(mails::save))
        .route("/account", get(account::show))
        .route(
            "/account/authenticator",
            get(account::show_authenticator).post(account::begin_authenticator),
        )
        .route("/account/authenticator/code", post(account::enter_first_code))
        .route(
            "/account/authenticator/remove",
            get(account::ask_remove_authenticator).post(account::remove_authenticator),
        )
        .route("/account/recovery-codes", post(account::new_recovery_codes))
        .route("/account/sessions/end", post(account::end_other_sessions))
        .route("/code", get(code::form).post(code::enter))
        .route("/merchants/{merchant}/links", get(links::show).post(links::create_secret))
        .route("/merchants/{merchant}/log", get(log::show))
        .route("/merchants/{merchant}/people", get(people::show).post(people::invite))
        .route("/merchants/{merchant}/people/{user}/renew", post(people::renew))
        .route("/merchants/{merchant}/people/{user}/revoke", get(people::ask).post(people::revoke))
        .route("/merchants/{merchant}/developers", get(developers::list))
        .route("/merchants/{merchant}/developers/{app}", get(developers::show))
        .route(
            "/merchants/{merchant}/developers/{app}/revoke",
            get(developers::ask_app).post(developers::revoke_app),
        )
        .route("/merchants/{merchant}/developers/{app}/keys", post(developers::create))
        .route(
            "/merchants/{merchant}/developers/{app}/keys/{key}/revoke",
            get(developers::ask).post(developers::revoke),
        )
        .route("/merchants/{merchant}/developers/{app}/webhooks", post(webhooks::create))
        .route(
            "/merchants/{merchant}/developers/{app}/webhooks/{webhook}",
            get(webhooks::show).post(webhooks::update),
        )
        .route(
            "/merchants/{merchant}/developers/{app}/webhooks/{webhook}/test",
            post(webhooks::test),
        )
        .route(
            "/merchants/{merchant}/developers/{app}/webhooks/{webhook}/rotate",
            post(webhooks::rotate),
        )
        .route(
            "/merchants/{merchant}/developers/{app}/webhooks/{webhook}/replay",
            post(webhooks::replay),
        )
        .route(
            "/merchants/{merchant}/developers/{app}/webhooks/{webhook}/delete",
            get(webhooks::ask).post(webhooks::delete),
        )
        .route("/sign-in", get(sign_in::form).post(sign_in::request))
        .route("/link/{token}", get(sign_in::open_link).post(sign_in::use_link))
        .route("/sign-out", post(sign_in::sign_out))
        .route("/page.css", get(style))
        .route("/desk.css", get(view::style))
        .fallback(unknown)
        .method_not_allowed_fallback(unknown)
        .layer(from_fn_with_state(desk.clone(), problem::pages))
        .with_state(desk);
    with_telemetry(routes, traffic, edge)
}

async fn unknown() -> Error {
    app::Error::NotFound.into()
}
