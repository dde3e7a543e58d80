//! Who asks, and for what. A handler that takes one of these is only reached with it.

use std::sync::Arc;

use axum::{
    extract::{FromRequestParts, RawPathParams},
    http::{HeaderMap, header, request::Parts},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};

use super::{Api, Error, idempotency};
use crate::{
    domain::{App, Dispute, FraudAlert, Id, KeyDigest, Line, Merchant, SavedCard, Transaction},
    store::{Found, Seen, Store, StoreError},
};

/// The app that asks, by its key.
pub(super) struct Caller(pub(super) App);

impl FromRequestParts<Arc<Api>> for Caller {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, api: &Arc<Api>) -> Result<Self, Error> {
        let digest = key(&parts.headers).ok_or(Error::Unauthenticated)?;
        let app = api.store.app_by_key(digest).await?;
        app.map(Self).ok_or(Error::Unauthenticated)
    }
}

/// The password of Basic credentials; whatever the username is. Keys have one form: in capitals
/// they are others.
fn key(headers: &HeaderMap) -> Option<KeyDigest> {
    let credentials = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, encoded) = credentials.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("Basic") {
        return None;
    }
    let decoded = String::from_utf8(STANDARD.decode(encoded.trim()).ok()?).ok()?;
    let (_, password) = decoded.split_once(':')?;
    Some(KeyDigest::of(password))
}

/// A thing whose id is the first in the path, and the app that asks: it may use the thing's
/// merchant.
pub(super) struct Of<T> {
    pub(super) caller: App,
    pub(super) thing: T,
}

impl<T: Accessible> FromRequestParts<Arc<Api>> for Of<T> {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, api: &Arc<Api>) -> Result<Self, Error> {
        let Caller(caller) = Caller::from_request_parts(parts, api).await?;
        let id = path_id(parts, api, 0).await?;
        match T::find(&api.store, id, caller.id).await? {
            None => Err(Error::NotFound),
            Some(Found { is_member: false, .. }) => Err(Error::Forbidden),
            Some(Found { thing, .. }) => Ok(Self { caller, thing }),
        }
    }
}

/// A transaction whose id is the first in the path, before it is moved, and the app that asks: it
/// may use the transaction's merchant.
pub(super) struct Movable {
    pub(super) caller: App,
    pub(super) seen: Seen,
}

impl FromRequestParts<Arc<Api>> for Movable {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, api: &Arc<Api>) -> Result<Self, Error> {
        let Caller(caller) = Caller::from_request_parts(parts, api).await?;
        let id = path_id(parts, api, 0).await?;
        // One that is wrong is refused later.
        let key = idempotency::key(&parts.headers).unwrap_or_default();
        match api.store.seen(id, caller.id, key).await? {
            None => Err(Error::NotFound),
            Some(Found { is_member: false, .. }) => Err(Error::Forbidden),
            Some(Found { thing: seen, .. }) => Ok(Self { caller, seen }),
        }
    }
}

/// The second id in the path.
pub(super) struct Second(pub(super) Id);

impl FromRequestParts<Arc<Api>> for Second {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, api: &Arc<Api>) -> Result<Self, Error> {
        path_id(parts, api, 1).await.map(Self)
    }
}

/// The app that asks, whose own id is in the path.
pub(super) struct Own(pub(super) App);

impl FromRequestParts<Arc<Api>> for Own {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, api: &Arc<Api>) -> Result<Self, Error> {
        let Caller(caller) = Caller::from_request_parts(parts, api).await?;
        let id = path_id(parts, api, 0).await?;
        if id == caller.id {
            return Ok(Self(caller));
        }
        let exists = api.store.has_app(id).await?;
        Err(if exists { Error::Forbidden } else { Error::NotFound })
    }
}

/// Text that is no id names nothing.
async fn path_id(parts: &mut Parts, api: &Arc<Api>, place: usize) -> Result<Id, Error> {
    let params = RawPathParams::from_request_parts(parts, api).await;
    let params = params.map_err(|_| Error::NotFound)?;
    let id = params.iter().nth(place).and_then(|(_, id)| id.parse().ok());
    id.ok_or(Error::NotFound)
}

/// What belongs to a merchant.
pub(super) trait Accessible: Sized + Send {
    fn find(
        store: &Store,
        id: Id,
        app: Id,
    ) -> impl Future<Output = Result<Option<Found<Self>>, StoreError>> + Send;
}

macro_rules! accessible {
    ($($thing:ty: $find:ident),*) => {$(
        impl Accessible for $thing {
            async fn find(store: &Store, id: Id, app: Id) -> Result<Option<Found<Self>>, StoreError> {
                store.$find(id, app).await
            }
        }
    )*};
}

accessible!(
    Merchant: merchant,
    Transaction: transaction,
    Line: line,
    SavedCard: card,
    Dispute: dispute,
    FraudAlert: fraud
);
