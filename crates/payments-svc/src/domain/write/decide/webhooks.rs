//! The endpoints of apps, and the deliveries to them.

use jiff::Timestamp;

use super::{ActionResult, Batch, done};
use crate::domain::{
    DeliveryReport, DisableReason, Id, MAX_WEBHOOKS, Progress, Webhook, WebhookDetails,
    WebhookSecret, WebhookSecrets,
    write::{AttemptRow, Outcome, ProgressRow, Rejection, RetriesOfWebhook, RetryRow, WebhookRow},
};

impl Batch {
    pub(super) fn create_webhook(
        &mut self,
        app: Id,
        details: &WebhookDetails,
        secret: &WebhookSecret,
    ) -> ActionResult {
        self.rows.apps.get(&app).ok_or(Rejection::NotFound)?;
        if self.rows.webhooks.iter().filter(|row| row.app == app).count() >= MAX_WEBHOOKS {
            return Err(Rejection::TooManyWebhooks);
        }
        let (id, created) = (self.id(), self.known.now);
        let webhook = Webhook { id, app, created, details: details.clone(), disabled: None };
        let secrets = WebhookSecrets { current: secret.clone(), previous: None };
        self.rows.webhooks.insert(WebhookRow::new(webhook.clone(), secrets));
        let progress = Progress::new(id);
        self.rows.webhook_progress.insert(ProgressRow { webhook: id, progress });
        done(Outcome::Webhook(Box::new(webhook)))
    }

    /// Changes an endpoint of the app with `change`, which also gets its progress and the time of
    /// the batch. The deliveries start again: a change can be the reason that they succeed.
    pub(super) fn change_webhook(
        &mut self,
        app: Id,
        id: Id,
        change: impl FnOnce(&mut WebhookRow, &mut Progress, Timestamp),
    ) -> ActionResult {
        let (mut row, mut progress) = self.webhook(app, id)?;
        change(&mut row, &mut progress, self.known.now);
        progress.generation = progress.generation.saturating_add(1);
        self.rows.retries_of_webhooks.update(RetriesOfWebhook { webhook: id, failures: None });
        self.rows.webhook_retries.update_new(|row| {
            if row.webhook == id {
                row.failures = None;
            }
        });
        self.rows.webhook_progress.update(ProgressRow { webhook: id, progress });
        let webhook = row.webhook();
        self.rows.webhooks.update(row);
        done(Outcome::Webhook(Box::new(webhook)))
    }

    pub(super) fn delete_webhook(&mut self, app: Id, id: Id) -> ActionResult {
        self.webhook(app, id)?;
        self.rows.webhooks.delete(id);
        self.rows.webhook_progress.delete(id);
        self.rows.webhook_retries.retain(|(webhook, _)| *webhook != id);
        self.rows.webhook_attempts.retain(|(webhook, _)| *webhook != id);
        self.rows.retries_of_webhooks.delete(id);
        self.rows.attempts_of_webhooks.delete(id);
        done(Outcome::Done)
    }

    pub(super) fn record_deliveries(&mut self, report: &DeliveryReport) -> ActionResult {
        let DeliveryReport { app, webhook: id, epoch, .. } = *report;
        let (mut row, mut progress) = self.webhook(app, id)?;
        if progress.epoch != epoch {
            return Err(Rejection::NotFound);
        }
        let is_current = progress.generation == report.generation;
        progress.epoch = epoch.saturating_add(1);
        progress.position = report.position;
        for event in &report.finished {
            self.rows.webhook_retries.delete((id, *event));
        }
        for retry in &report.retries {
            let failures = retry.failures.filter(|_| is_current);
            let (event, transaction) = (retry.event, retry.transaction);
            let row = RetryRow { webhook: id, event, transaction, failures };
            self.rows.webhook_retries.replace(row);
        }
        for &attempt in &report.attempts {
            let number = progress.count_attempt();
            self.rows.webhook_attempts.replace(AttemptRow { webhook: id, number, attempt });
        }
        self.rows.webhook_progress.update(ProgressRow { webhook: id, progress });
        if report.gives_up && is_current && row.disabled.is_none() {
            row.disabled = Some(DisableReason::Failures);
            let webhook = row.webhook();
            self.rows.webhooks.update(row);
            return done(Outcome::Webhook(Box::new(webhook)));
        }
        done(Outcome::Done)
    }

    fn webhook(&self, app: Id, id: Id) -> Result<(WebhookRow, Progress), Rejection> {
        let row = self.rows.webhooks.get(&id).filter(|row| row.app == app);
        let progress = self.rows.webhook_progress.get(&id);
        let found = row.zip(progress).ok_or(Rejection::NotFound)?;
        Ok((found.0.clone(), found.1.progress))
    }
}
