use crate::{
    Id, Webhook,
    write::{Action, Batch, Needs, Rejection, WEBHOOK_COST},
};

/// Send all events after this one to an endpoint again.
#[derive(Debug)]
pub struct ReplayWebhook {
    pub app: Id,
    pub webhook: Id,
    pub after: Id,
}

impl Action for ReplayWebhook {
    type Outcome = Webhook;

    fn needs(&self, needs: &mut Needs) {
        needs.locked_apps.insert(self.app);
    }

    fn cost(&self) -> (usize, usize) {
        WEBHOOK_COST
    }

    fn decide(&self, batch: &mut Batch) -> Result<Webhook, Rejection> {
        batch.change_webhook(self.app, self.webhook, |_, progress, _| {
            progress.position = progress.position.min(self.after);
            progress.epoch = progress.epoch.saturating_add(1);
        })
    }
}
