use crate::{
    ApiKeyDetails, ApiKeyDigest, Id, LogKind, MAX_API_KEYS, Name,
    write::{Action, ApiKeyRow, Batch, Needs, Rejection},
};

/// Create a further API key of an app.
#[derive(Debug)]
pub struct CreateApiKey {
    pub app: Id,
    pub name: Option<Name>,
    pub digest: ApiKeyDigest,
    /// Whether the app loses its other keys.
    pub replace: bool,
}

impl Action for CreateApiKey {
    type Outcome = ApiKeyDetails;

    fn needs(&self, needs: &mut Needs) {
        needs.locked_apps.insert(self.app);
    }

    /// The key, and an entry of the log for each key.
    fn ids(&self) -> usize {
        if self.replace { MAX_API_KEYS.saturating_add(2) } else { 2 }
    }

    fn cost(&self) -> (usize, usize) {
        (MAX_API_KEYS.saturating_mul(2), 0)
    }

    fn decide(&self, batch: &mut Batch) -> Result<ApiKeyDetails, Rejection> {
        let Self { app, digest, replace, .. } = *self;
        batch.rows.apps.get(&app).ok_or(Rejection::NotFound)?;
        let others = batch.rows.api_keys.iter().filter(|row| replace && row.app == app);
        for other in others.map(|row| row.id).collect::<Vec<_>>() {
            batch.rows.api_keys.delete(other);
            batch.log(app, LogKind::KeyRemoved, other);
        }
        if batch.api_keys_of(app) >= MAX_API_KEYS {
            return Err(Rejection::TooManyApiKeys);
        }
        let (id, name, created, last_used) = (batch.id(), self.name.clone(), batch.now(), None);
        let row = ApiKeyRow { id, app, digest, name: name.clone(), created, last_used };
        batch.rows.api_keys.insert(row);
        batch.log(app, LogKind::KeyCreated, id);
        Ok(ApiKeyDetails { id, name, created, last_used })
    }
}
