//! Extractors for authentication and access. A handler that takes one of them runs only if the
//! check succeeds, so a handler cannot forget it.

use std::sync::Arc;

use axum::{
    extract::{FromRequestParts, RawPathParams},
    http::{HeaderMap, header, request::Parts},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use payments_domain::{ApiKeyDigest, App, Id, Merchant, write::Access};

use super::{api::Api, idempotency, output};
use crate::{
    app::{self, Accessible, Credentials, Snapshot},
    web::Error,
};

/// The app that calls, identified by its key. 401 if the key is missing, unknown or deleted.
pub(super) struct Caller(pub(super) Credentials);

impl FromRequestParts<Arc<Api>> for Caller {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, api: &Arc<Api>) -> Result<Self, Error> {
        Ok(Self(api.payments.authenticate(key(parts)?).await?))
    }
}

/// The key of the request. 401 without one.
fn key(parts: &Parts) -> Result<ApiKeyDigest, Error> {
    Ok(password(&parts.headers).ok_or(app::Error::Unauthenticated)?)
}

/// Reads the password of Basic credentials; the username is ignored. Keys are case-sensitive.
fn password(headers: &HeaderMap) -> Option<ApiKeyDigest> {
    let credentials = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, encoded) = credentials.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("Basic") {
        return None;
    }
    let decoded = String::from_utf8(STANDARD.decode(encoded.trim()).ok()?).ok()?;
    let (_, password) = decoded.split_once(':')?;
    Some(ApiKeyDigest::of(password))
}

/// The resource with the first ID in the path, and the calling app, which has access to it. 404 if
/// the resource does not exist, 403 without access.
pub(super) struct Permitted<T> {
    pub(super) caller: Credentials,
    pub(super) resource: T,
}

impl<T: Accessible> FromRequestParts<Arc<Api>> for Permitted<T> {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, api: &Arc<Api>) -> Result<Self, Error> {
        let (caller, id) = target(parts, api).await?;
        let resource = api.payments.find(id, &caller).await?;
        Ok(Self { caller, resource })
    }
}

impl Permitted<Merchant> {
    /// The access that an action decides again.
    pub(super) fn access(&self) -> Access {
        self.caller.access(Some(self.resource.id))
    }
}

/// Like [`Permitted`], for a transaction that the request captures, refunds or voids. It is loaded
/// together with the stored state of the idempotency key.
pub(super) struct LoadedTransaction {
    pub(super) caller: App,
    pub(super) snapshot: Snapshot,
}

impl FromRequestParts<Arc<Api>> for LoadedTransaction {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, api: &Arc<Api>) -> Result<Self, Error> {
        let (caller, id) = target(parts, api).await?;
        // A malformed key is rejected later, by `Once::keyed`.
        let key = idempotency::key(&parts.headers).unwrap_or_default();
        let snapshot = api.payments.snapshot(id, &caller, key).await?;
        Ok(Self { caller: caller.app, snapshot })
    }
}

/// The body of the response with a transaction, for a caller with access to it. It is in memory if
/// the caller has read it before. Fails as [`Permitted`] does.
pub(super) struct TransactionJson(pub(super) Bytes);

impl FromRequestParts<Arc<Api>> for TransactionJson {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, api: &Arc<Api>) -> Result<Self, Error> {
        let (caller, id) = target(parts, api).await?;
        let write = |transaction| output::transaction(&api.payments, transaction);
        api.payments.transaction_json(id, &caller, write).await.map(Self)
    }
}

/// The first ID in the path, without a check of access.
pub(super) struct FirstId(pub(super) Id);

impl FromRequestParts<Arc<Api>> for FirstId {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, api: &Arc<Api>) -> Result<Self, Error> {
        path_id(parts, api, 0).await.map(Self)
    }
}

/// The second ID in the path.
pub(super) struct SecondId(pub(super) Id);

impl FromRequestParts<Arc<Api>> for SecondId {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, api: &Arc<Api>) -> Result<Self, Error> {
        path_id(parts, api, 1).await.map(Self)
    }
}

/// The calling app, if its own ID is the first in the path. 403 for the ID of another app, 404 if
/// no app has this ID.
pub(super) struct OwnApp(pub(super) App);

impl FromRequestParts<Arc<Api>> for OwnApp {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, api: &Arc<Api>) -> Result<Self, Error> {
        let Caller(Credentials { app, .. }) = Caller::from_request_parts(parts, api).await?;
        let id = path_id(parts, api, 0).await?;
        api.payments.require_own(&app, id).await?;
        Ok(Self(app))
    }
}

/// The calling app and the first ID in the path, before a check of access. A text that is no ID
/// becomes [`Id::MIN`], which no resource has. So a deleted key gets 401 before this path gets 404.
async fn target(parts: &mut Parts, api: &Arc<Api>) -> Result<(Credentials, Id), Error> {
    let caller = api.payments.identify(key(parts)?).await?;
    Ok((caller, path_id(parts, api, 0).await.unwrap_or(Id::MIN)))
}

/// Parses one of the IDs in the path. 404 if the text is not an ID.
async fn path_id(parts: &mut Parts, api: &Arc<Api>, index: usize) -> Result<Id, Error> {
    let params = RawPathParams::from_request_parts(parts, api).await.ok();
    let id = params.as_ref().and_then(|params| params.iter().nth(index)?.1.parse().ok());
    Ok(id.ok_or(app::Error::NotFound)?)
}
