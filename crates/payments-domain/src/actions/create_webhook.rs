use crate::{
    Id, LogKind, MAX_WEBHOOKS, Progress, Webhook, WebhookDetails, WebhookSecret, WebhookSecrets,
    write::{Action, Batch, Needs, ProgressRow, Rejection, WEBHOOK_COST, WebhookRow},
};

/// Create an endpoint of an app.
#[derive(Debug)]
pub struct CreateWebhook {
    pub app: Id,
    pub details: Box<WebhookDetails>,
    pub secret: WebhookSecret,
}

impl Action for CreateWebhook {
    type Outcome = Webhook;

    fn needs(&self, needs: &mut Needs) {
        needs.locked_apps.insert(self.app);
    }

    fn cost(&self) -> (usize, usize) {
        WEBHOOK_COST
    }

    fn decide(&self, batch: &mut Batch) -> Result<Webhook, Rejection> {
        let app = self.app;
        batch.rows.apps.get(&app).ok_or(Rejection::NotFound)?;
        if batch.rows.webhooks.iter().filter(|row| row.app == app).count() >= MAX_WEBHOOKS {
            return Err(Rejection::TooManyWebhooks);
        }
        let (id, created, details) = (batch.id(), batch.now(), (*self.details).clone());
        let webhook = Webhook { id, app, created, details, disabled: None };
        let secrets = WebhookSecrets { current: self.secret.clone(), previous: None };
        batch.rows.webhooks.insert(WebhookRow::new(webhook.clone(), secrets));
        let progress = Progress::new(id);
        batch.rows.webhook_progress.insert(ProgressRow { webhook: id, progress });
        batch.log(app, LogKind::WebhookCreated, id);
        Ok(webhook)
    }
}
