//! Apps and their API keys.

use super::{ActionResult, Batch, done};
use crate::domain::{
    ApiKeyDetails, ApiKeyDigest, ApiKeyUse, Id, MAX_API_KEYS, Name, SandboxClock, hour_of,
    write::{ApiKeyRow, AppRow, Outcome, Rejection},
};

impl Batch {
    pub(super) fn create_app(&mut self, name: Option<&Name>, digest: ApiKeyDigest) -> ActionResult {
        let (id, created) = (self.id(), self.known.now);
        let app = AppRow { id, name: name.cloned(), created, clock: SandboxClock::default() };
        self.rows.apps.insert(app.clone());
        let first = ApiKeyRow { id, app: id, digest, name: None, created, last_used: None };
        self.rows.api_keys.insert(first);
        done(Outcome::App(app.app()))
    }

    pub(super) fn create_api_key(
        &mut self,
        app: Id,
        name: Option<&Name>,
        digest: ApiKeyDigest,
    ) -> ActionResult {
        self.rows.apps.get(&app).ok_or(Rejection::NotFound)?;
        if self.keys_of(app) >= MAX_API_KEYS {
            return Err(Rejection::TooManyApiKeys);
        }
        let (id, name, created, last_used) = (self.id(), name.cloned(), self.known.now, None);
        let row = ApiKeyRow { id, app, digest, name: name.clone(), created, last_used };
        self.rows.api_keys.insert(row);
        done(Outcome::ApiKey(ApiKeyDetails { id, name, created, last_used }))
    }

    /// The app is locked, so two requests cannot delete its last two keys.
    pub(super) fn delete_api_key(&mut self, app: Id, key: Id) -> ActionResult {
        let own = self.rows.api_keys.get(&key).filter(|row| row.app == app);
        own.ok_or(Rejection::NotFound)?;
        if self.keys_of(app) == 1 {
            return Err(Rejection::LastApiKey);
        }
        self.rows.api_keys.delete(key);
        done(Outcome::Done)
    }

    /// A key that was deleted since its use is left out. The clock of the replica that noticed the
    /// use may be ahead, so a use is never later than the batch.
    pub(super) fn record_api_key_uses(&mut self, uses: &[ApiKeyUse]) -> ActionResult {
        let now = hour_of(self.known.now);
        for &ApiKeyUse { app, key, hour } in uses {
            let row = self.rows.api_keys.get(&key).filter(|row| row.app == app);
            let hour = Some(hour.min(now));
            if let Some(row) = row.filter(|row| row.last_used < hour) {
                let used = ApiKeyRow { last_used: hour, ..row.clone() };
                self.rows.api_keys.update(used);
            }
        }
        done(Outcome::Done)
    }

    fn keys_of(&self, app: Id) -> usize {
        self.rows.api_keys.iter().filter(|row| row.app == app).count()
    }
}
