use crate::{
    ApiKeyDigest, App, Name, SandboxClock,
    write::{Action, ApiKeyRow, AppRow, Batch, Needs, Rejection},
};

/// Create an app with its first API key.
#[derive(Debug)]
pub struct CreateApp {
    pub name: Option<Name>,
    pub digest: ApiKeyDigest,
}

impl Action for CreateApp {
    type Outcome = App;

    fn needs(&self, _: &mut Needs) {}

    fn decide(&self, batch: &mut Batch) -> Result<App, Rejection> {
        let (id, created) = (batch.id(), batch.now());
        let app = AppRow { id, name: self.name.clone(), created, clock: SandboxClock::default() };
        batch.rows.apps.insert(app.clone());
        let (app_id, digest) = (id, self.digest);
        let first = ApiKeyRow { id, app: app_id, digest, name: None, created, last_used: None };
        batch.rows.api_keys.insert(first);
        Ok(app.app())
    }
}
