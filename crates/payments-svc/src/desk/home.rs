//! The first page: the merchants of the user.

use askama::Template;
use axum::{http::StatusCode, response::Response};
use payments_domain::{Email, Merchant, Money};

use super::{
    Desk,
    session::Session,
    view::{self, VERSION},
};
use crate::{app::SignedIn, language::Language};

#[derive(Template)]
#[template(path = "desk/home.html")]
struct HomePage<'a> {
    language: &'static Language,
    desk: &'a Desk,
    email: &'a Email,
    merchants: &'a [Merchant],
}

impl HomePage<'_> {
    fn balance(&self, Merchant { details, balance, .. }: &Merchant) -> String {
        self.language.money(Money { currency: details.currency, minor: *balance })
    }
}

pub(super) async fn show(session: Session) -> Response {
    let Session { desk, signed_in: SignedIn { user, .. }, language } = &session;
    match desk.payments.merchants_of_user(user.id).await {
        Ok(merchants) => {
            let (email, merchants) = (&user.email, &*merchants);
            view::page(StatusCode::OK, &HomePage { language, desk, email, merchants })
        }
        Err(error) => session.problem(error),
    }
}
