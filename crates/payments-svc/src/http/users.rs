//! The users of a merchant.

use std::sync::Arc;

use axum::{
    extract::{RawQuery, State},
    http::StatusCode,
    response::Response,
};
use jiff::Timestamp;
use serde::Serialize;

use super::{
    Api, Error,
    access::{Of, Second},
    answer::{self, as_date, as_text},
    body::Body,
    idempotency::IdempotencyKey,
    page::{self, Item},
};
use crate::domain::{
    Email, Id, Merchant, User,
    write::{Action, Answer, Outcome, Write},
};

/// The users of a merchant.
pub(super) async fn list(
    State(api): State<Arc<Api>>,
    merchant: Of<Merchant>,
    RawQuery(query): RawQuery,
) -> Result<Response, Error> {
    let (window, ()) = page::read(query.as_deref(), |_| Ok(()))?;
    let merchant = merchant.thing.id;
    let memory = Arc::clone(&api.responses);
    page::list(&memory, window, move |window| api.store.clone().users(merchant, window)).await
}

/// Lets a user use a merchant, and invites them to.
pub(super) async fn invite(
    State(api): State<Arc<Api>>,
    merchant: Of<Merchant>,
    key: IdempotencyKey,
    body: Body,
) -> Result<Response, Error> {
    api.once(key, &merchant.caller, &body, async |keyed| {
        let email = body.read(|fields| fields.required("email", Email::new))?;
        let counted = api.limits.invitation(merchant.caller.id)?;
        let action = Action::AddUser { merchant: merchant.thing.id, email };
        let answer = api.store.write(Write { action, keyed }).await??;
        // A user who is a member already is sent nothing.
        if let Answer::Fresh { outcome: Outcome::Membership { already: false }, .. } = answer {
            counted.keep();
        }
        Ok(answer)
    })
    .await
}

/// No longer lets a user use a merchant.
pub(super) async fn revoke(
    State(api): State<Arc<Api>>,
    merchant: Of<Merchant>,
    Second(user): Second,
) -> Result<StatusCode, Error> {
    let action = Action::RevokeUser { merchant: merchant.thing.id, user };
    Ok(answer::nothing(api.store.write(action).await??))
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

impl Item for User {
    fn id(&self) -> Id {
        self.id
    }

    fn write_json(&self, json: &mut Vec<u8>) -> serde_json::Result<()> {
        serde_json::to_writer(json, &UserOutput::new(self))
    }
}
