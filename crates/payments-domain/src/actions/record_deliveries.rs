use sql::group;

use crate::{
    DeliveryAttempt, DeliveryReport, MAX_WEBHOOKS, MailKind, Retry,
    write::{Action, AttemptRow, Batch, Needs, NoticeRow, ProgressRow, Rejection, RetryRow},
};

/// Record results of deliveries. Rejected if they are of another epoch.
#[derive(Debug)]
pub struct RecordDeliveries(pub Box<DeliveryReport>);

group! {
    #[derive(Debug)]
    pub struct DeliveriesRecorded {
        /// Whether the attempts have disabled the endpoint.
        disables_webhook: bool = "disables_webhook",
    }
}

impl Action for RecordDeliveries {
    type Outcome = DeliveriesRecorded;

    fn needs(&self, needs: &mut Needs) {
        needs.locked_apps.insert(self.0.app);
    }

    fn ids(&self) -> usize {
        self.0.attempts.len().saturating_add(1)
    }

    fn cost(&self) -> (usize, usize) {
        let DeliveryReport { retries, finished, attempts, .. } = &*self.0;
        let rows = [retries.len(), finished.len(), attempts.len()].into_iter().sum::<usize>();
        let bytes = rows.saturating_mul(size_of::<Retry>().max(size_of::<DeliveryAttempt>()));
        (rows.saturating_add(MAX_WEBHOOKS), bytes)
    }

    fn decide(&self, batch: &mut Batch) -> Result<DeliveriesRecorded, Rejection> {
        let report = &self.0;
        let DeliveryReport { app, webhook: id, epoch, .. } = **report;
        let (mut row, mut progress) = batch.webhook(app, id)?;
        if progress.epoch != epoch {
            return Err(Rejection::NotFound);
        }
        let is_current = progress.generation == report.generation;
        progress.epoch = epoch.saturating_add(1);
        progress.position = report.position;
        if is_current {
            progress.paused_until = report.paused_until;
        }
        for event in &report.finished {
            batch.rows.webhook_retries.delete((id, *event));
        }
        for retry in &report.retries {
            let failures = retry.failures.filter(|_| is_current);
            let (event, transaction) = (retry.event, retry.transaction);
            let row = RetryRow { webhook: id, event, transaction, failures };
            batch.rows.webhook_retries.replace(row);
        }
        for &attempt in &report.attempts {
            let number = progress.count_attempt();
            let row = AttemptRow { webhook: id, number, id: batch.id(), attempt };
            batch.rows.webhook_attempts.replace(row);
        }
        batch.rows.webhook_progress.update(ProgressRow { webhook: id, progress });
        let disables_webhook = report.disables.is_some() && is_current && row.disabled.is_none();
        if disables_webhook {
            row.disabled = report.disables;
            let (notice, kind) = (batch.id(), MailKind::Webhook);
            let (app, object) = (Some(row.app), Some(row.id));
            batch.rows.notices.insert(NoticeRow { id: notice, kind, merchant: None, app, object });
            batch.rows.webhooks.update(row);
        }
        Ok(DeliveriesRecorded { disables_webhook })
    }
}
