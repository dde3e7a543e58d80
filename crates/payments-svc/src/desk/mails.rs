//! The mails that a user wants about a merchant.

use std::borrow::Cow;

use askama::Template;
use axum::{extract::RawQuery, http::StatusCode, response::Response};
use payments_domain::MailKind;

use super::{view, visitor::AtMerchant};
use crate::web::{Body, Error, page::see_other};

#[derive(Template)]
#[template(path = "desk/mails.html")]
struct MailsPage<'a> {
    at: &'a AtMerchant,
    chosen: &'a [MailKind],
    saved: bool,
}

impl MailsPage<'_> {
    /// The kinds with their names, and whether they are chosen.
    fn kinds(&self) -> [(&'static str, Cow<'_, str>, bool); 4] {
        let language = self.at.language;
        MailKind::CHOICES.map(|kind| {
            let name = match kind {
                MailKind::Payout => language.mail_payout(),
                MailKind::Return => language.mail_return(),
                MailKind::Webhook => language.mail_webhook(),
                _ => language.mail_dispute(),
            };
            (kind.name(), name, self.chosen.contains(&kind))
        })
    }
}

pub(super) async fn show(at: AtMerchant, RawQuery(query): RawQuery) -> Result<Response, Error> {
    let chosen = at.payments().chosen_mails(at.merchant.id, at.user()).await?;
    let saved = query.as_deref() == Some("done");
    Ok(view::page(StatusCode::OK, &MailsPage { at: &at, chosen: &chosen, saved }))
}

/// Unchecked boxes are not in a form.
pub(super) async fn save(at: AtMerchant, body: Body) -> Result<Response, Error> {
    let kinds = body.read(|fields| {
        let mut kinds = Vec::new();
        for kind in MailKind::CHOICES {
            if fields.flag(kind.name())?.unwrap_or(false) {
                kinds.push(kind);
            }
        }
        Ok(kinds)
    })?;
    at.payments().choose_mails(at.merchant.id, at.user(), kinds).await?;
    Ok(see_other(&format!("{}/mails?done", at.path())))
}
