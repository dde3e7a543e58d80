//! The endpoints of apps.

use jiff::Timestamp;

use super::{ActionResult, Batch, done};
use crate::domain::{
    Id, MAX_WEBHOOKS, Webhook, WebhookDetails, WebhookSecret, WebhookSecrets,
    write::{Outcome, Rejection, WebhookRow, known::WebhookState},
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
        self.set_webhook(WebhookState { webhook, secrets }, true)
    }

    /// Changes an endpoint of the app with `change`, which also gets the time of the batch.
    pub(super) fn change_webhook(
        &mut self,
        app: Id,
        id: Id,
        change: impl FnOnce(&mut WebhookState, Timestamp),
    ) -> ActionResult {
        let known = self.known.webhooks.get(&app).and_then(|known| known.get(&id));
        let mut state = known.ok_or(Rejection::NotFound)?.clone();
        change(&mut state, self.known.now);
        self.set_webhook(state, false)
    }

    pub(super) fn delete_webhook(&mut self, app: Id, id: Id) -> ActionResult {
        let known = self.known.webhooks.get_mut(&app).and_then(|known| known.remove(&id));
        known.ok_or(Rejection::NotFound)?;
        // A row that this batch inserts is not in the database.
        if self.changes.webhooks.remove(&id).is_none_or(|row| !row.is_new) {
            self.changes.deleted_webhooks.insert(id);
        }
        done(Outcome::Done)
    }

    fn set_webhook(&mut self, state: WebhookState, is_new: bool) -> ActionResult {
        let WebhookState { webhook, secrets } = state.clone();
        let outcome = Outcome::Webhook(Box::new(webhook.clone()));
        self.known.webhooks.entry(webhook.app).or_default().insert(webhook.id, state);
        let changed = self.changes.webhooks.get(&webhook.id);
        let is_new = is_new || changed.is_some_and(|row| row.is_new);
        self.changes.webhooks.insert(webhook.id, WebhookRow { webhook, secrets, is_new });
        done(outcome)
    }
}
