//! Apps and their API keys.

use common::limits::ClientAddress;
use payments_domain::{
    Actor, ApiKey, App, Id, Name,
    actions::{CreateApp, DeleteApiKey, RecordApiKeyUses},
    write::ApiKeyRow,
};
use secrecy::SecretString;
use uuid::Uuid;

use super::{error::Error, payments::Payments};
use crate::store::StoreError;

/// A new random key. The store keeps only its digest.
pub(crate) fn new_api_key() -> ApiKey {
    ApiKey::new(SecretString::from(Uuid::new_v4().to_string()))
}

impl Payments {
    /// Counts a request to create an app.
    pub(crate) fn count_new_app(&self, address: ClientAddress) -> Result<(), Error> {
        Ok(self.limits.count_new_app(address)?)
    }

    /// Creates an app with its first API key.
    pub(crate) async fn create_app(&self, name: Option<Name>) -> Result<(App, ApiKey), Error> {
        let key = new_api_key();
        let action = CreateApp { name, digest: key.digest() };
        Ok((self.write(Actor::SYSTEM, action).await?, key))
    }

    /// Deletes an API key of an app. [`Error::Forbidden`] if it is a key of another app.
    pub(crate) async fn delete_api_key(&self, app: Id, key: Id) -> Result<(), Error> {
        match self.write(Actor::app(app), DeleteApiKey { app, key }).await {
            Err(Error::NotFound) if self.row::<ApiKeyRow>(&key).await?.is_some() => {
                Err(Error::Forbidden)
            }
            deleted => deleted,
        }
    }

    /// Records the uses of API keys that requests have noted.
    pub(crate) async fn record_api_key_uses(&self) -> Result<(), StoreError> {
        loop {
            let uses = self.store.unrecorded_api_key_uses();
            if uses.is_empty() {
                return Ok(());
            }
            let action = RecordApiKeyUses { uses: uses.clone() };
            let _recorded = self.store.write(Actor::SYSTEM, action).await?;
            self.store.api_key_uses_recorded(&uses);
        }
    }
}
