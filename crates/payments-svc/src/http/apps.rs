//! `POST /apps`, `GET /me`, and the apps of a merchant.

use std::sync::Arc;

use axum::{
    extract::{FromRequestParts, State},
    http::{StatusCode, request::Parts},
    response::{IntoResponse as _, Response},
};
use common::limits::ClientAddress;
use jiff::Timestamp;
use payments_domain::{
    App, Id, Merchant, Name,
    actions::{AddApp, RevokeApp},
};
use serde::Serialize;

use super::{
    access::{Caller, Permitted, SecondId},
    api::Api,
    idempotency::Once,
    list::{self, Query},
    output,
};
use crate::{
    app::Written,
    web::{Body, Error, as_date, as_text, envelope},
};

/// Permission to create an app: the caller has the token, or none is configured.
pub(super) struct AppCreationAllowed;

impl FromRequestParts<Arc<Api>> for AppCreationAllowed {
    type Rejection = Error;

    /// Counts every request, so that the rate limit also bounds attempts to guess the token.
    async fn from_request_parts(parts: &mut Parts, api: &Arc<Api>) -> Result<Self, Error> {
        let Ok(address) = ClientAddress::from_request_parts(parts, api).await;
        api.payments.count_new_app(address)?;
        match &api.apps_token {
            Some(token) if !token.borrow().admits(&parts.headers) => Err(Error::TokenRequired),
            _ => Ok(Self),
        }
    }
}

/// Creates an app. The response is the only place where its key appears.
pub(super) async fn create(
    State(api): State<Arc<Api>>,
    _: AppCreationAllowed,
    body: Body,
) -> Result<Response, Error> {
    let name = body.read(|fields| fields.optional("name", Name::new))?;
    let (app, key) = api.payments.create_app(name).await?;
    let (name, key) = (app.name.as_ref().map(Name::as_str), key.expose());
    Ok(envelope(StatusCode::CREATED, "app", NewAppOutput { id: app.id, name, key }))
}

pub(super) async fn me(Caller(caller): Caller) -> Response {
    envelope(StatusCode::OK, "identity", AppOutput::new(&caller.app))
}

pub(super) async fn list(merchant: Permitted<Merchant>, query: Query) -> Result<Response, Error> {
    query.answer(query.payments.apps(merchant.resource.id)).await
}

/// Gives an app access to a merchant.
pub(super) async fn add(merchant: Permitted<Merchant>, request: Once) -> Result<Response, Error> {
    let merchant_id = merchant.resource.id;
    let added = request.write(merchant.access(), |body| {
        let app = body.read(|fields| fields.required("appId", str::parse))?;
        Ok(AddApp { merchant: merchant_id, app })
    });
    let Written { outcome: (), is_replayed } = added.await?;
    Ok(output::written(is_replayed, StatusCode::CREATED.into_response()))
}

/// Ends the access of an app to a merchant.
pub(super) async fn revoke(
    State(api): State<Arc<Api>>,
    merchant: Permitted<Merchant>,
    SecondId(app): SecondId,
) -> Result<StatusCode, Error> {
    let action = RevokeApp { merchant: merchant.resource.id, app };
    api.payments.write(merchant.access(), action).await?;
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Serialize)]
struct NewAppOutput<'a> {
    #[serde(serialize_with = "as_text")]
    id: Id,
    name: Option<&'a str>,
    key: &'a str,
}

#[derive(Serialize)]
struct AppOutput<'a> {
    #[serde(serialize_with = "as_text")]
    id: Id,
    name: Option<&'a str>,
    #[serde(serialize_with = "as_date")]
    created: Timestamp,
}

impl<'a> AppOutput<'a> {
    fn new(app: &'a App) -> Self {
        Self { id: app.id, name: app.name.as_ref().map(Name::as_str), created: app.created }
    }
}

list::item!(App, AppOutput::new);
