//! Identifies apps by their API keys, and checks their access to the resources of merchants.

use super::{error::Error, payments::Payments};
use crate::{
    domain::{
        ApiKeyDigest, App, BalanceLine, Dispute, Event, FraudAlert, Id, Merchant, SavedCard,
        Transaction, Webhook,
    },
    store::{Found, Snapshot, Store, StoreError},
};

/// A resource of a merchant, which every app of the merchant may read, or of an app.
pub(crate) trait Accessible: Sized + Send {
    /// Reads the resource, and whether `app` may see it.
    fn find(
        store: &Store,
        id: Id,
        app: Id,
    ) -> impl Future<Output = Result<Option<Found<Self>>, StoreError>> + Send;
}

macro_rules! accessible {
    ($($resource:ty: $find:ident),*) => {$(
        impl Accessible for $resource {
            async fn find(store: &Store, id: Id, app: Id) -> Result<Option<Found<Self>>, StoreError> {
                store.$find(id, app).await
            }
        }
    )*};
}

accessible!(
    Merchant: merchant,
    Transaction: transaction,
    BalanceLine: line,
    SavedCard: card,
    Dispute: dispute,
    FraudAlert: fraud,
    Event: event,
    Webhook: webhook
);

impl Payments {
    pub(crate) async fn app_by_key(&self, key: ApiKeyDigest) -> Result<Option<App>, Error> {
        Ok(self.store.app_by_key(key).await?)
    }

    /// Rejects an app that names another app: [`Error::Forbidden`] if that app exists, otherwise
    /// [`Error::NotFound`].
    pub(crate) async fn require_own(&self, app: &App, id: Id) -> Result<(), Error> {
        if id == app.id {
            return Ok(());
        }
        Err(if self.store.has_app(id).await? { Error::Forbidden } else { Error::NotFound })
    }

    /// Reads a resource for an app: [`Error::NotFound`] if it does not exist, [`Error::Forbidden`]
    /// if the app may not see it.
    pub(crate) async fn find<T: Accessible>(&self, id: Id, app: &App) -> Result<T, Error> {
        permitted(T::find(&self.store, id, app.id).await?)
    }

    /// Reads a transaction before a capture, refund or void, together with the stored state of the
    /// app's idempotency key. Fails as [`Self::find`] does.
    pub(crate) async fn snapshot(
        &self,
        id: Id,
        app: &App,
        key: Option<String>,
    ) -> Result<Snapshot, Error> {
        permitted(self.store.snapshot(id, app.id, key).await?)
    }
}

fn permitted<T>(found: Option<Found<T>>) -> Result<T, Error> {
    match found {
        None => Err(Error::NotFound),
        Some(Found { is_member: false, .. }) => Err(Error::Forbidden),
        Some(Found { value, .. }) => Ok(value),
    }
}
