//! The users of a merchant: list, invite, revoke.

use std::sync::Arc;

use axum::{
    extract::{RawQuery, State},
    http::StatusCode,
    response::Response,
};
use jiff::Timestamp;
use serde::Serialize;

use super::{
    access::{Permitted, SecondId},
    api::Api,
    idempotency::IdempotencyKey,
    list, output,
};
use crate::{
    app::Written,
    domain::{Email, Id, Merchant, User, actions::RevokeUser},
    web::{Body, Error, as_date, as_text, envelope},
};

pub(super) async fn list(
    State(api): State<Arc<Api>>,
    merchant: Permitted<Merchant>,
    RawQuery(query): RawQuery,
) -> Result<Response, Error> {
    let (page_query, ()) = list::read(query.as_deref(), |_| Ok(()))?;
    list::response(&api.responses, page_query, api.payments.users(merchant.resource.id)).await
}

/// Makes a user a member of a merchant, and invites them by e-mail.
pub(super) async fn invite(
    State(api): State<Arc<Api>>,
    merchant: Permitted<Merchant>,
    key: IdempotencyKey,
    body: Body,
) -> Result<Response, Error> {
    let keyed = key.of(&merchant.caller, &body)?;
    let invited = api.payments.once(keyed, async |keyed| {
        let email = body.read(|fields| fields.required("email", Email::new))?;
        api.payments.invite(&merchant.caller, merchant.resource.id, email, keyed).await
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
    api.payments.write(RevokeUser { merchant: merchant.resource.id, user }).await?;
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Serialize)]
struct UserOutput<'a> {
    #[serde(serialize_with = "as_text")]
    id: Id,
    email: &'a str,
    #[serde(serialize_with = "as_date")]
    created: Timestamp,
}

impl<'a> UserOutput<'a> {
    fn new(user: &'a User) -> Self {
        Self { id: user.id, email: user.email.as_str(), created: user.created }
    }
}

list::item!(User, UserOutput::new);
