use crate::{
    Id, LogKind,
    write::{Action, Batch, Needs, Rejection, WEBHOOK_COST},
};

/// Delete an endpoint, with all that belongs to it.
#[derive(Debug)]
pub struct DeleteWebhook {
    pub app: Id,
    pub webhook: Id,
}

impl Action for DeleteWebhook {
    type Outcome = ();

    fn needs(&self, needs: &mut Needs) {
        needs.locked_apps.insert(self.app);
    }

    fn cost(&self) -> (usize, usize) {
        WEBHOOK_COST
    }

    fn decide(&self, batch: &mut Batch) -> Result<(), Rejection> {
        let id = self.webhook;
        batch.webhook(self.app, id)?;
        batch.rows.webhooks.delete(id);
        batch.rows.webhook_progress.delete(id);
        batch.rows.webhook_retries.retain(|(webhook, _)| *webhook != id);
        batch.rows.webhook_attempts.retain(|(webhook, _)| *webhook != id);
        batch.rows.retries_of_webhooks.delete(id);
        batch.rows.attempts_of_webhooks.delete(id);
        batch.log(self.app, LogKind::WebhookRemoved, id);
        Ok(())
    }
}
