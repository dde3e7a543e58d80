//! The users of a merchant: list, invite, revoke.

use std::sync::Arc;

use axum::{extract::State, http::StatusCode, response::Response};
use jiff::Timestamp;
use payments_domain::{Email, Id, Merchant, actions::RevokeUser};
use serde::Serialize;

use super::{
    access::{Permitted, SecondId},
    api::Api,
    idempotency::Once,
    list::{self, Query},
    output,
};
use crate::{
    app::{Member, Written},
    web::{Error, as_date, as_optional_date, as_text, envelope},
};

pub(super) async fn list(merchant: Permitted<Merchant>, query: Query) -> Result<Response, Error> {
    query.answer(query.payments.users(merchant.resource.id)).await
}

/// Makes a user a member of a merchant, and invites them by e-mail.
pub(super) async fn invite(
    merchant: Permitted<Merchant>,
    request: Once,
) -> Result<Response, Error> {
    let invited = request.run(merchant.caller.app.id, async |keyed| {
        let email = request.body.read(|fields| fields.required("email", Email::new))?;
        request.payments.invite(merchant.access(), merchant.resource.id, email, keyed).await
    });
    let Written { outcome: added, is_replayed } = invited.await?;
    let body = envelope(StatusCode::CREATED, "isMember", added.was_member);
    Ok(output::written(is_replayed, body))
}

/// Ends the membership of a user.
pub(super) async fn revoke(
    State(api): State<Arc<Api>>,
    merchant: Permitted<Merchant>,
    SecondId(user): SecondId,
) -> Result<StatusCode, Error> {
    let action = RevokeUser { merchant: merchant.resource.id, user, keeps_last: false };
    api.payments.write(merchant.access(), action).await?;
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Serialize)]
struct UserOutput<'a> {
    #[serde(serialize_with = "as_text")]
    id: Id,
    email: &'a str,
    #[serde(serialize_with = "as_date")]
    created: Timestamp,
    #[serde(serialize_with = "as_optional_date")]
    accepted: Option<Timestamp>,
}

impl<'a> UserOutput<'a> {
    fn new(Member { id, email, created, accepted, .. }: &'a Member) -> Self {
        Self { id: *id, email: email.as_str(), created: *created, accepted: *accepted }
    }
}

list::item!(Member, UserOutput::new);
