//! Apps: `POST /apps`, `GET /me`, and the apps of a merchant.

use std::sync::Arc;

use axum::{
    extract::{FromRequestParts, RawQuery, State},
    http::{StatusCode, request::Parts},
    response::Response,
};
use common::limits::ClientAddress;
use jiff::Timestamp;
use secrecy::SecretString;
use serde::Serialize;
use uuid::Uuid;

use super::{
    Api, Error,
    access::{Caller, Of, Second},
    answer::{self, as_date, as_text},
    body::Body,
    idempotency::IdempotencyKey,
    page::{self, Item},
};
use crate::{
    domain::{
        ApiKey, App, Id, Merchant, Name,
        write::{Action, Outcome, Write},
    },
    store::StoreError,
};

/// A caller who may make an app.
pub(super) struct MayCreate;

impl FromRequestParts<Arc<Api>> for MayCreate {
    type Rejection = Error;

    /// Every request counts, so that nobody can try tokens without end.
    async fn from_request_parts(parts: &mut Parts, api: &Arc<Api>) -> Result<Self, Error> {
        let Ok(address) = ClientAddress::from_request_parts(parts, api).await;
        api.limits.app(address)?;
        match &api.apps_token {
            Some(token) if !token.admits(&parts.headers) => Err(Error::TokenRequired),
            _ => Ok(Self),
        }
    }
}

/// Makes an app, and tells its key this once.
pub(super) async fn create(
    State(api): State<Arc<Api>>,
    _: MayCreate,
    body: Body,
) -> Result<Response, Error> {
    let name = body.read(|fields| fields.optional("name", Name::new))?;
    let key = ApiKey::new(SecretString::from(Uuid::new_v4().to_string()));
    let action = Action::CreateApp { name, digest: key.digest() };
    match api.store.write(action).await??.outcome() {
        Outcome::App(App { id, name, .. }) => {
            let id = *id;
            let (name, key) = (name.as_ref().map(Name::as_str), key.expose());
            Ok(answer::one(StatusCode::CREATED, "app", NewAppOutput { id, name, key }))
        }
        _ => Err(StoreError::Panicked.into()),
    }
}

/// The app whose key is used.
pub(super) async fn me(Caller(app): Caller) -> Response {
    answer::one(StatusCode::OK, "identity", AppOutput::new(&app))
}

/// The apps of a merchant.
pub(super) async fn list(
    State(api): State<Arc<Api>>,
    merchant: Of<Merchant>,
    RawQuery(query): RawQuery,
) -> Result<Response, Error> {
    let (window, ()) = page::read(query.as_deref(), |_| Ok(()))?;
    let merchant = merchant.thing.id;
    let memory = Arc::clone(&api.responses);
    page::list(&memory, window, move |window| api.store.clone().apps(merchant, window)).await
}

/// Lets an app use a merchant.
pub(super) async fn add(
    State(api): State<Arc<Api>>,
    merchant: Of<Merchant>,
    key: IdempotencyKey,
    body: Body,
) -> Result<Response, Error> {
    api.once(key, &merchant.caller, &body, async |keyed| {
        let app = body.read(|fields| fields.required("appId", str::parse))?;
        let action = Action::AddApp { merchant: merchant.thing.id, app };
        Ok(api.store.write(Write { action, keyed }).await??)
    })
    .await
}

/// No longer lets an app use a merchant.
pub(super) async fn revoke(
    State(api): State<Arc<Api>>,
    merchant: Of<Merchant>,
    Second(app): Second,
) -> Result<StatusCode, Error> {
    let action = Action::RevokeApp { merchant: merchant.thing.id, app };
    Ok(answer::nothing(api.store.write(action).await??))
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

impl Item for App {
    fn id(&self) -> Id {
        self.id
    }

    fn write_json(&self, json: &mut Vec<u8>) -> serde_json::Result<()> {
        serde_json::to_writer(json, &AppOutput::new(self))
    }
}
