//! The first page: the merchants of the user.

use askama::Template;
use axum::{http::StatusCode, response::Response};
use payments_domain::{Merchant, Money};

use super::{view, visitor::Session};
use crate::web::Error;

#[derive(Template)]
#[template(path = "desk/home.html")]
struct HomePage<'a> {
    at: &'a Session,
    merchants: &'a [Merchant],
}

impl HomePage<'_> {
    fn balance(&self, Merchant { details, balance, .. }: &Merchant) -> String {
        self.at.language.money(Money { currency: details.currency, minor: *balance })
    }
}

pub(super) async fn show(at: Session) -> Result<Response, Error> {
    let merchants = at.payments().merchants_of_user(at.user()).await?;
    Ok(view::page(StatusCode::OK, &HomePage { at: &at, merchants: &merchants }))
}
