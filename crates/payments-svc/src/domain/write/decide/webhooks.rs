//! The endpoints of apps, and the deliveries to them.

use jiff::Timestamp;

use super::{ActionResult, Batch, done};
use crate::domain::{
    DeliveryReport, DisableReason, Id, MAX_WEBHOOKS, Progress, Retry, Webhook, WebhookDetails,
    WebhookSecret, WebhookSecrets,
    write::{
        DeliveryAttemptRow, Outcome, ProgressRow, Rejection, RetryRow, WebhookRow,
        known::WebhookState,
    },
};

impl Batch {
    pub(super) fn create_webhook(
        &mut self,
        app: Id,
        details: &WebhookDetails,
        secret: &WebhookSecret,
    ) -> ActionResult {
        let known = self.known.webhooks.get(&app).ok_or(Rejection::NotFound)?;
        if known.len() >= MAX_WEBHOOKS {
            return Err(Rejection::TooManyWebhooks);
        }
        let (id, created) = (self.id(), self.known.now);
        let webhook = Webhook { id, app, created, details: details.clone(), disabled: None };
        let secrets = WebhookSecrets { current: secret.clone(), previous: None };
        let state = WebhookState { webhook, secrets, progress: Progress::new(id) };
        self.set_progress(&state, true);
        self.set_webhook(state, true)
    }

    /// Changes an endpoint of the app with `change`, which also gets the time of the batch. The
    /// deliveries start again: a change can be the reason that they succeed.
    pub(super) fn change_webhook(
        &mut self,
        app: Id,
        id: Id,
        change: impl FnOnce(&mut WebhookState, Timestamp),
    ) -> ActionResult {
        let mut state = self.webhook(app, id)?.clone();
        change(&mut state, self.known.now);
        state.progress.generation = state.progress.generation.saturating_add(1);
        self.changes.restarted_retries.insert(id);
        let retries = self.changes.retries.range_mut((id, Id::MIN)..=(id, Id::MAX));
        retries.for_each(|(_, row)| row.retry.failures = None);
        self.set_progress(&state, false);
        self.set_webhook(state, false)
    }

    pub(super) fn delete_webhook(&mut self, app: Id, id: Id) -> ActionResult {
        let known = self.known.webhooks.get_mut(&app).and_then(|known| known.remove(&id));
        known.ok_or(Rejection::NotFound)?;
        let changes = &mut self.changes;
        // A row that this batch inserts is not in the database.
        if changes.webhooks.remove(&id).is_none_or(|row| !row.is_new) {
            changes.deleted_webhooks.insert(id);
        }
        changes.webhook_progress.remove(&id);
        changes.restarted_retries.remove(&id);
        changes.retries.retain(|(webhook, _), _| *webhook != id);
        changes.finished_retries.retain(|(webhook, _)| *webhook != id);
        changes.delivery_attempts.retain(|(webhook, _), _| *webhook != id);
        done(Outcome::Done)
    }

    pub(super) fn record_deliveries(&mut self, report: &DeliveryReport) -> ActionResult {
        let DeliveryReport { app, webhook: id, epoch, .. } = *report;
        let mut state = self.webhook(app, id)?.clone();
        if state.progress.epoch != epoch {
            return Err(Rejection::NotFound);
        }
        let is_current = state.progress.generation == report.generation;
        state.progress.epoch = epoch.saturating_add(1);
        state.progress.position = report.position;
        for event in &report.finished {
            self.changes.retries.remove(&(id, *event));
            self.changes.finished_retries.insert((id, *event));
        }
        for retry in &report.retries {
            let failures = retry.failures.filter(|_| is_current);
            let row = RetryRow { webhook: id, retry: Retry { failures, ..*retry } };
            self.changes.retries.insert((id, retry.event), row);
            self.changes.finished_retries.insert((id, retry.event));
        }
        for attempt in &report.attempts {
            let number = state.progress.count_attempt();
            let row = DeliveryAttemptRow { webhook: id, number, attempt: *attempt };
            self.changes.delivery_attempts.insert((id, number), row);
        }
        self.set_progress(&state, false);
        if report.gives_up && is_current && state.webhook.disabled.is_none() {
            state.webhook.disabled = Some(DisableReason::Failures);
            return self.set_webhook(state, false);
        }
        self.known.webhooks.entry(app).or_default().insert(id, state);
        done(Outcome::Done)
    }

    fn webhook(&self, app: Id, id: Id) -> Result<&WebhookState, Rejection> {
        let known = self.known.webhooks.get(&app).and_then(|known| known.get(&id));
        known.ok_or(Rejection::NotFound)
    }

    fn set_progress(&mut self, state: &WebhookState, is_new: bool) {
        let (webhook, progress) = (state.webhook.id, state.progress);
        let changed = self.changes.webhook_progress.get(&webhook);
        let is_new = is_new || changed.is_some_and(|row| row.is_new);
        self.changes.webhook_progress.insert(webhook, ProgressRow { webhook, progress, is_new });
    }

    fn set_webhook(&mut self, state: WebhookState, is_new: bool) -> ActionResult {
        let WebhookState { webhook, secrets, .. } = state.clone();
        let outcome = Outcome::Webhook(Box::new(webhook.clone()));
        self.known.webhooks.entry(webhook.app).or_default().insert(webhook.id, state);
        let changed = self.changes.webhooks.get(&webhook.id);
        let is_new = is_new || changed.is_some_and(|row| row.is_new);
        self.changes.webhooks.insert(webhook.id, WebhookRow { webhook, secrets, is_new });
        done(outcome)
    }
}
