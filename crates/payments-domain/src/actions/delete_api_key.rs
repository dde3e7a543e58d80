use crate::{
    Id, LogKind, MAX_API_KEYS,
    write::{Action, Batch, Needs, Rejection},
};

/// Delete an API key of an app. Rejected if it is the last one: the app is locked, so two requests
/// cannot delete its last two keys.
#[derive(Debug)]
pub struct DeleteApiKey {
    pub app: Id,
    pub key: Id,
}

impl Action for DeleteApiKey {
    type Outcome = ();

    fn needs(&self, needs: &mut Needs) {
        needs.locked_apps.insert(self.app);
    }

    fn cost(&self) -> (usize, usize) {
        (MAX_API_KEYS, 0)
    }

    fn decide(&self, batch: &mut Batch) -> Result<(), Rejection> {
        let own = batch.rows.api_keys.get(&self.key).filter(|row| row.app == self.app);
        own.ok_or(Rejection::NotFound)?;
        if batch.api_keys_of(self.app) == 1 {
            return Err(Rejection::LastApiKey);
        }
        batch.rows.api_keys.delete(self.key);
        batch.log(self.app, LogKind::KeyRemoved, self.key);
        Ok(())
    }
}
