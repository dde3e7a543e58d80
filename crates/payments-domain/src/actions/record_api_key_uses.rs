use crate::{
    ApiKeyUse, MAX_API_KEYS, hour_of,
    write::{Action, ApiKeyRow, Batch, Needs, Rejection},
};

/// Record when API keys were used. A key that was deleted since its use is left out.
#[derive(Debug)]
pub struct RecordApiKeyUses {
    pub uses: Vec<ApiKeyUse>,
}

impl Action for RecordApiKeyUses {
    type Outcome = ();

    fn needs(&self, needs: &mut Needs) {
        needs.locked_apps.extend(self.uses.iter().map(|used| used.app));
    }

    fn cost(&self) -> (usize, usize) {
        let uses = self.uses.len();
        (uses.saturating_mul(MAX_API_KEYS), uses.saturating_mul(size_of::<ApiKeyUse>()))
    }

    fn decide(&self, batch: &mut Batch) -> Result<(), Rejection> {
        let now = hour_of(batch.now());
        for &ApiKeyUse { app, key, hour } in &self.uses {
            let row = batch.rows.api_keys.get(&key).filter(|row| row.app == app);
            // The clock of the replica that noticed the use may be ahead.
            let hour = Some(hour.min(now));
            if let Some(row) = row.filter(|row| row.last_used < hour) {
                let used = ApiKeyRow { last_used: hour, ..row.clone() };
                batch.rows.api_keys.update(used);
            }
        }
        Ok(())
    }
}
