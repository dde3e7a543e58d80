use crate::domain::{
    Id, WebhookUpdate,
    write::{Action, ActionResult, Batch, Needs, WEBHOOK_COST},
};

/// Change an endpoint.
#[derive(Debug)]
pub(crate) struct UpdateWebhook {
    pub(crate) app: Id,
    pub(crate) webhook: Id,
    pub(crate) update: Box<WebhookUpdate>,
}

impl Action for UpdateWebhook {
    fn needs(&self, needs: &mut Needs) {
        needs.locked_apps.insert(self.app);
    }

    fn cost(&self) -> (usize, usize) {
        WEBHOOK_COST
    }

    fn decide(&self, batch: &mut Batch) -> ActionResult {
        batch.change_webhook(self.app, self.webhook, |row, _, _| row.update(&self.update))
    }
}
