//! `/apps/me/keys`: the API keys of the calling app.

use std::sync::Arc;

use axum::{extract::State, http::StatusCode, response::Response};
use jiff::Timestamp;
use payments_domain::{ApiKeyDetails, Id, Name, actions::CreateApiKey};
use serde::Serialize;

use super::{
    access::{Caller, FirstId},
    api::Api,
    idempotency::Once,
    list::{self, Query},
    output::{self, NewApiKeyOutput},
};
use crate::{
    app::{Written, new_api_key},
    web::{Error, as_date, as_optional_date, as_text, envelope},
};

/// Creates a further key. The response is the only place where it appears: a repeat gets the same
/// response without it.
pub(super) async fn create(Caller(caller): Caller, request: Once) -> Result<Response, Error> {
    let new = new_api_key();
    let created = request.write(caller.access(None), |body| {
        let name = body.read(|fields| fields.optional("name", Name::new))?;
        Ok(CreateApiKey { app: caller.app.id, name, digest: new.digest(), replace: false })
    });
    let Written { outcome: details, is_replayed } = created.await?;
    let key = (!is_replayed).then_some(&new);
    let body = envelope(StatusCode::CREATED, "key", NewApiKeyOutput::new(&details, key));
    Ok(output::written(is_replayed, body))
}

pub(super) async fn list(Caller(caller): Caller, query: Query) -> Result<Response, Error> {
    query.answer(query.payments.api_keys(caller.app.id)).await
}

pub(super) async fn delete(
    State(api): State<Arc<Api>>,
    Caller(caller): Caller,
    FirstId(key): FirstId,
) -> Result<StatusCode, Error> {
    api.payments.delete_api_key(caller.app.id, key).await?;
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ApiKeyOutput<'a> {
    #[serde(serialize_with = "as_text")]
    id: Id,
    name: Option<&'a str>,
    #[serde(serialize_with = "as_date")]
    created: Timestamp,
    #[serde(serialize_with = "as_optional_date")]
    last_used: Option<Timestamp>,
}

impl<'a> ApiKeyOutput<'a> {
    fn new(details: &'a ApiKeyDetails) -> Self {
        let ApiKeyDetails { id, name, created, last_used } = details;
        let name = name.as_ref().map(Name::as_str);
        Self { id: *id, name, created: *created, last_used: *last_used }
    }
}

list::item!(ApiKeyDetails, ApiKeyOutput::new);
