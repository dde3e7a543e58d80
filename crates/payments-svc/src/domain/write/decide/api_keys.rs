//! Apps and their API keys.

use super::{ActionResult, Batch, done};
use crate::domain::{
    ApiKeyDetails, ApiKeyDigest, ApiKeyUse, App, Id, MAX_API_KEYS, Name, hour_of,
    write::{NewApiKey, Outcome, Rejection},
};

impl Batch {
    pub(super) fn create_app(&mut self, name: Option<&Name>, digest: ApiKeyDigest) -> ActionResult {
        let app = App { id: self.id(), name: name.cloned(), created: self.known.now };
        self.changes.apps.push(app.clone());
        self.add_api_key(NewApiKey {
            id: app.id,
            app: app.id,
            digest,
            name: None,
            created: app.created,
        });
        done(Outcome::App(app))
    }

    pub(super) fn create_api_key(
        &mut self,
        app: Id,
        name: Option<&Name>,
        digest: ApiKeyDigest,
    ) -> ActionResult {
        let keys = self.known.api_keys.get(&app).ok_or(Rejection::NotFound)?;
        if keys.len() >= MAX_API_KEYS {
            return Err(Rejection::TooManyApiKeys);
        }
        let (id, name, created) = (self.id(), name.cloned(), self.known.now);
        self.add_api_key(NewApiKey { id, app, digest, name: name.clone(), created });
        done(Outcome::ApiKey(ApiKeyDetails { id, name, created, last_used: None }))
    }

    /// The keys of the app are locked, so two requests cannot delete its last two keys.
    pub(super) fn delete_api_key(&mut self, app: Id, key: Id) -> ActionResult {
        let keys = self.known.api_keys.get_mut(&app).ok_or(Rejection::NotFound)?;
        if !keys.contains_key(&key) {
            return Err(Rejection::NotFound);
        }
        if keys.len() == 1 {
            return Err(Rejection::LastApiKey);
        }
        keys.remove(&key);
        self.changes.api_key_uses.remove(&key);
        if self.changes.api_keys.remove(&key).is_none() {
            self.changes.deleted_api_keys.insert(key);
        }
        done(Outcome::Done)
    }

    /// A key that was deleted since its use is left out. The clock of the replica that noticed the
    /// use may be ahead, so a use is never later than the batch.
    pub(super) fn record_api_key_uses(&mut self, uses: &[ApiKeyUse]) -> ActionResult {
        let now = hour_of(self.known.now);
        for &ApiKeyUse { app, key, hour } in uses {
            let keys = self.known.api_keys.get_mut(&app);
            let Some(last_used) = keys.and_then(|keys| keys.get_mut(&key)) else { continue };
            let hour = hour.min(now);
            if last_used.is_none_or(|last| last < hour) {
                *last_used = Some(hour);
                self.changes.api_key_uses.insert(key, ApiKeyUse { app, key, hour });
            }
        }
        done(Outcome::Done)
    }

    fn add_api_key(&mut self, key: NewApiKey) {
        self.known.api_keys.entry(key.app).or_default().insert(key.id, None);
        self.changes.api_keys.insert(key.id, key);
    }
}
