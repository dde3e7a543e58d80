use crate::{
    Id, LogKind, Webhook, WebhookSecret,
    write::{Action, Batch, Needs, Rejection, WEBHOOK_COST},
};

/// Give an endpoint a new secret. The old one also signs for a day.
#[derive(Debug)]
pub struct RotateWebhook {
    pub app: Id,
    pub webhook: Id,
    pub secret: WebhookSecret,
}

impl Action for RotateWebhook {
    type Outcome = Webhook;

    fn needs(&self, needs: &mut Needs) {
        needs.locked_apps.insert(self.app);
    }

    fn cost(&self) -> (usize, usize) {
        WEBHOOK_COST
    }

    fn decide(&self, batch: &mut Batch) -> Result<Webhook, Rejection> {
        let changed = batch.change_webhook(self.app, self.webhook, |row, _, now| {
            row.secrets.rotate(self.secret.clone(), now);
        })?;
        batch.log(self.app, LogKind::WebhookChanged, self.webhook);
        Ok(changed)
    }
}
