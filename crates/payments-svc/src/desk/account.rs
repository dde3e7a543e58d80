//! The account of a user: the authenticator, recovery codes and sessions.

use askama::Template;
use axum::{http::StatusCode, response::Response};

use super::{
    code::{Entry, field, status},
    form::AccountForm,
    next::Next,
    payments::time,
    qr::svg,
    view::{self, Field},
    visitor::Session,
};
use crate::{
    app::{self, Account, Codes, RecoveryCodes, Refused},
    authenticator::Secret,
    web::{Body, Error},
};

#[derive(Template)]
#[template(path = "desk/account.html")]
struct AccountPage<'a> {
    at: &'a Session,
    next: &'a Next,
    account: &'a Account,
    has_authenticator: bool,
}

#[derive(Template)]
#[template(path = "desk/authenticator.html")]
struct AuthenticatorPage<'a> {
    at: &'a Session,
    next: &'a Next,
    secret: &'a Secret,
    refused: Option<Refused>,
}

impl AuthenticatorPage<'_> {
    fn image(&self) -> String {
        let (host, email) = (&self.at.desk.settings.host, &self.at.signed_in.user.email);
        svg(&self.secret.url(host, email.as_str())).unwrap_or_default()
    }

    fn field(&self) -> Field<'_> {
        field(self.at, self.refused)
    }
}

#[derive(Template)]
#[template(path = "desk/recovery_codes.html")]
struct RecoveryCodesPage<'a> {
    at: &'a Session,
    codes: &'a RecoveryCodes,
    /// Where the user goes on.
    next: &'a str,
}

#[derive(Template)]
#[template(path = "desk/remove_authenticator.html")]
struct RemoveAuthenticatorPage<'a> {
    at: &'a Session,
}

pub(super) async fn show(at: Session, next: Next) -> Result<Response, Error> {
    let account = at.payments().account(at.user()).await?;
    let has_authenticator = at.signed_in.codes != Codes::NotSetUp;
    let page = AccountPage { at: &at, next: &next, account: &account, has_authenticator };
    Ok(view::page(StatusCode::OK, &page))
}

pub(super) async fn begin_authenticator(at: Session, next: Next) -> Result<Response, Error> {
    at.payments().begin_authenticator(at.user(), &at.desk.settings.key).await?;
    Ok(at.redirect(&format!("account/authenticator{}", next.query())))
}

/// Shows the secret until the first code, and then leads to the account.
pub(super) async fn show_authenticator(at: Session, next: Next) -> Result<Response, Error> {
    authenticator(&at, &next, None).await
}

async fn authenticator(
    at: &Session,
    next: &Next,
    refused: Option<Refused>,
) -> Result<Response, Error> {
    let secret = at.payments().begun_authenticator(at.user(), &at.desk.settings.key).await;
    if let Err(app::Error::NotFound) = secret {
        return Ok(at.redirect("account"));
    }
    let page = AuthenticatorPage { at, next, secret: &secret?, refused };
    Ok(view::page(refused.map_or(StatusCode::OK, status), &page))
}

/// Checks the first code. If it is right, shows the recovery codes, once.
pub(super) async fn enter_first_code(
    entry: Entry,
    next: Next,
    body: Body,
) -> Result<Response, Error> {
    let (at, entered) = entry.enter(&body, true).await?;
    match entered {
        Ok(session) => {
            let codes = RecoveryCodes::first(&session, &at.desk.settings.key);
            let account = at.account();
            let page = RecoveryCodesPage { at: &at, codes: &codes, next: next.path(&account) };
            Ok(at.set_session(Some(&session), view::page(StatusCode::OK, &page)))
        }
        Err(refused) => authenticator(&at, &next, Some(refused)).await,
    }
}

pub(super) async fn new_recovery_codes(AccountForm(at): AccountForm) -> Result<Response, Error> {
    let codes = RecoveryCodes::new();
    at.payments().set_recovery_codes(at.user(), &codes).await?;
    let page = RecoveryCodesPage { at: &at, codes: &codes, next: &at.account() };
    Ok(view::page(StatusCode::OK, &page))
}

pub(super) async fn ask_remove_authenticator(at: Session) -> Response {
    view::page(StatusCode::OK, &RemoveAuthenticatorPage { at: &at })
}

pub(super) async fn remove_authenticator(AccountForm(at): AccountForm) -> Result<Response, Error> {
    at.payments().remove_authenticator(at.user()).await?;
    Ok(at.redirect("account"))
}

pub(super) async fn end_other_sessions(at: Session) -> Result<Response, Error> {
    at.payments().end_other_sessions(&at.signed_in).await?;
    Ok(at.redirect("account"))
}
