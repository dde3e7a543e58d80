//! Identifies apps by their API keys, and checks their access to the resources of merchants.

use bytes::Bytes;
use payments_domain::{
    ApiKeyDigest, App, Event, Id, Transaction, Webhook,
    write::{Access, AppRow},
};

use super::{error::Error, payments::Payments};
use crate::store::{Found, LookUp, Resource, Snapshot, Store, StoreError};

/// A resource of a merchant, which every app of the merchant may read, or of an app.
pub(crate) trait Accessible: Sized + Send {
    /// Reads the resource, and whether the app with this API key may see it.
    fn find(
        store: &Store,
        id: Id,
        key: ApiKeyDigest,
    ) -> impl Future<Output = Result<Option<Found<Self>>, StoreError>> + Send;
}

macro_rules! accessible {
    ($($resource:ty: $find:ident),*) => {$(
        impl Accessible for $resource {
            async fn find(
                store: &Store,
                id: Id,
                key: ApiKeyDigest,
            ) -> Result<Option<Found<Self>>, StoreError> {
                store.$find(id, key).await
            }
        }
    )*};
}

accessible!(Transaction: transaction, Event: event, Webhook: webhook);

impl<R: Resource> Accessible for R {
    async fn find(
        store: &Store,
        id: Id,
        key: ApiKeyDigest,
    ) -> Result<Option<Found<Self>>, StoreError> {
        store.resource(id, key).await
    }
}

/// An app and the API key that it sent. See [`Payments::identify`].
pub(crate) struct Credentials {
    pub(crate) app: App,
    pub(super) key: ApiKeyDigest,
}

impl Credentials {
    /// The access to the app's own resources, and to those of a merchant, if there is one.
    pub(crate) fn access(&self, merchant: Option<Id>) -> Access {
        Access { app: self.app.id, key: self.key, merchant }
    }
}

impl Payments {
    /// The app that has this API key now. [`Error::Unauthenticated`] if no app has it.
    pub(crate) async fn authenticate(&self, key: ApiKeyDigest) -> Result<Credentials, Error> {
        let app = self.store.app_by_key(key).await?.ok_or(Error::Unauthenticated)?;
        Ok(Credentials { app, key })
    }

    /// Like [`Self::authenticate`], but without a read if this process knows the key. The key may
    /// have been deleted, so the result is only for [`Self::find`] and [`Self::snapshot`]: they
    /// read the key together with the resource.
    pub(crate) async fn identify(&self, key: ApiKeyDigest) -> Result<Credentials, Error> {
        let app = self.store.app_by_known_key(key).await?.ok_or(Error::Unauthenticated)?;
        Ok(Credentials { app, key })
    }

    /// Rejects an app that names another app: [`Error::Forbidden`] if that app exists, otherwise
    /// [`Error::NotFound`].
    pub(crate) async fn require_own(&self, app: &App, id: Id) -> Result<(), Error> {
        if id == app.id {
            return Ok(());
        }
        Err(if self.store.row::<AppRow>(&id).await?.is_some() {
            Error::Forbidden
        } else {
            Error::NotFound
        })
    }

    /// Reads a resource for an app: [`Error::Unauthenticated`] if its key was deleted,
    /// [`Error::NotFound`] if the resource does not exist, [`Error::Forbidden`] if the app may not
    /// see it.
    pub(crate) async fn find<T: Accessible>(
        &self,
        id: Id,
        caller: &Credentials,
    ) -> Result<T, Error> {
        let found = T::find(&self.store, id, caller.key).await?;
        self.permitted(found, caller).await
    }

    /// The JSON of a transaction. `write` makes it, unless it is in memory because the app has read
    /// it before. Fails as [`Self::find`] and `write` do.
    pub(crate) async fn transaction_json<E: From<Error>>(
        &self,
        id: Id,
        caller: &Credentials,
        write: impl AsyncFnOnce(Transaction) -> Result<Bytes, E>,
    ) -> Result<Bytes, E> {
        let place = match self.store.transaction_json(id, caller.key) {
            LookUp::Value(json) => return Ok(json),
            LookUp::Absent(place) => place,
        };
        let json = write(self.find(id, caller).await?).await?;
        if let Some(place) = place {
            place.keep(&json);
        }
        Ok(json)
    }

    /// Reads a transaction before a capture, refund or void, together with the stored state of the
    /// app's idempotency key. Fails as [`Self::find`] does.
    pub(crate) async fn snapshot(
        &self,
        id: Id,
        caller: &Credentials,
        key: Option<String>,
    ) -> Result<Snapshot, Error> {
        let found = self.store.snapshot(id, (caller.app.id, caller.key), key).await?;
        self.permitted(found, caller).await
    }

    /// Reads the key only if the resource is refused: a deleted key gives access to nothing.
    async fn permitted<T>(
        &self,
        found: Option<Found<T>>,
        caller: &Credentials,
    ) -> Result<T, Error> {
        let refusal = match found {
            Some(Found { value, is_member: true }) => return Ok(value),
            Some(Found { is_member: false, .. }) => Error::Forbidden,
            None => Error::NotFound,
        };
        self.authenticate(caller.key).await?;
        Err(refusal)
    }
}
