//! The endpoints of apps.

use payments_domain::{Delivery, InvalidWebhookUrl, Webhook, WebhookUrl};

use super::{error::Error, payments::Payments};
use crate::webhook::Message;

impl Payments {
    /// Reads the address of an endpoint. The settings decide which ones are allowed.
    pub(crate) fn webhook_url(&self, text: &str) -> Result<WebhookUrl, InvalidWebhookUrl> {
        self.sender.url(text)
    }

    /// Sends a message that is no event to an endpoint, once.
    pub(crate) async fn test_webhook(
        &self,
        webhook: &Webhook,
        message: Message,
    ) -> Result<Delivery, Error> {
        self.limits.count_webhook_test(webhook.app)?;
        let _permit = self.limits.webhook_test().ok_or(Error::Overloaded)?;
        let signing = self.store.webhook_secrets(webhook.id).await?;
        let (secrets, now) = signing.ok_or(Error::NotFound)?;
        let attempt = self.sender.send(&webhook.details.url, (&secrets, now), message).await;
        Ok(attempt.delivery)
    }
}
