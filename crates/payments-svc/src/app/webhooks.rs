//! The endpoints of apps.

use super::{error::Error, payments::Payments};
use crate::{
    domain::{
        Delivery, DeliveryAttempt, Id, InvalidWebhookUrl, Webhook, WebhookDetails, WebhookSecret,
        WebhookUpdate, WebhookUrl,
        actions::{CreateWebhook, DeleteWebhook, ReplayWebhook, RotateWebhook, UpdateWebhook},
        write::{Answer, KeyedRequest},
    },
    webhook::Message,
};

impl Payments {
    /// Reads the address of an endpoint. The settings decide which ones are allowed.
    pub(crate) fn webhook_url(&self, text: &str) -> Result<WebhookUrl, InvalidWebhookUrl> {
        self.sender.url(text)
    }

    pub(crate) async fn create_webhook(
        &self,
        app: Id,
        details: WebhookDetails,
        secret: WebhookSecret,
        keyed: Option<KeyedRequest>,
    ) -> Result<Answer, Error> {
        let details = Box::new(details);
        self.write(CreateWebhook { app, details, secret }, keyed).await
    }

    pub(crate) async fn update_webhook(
        &self,
        &Webhook { id, app, .. }: &Webhook,
        update: WebhookUpdate,
    ) -> Result<(), Error> {
        let update = Box::new(update);
        self.write(UpdateWebhook { app, webhook: id, update }, None).await.map(drop)
    }

    pub(crate) async fn rotate_webhook(
        &self,
        &Webhook { id, app, .. }: &Webhook,
        secret: WebhookSecret,
        keyed: Option<KeyedRequest>,
    ) -> Result<Answer, Error> {
        self.write(RotateWebhook { app, webhook: id, secret }, keyed).await
    }

    pub(crate) async fn delete_webhook(
        &self,
        &Webhook { id, app, .. }: &Webhook,
    ) -> Result<(), Error> {
        self.write(DeleteWebhook { app, webhook: id }, None).await.map(drop)
    }

    /// Sends all events after this one to the endpoint again.
    pub(crate) async fn replay_webhook(
        &self,
        &Webhook { id, app, .. }: &Webhook,
        after: Id,
    ) -> Result<(), Error> {
        self.write(ReplayWebhook { app, webhook: id, after }, None).await.map(drop)
    }

    /// The last attempts to deliver events to an endpoint, the newest first.
    pub(crate) async fn delivery_attempts(
        &self,
        webhook: Id,
    ) -> Result<Vec<DeliveryAttempt>, Error> {
        Ok(self.store.delivery_attempts(webhook).await?)
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
        Ok(self.sender.send(&webhook.details.url, (&secrets, now), message).await)
    }
}
