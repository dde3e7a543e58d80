use crate::{
    Id, LogKind, Webhook, WebhookUpdate,
    write::{Action, Batch, Needs, Rejection, WEBHOOK_COST},
};

/// Change an endpoint.
#[derive(Debug)]
pub struct UpdateWebhook {
    pub app: Id,
    pub webhook: Id,
    pub update: Box<WebhookUpdate>,
}

impl Action for UpdateWebhook {
    type Outcome = Webhook;

    fn needs(&self, needs: &mut Needs) {
        needs.locked_apps.insert(self.app);
    }

    fn cost(&self) -> (usize, usize) {
        WEBHOOK_COST
    }

    fn decide(&self, batch: &mut Batch) -> Result<Webhook, Rejection> {
        let changed =
            batch.change_webhook(self.app, self.webhook, |row, _, _| row.update(&self.update))?;
        batch.log(self.app, LogKind::WebhookChanged, self.webhook);
        Ok(changed)
    }
}
