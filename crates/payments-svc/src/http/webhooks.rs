//! `POST /webhooks`, and the endpoints of the calling app.

use std::sync::Arc;

use axum::{
    extract::State,
    http::StatusCode,
    response::{IntoResponse as _, Response},
};
use jiff::Timestamp;
use payments_domain::{
    Actor, Delivery, DeliveryAttempt, DeliveryOutcome, EventTypes, Id, Name, Webhook,
    WebhookDetails, WebhookSecret, WebhookUpdate,
    actions::{CreateWebhook, DeleteWebhook, ReplayWebhook, RotateWebhook, UpdateWebhook},
    write::AttemptRow,
};
use serde::Serialize;

use super::{
    access::{Caller, Permitted},
    api::Api,
    idempotency::Once,
    list::{self, Query},
    output::{self, WebhookOutput},
};
use crate::web::{
    Body, Error, Fields, Reported, as_date, as_optional_date, as_text, envelope, json::test_message,
};

/// Creates an endpoint. The response is the only place where its secret appears. A repeat with the
/// same idempotency key does not show it.
pub(super) async fn create(Caller(caller): Caller, request: Once) -> Result<Response, Error> {
    let secret = WebhookSecret::new(rand::random());
    let created = request.write(caller.access(None), |body| {
        let details = body.read(|fields| {
            let url = fields.required("url", |text| request.payments.webhook_url(text));
            let types = types(fields);
            let description = fields.optional("description", Name::new);
            let types = types?.unwrap_or_default();
            Ok(WebhookDetails { url: url?, types, description: description? })
        });
        let (details, secret) = (Box::new(details?), secret.clone());
        Ok(CreateWebhook { app: caller.app.id, details, secret })
    });
    Ok(output::webhook(&created.await?, &secret))
}

fn types(fields: &mut Fields<'_>) -> Result<Option<EventTypes>, Reported> {
    fields.texts("types", str::parse)
}

pub(super) async fn list(Caller(caller): Caller, query: Query) -> Result<Response, Error> {
    query.answer(query.payments.webhooks(caller.app.id)).await
}

pub(super) async fn get(webhook: Permitted<Webhook>) -> Response {
    envelope(StatusCode::OK, "webhook", WebhookOutput::new(&webhook.resource))
}

/// JSON members of an endpoint that `PUT` must not change.
const IMMUTABLE: [&str; 4] = ["id", "created", "disabledReason", "secret"];

/// Changes an endpoint. Absent members keep their values.
pub(super) async fn update(
    State(api): State<Arc<Api>>,
    webhook: Permitted<Webhook>,
    body: Body,
) -> Result<StatusCode, Error> {
    let update = body.read(|fields| {
        let url = fields.optional("url", |text| api.payments.webhook_url(text));
        let types = types(fields);
        let description = fields.optional("description", Name::new);
        let enabled = fields.flag("enabled");
        fields.reject(IMMUTABLE, "cannot be changed");
        let (url, types) = (url?, types?);
        Ok(WebhookUpdate { url, types, description: description?, enabled: enabled? })
    })?;
    let Permitted { caller, resource: Webhook { id: webhook, app, .. } } = webhook;
    let update = Box::new(update);
    api.payments.write(caller.access(None), UpdateWebhook { app, webhook, update }).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(super) async fn delete(
    State(api): State<Arc<Api>>,
    webhook: Permitted<Webhook>,
) -> Result<StatusCode, Error> {
    let Webhook { id: webhook, app, .. } = webhook.resource;
    api.payments.write(Actor::app(app), DeleteWebhook { app, webhook }).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Replaces the secret. As in [`create`], only this response shows it.
pub(super) async fn rotate(webhook: Permitted<Webhook>, request: Once) -> Result<Response, Error> {
    let secret = WebhookSecret::new(rand::random());
    let Permitted { caller, resource: Webhook { id: webhook, app, .. } } = webhook;
    let rotated = request.write(caller.access(None), |body| {
        body.read(|_| Ok(()))?;
        Ok(RotateWebhook { app, webhook, secret: secret.clone() })
    });
    Ok(output::webhook(&rotated.await?, &secret))
}

/// Sends all events after the given one again. Events that are not kept any more are left out.
pub(super) async fn replay(webhook: Permitted<Webhook>, request: Once) -> Result<Response, Error> {
    let Permitted { caller, resource: Webhook { id: webhook, app, .. } } = webhook;
    let replayed = request.write(caller.access(None), |body| {
        let after = body.read(|fields| fields.required("after", str::parse))?;
        Ok(ReplayWebhook { app, webhook, after })
    });
    let is_replayed = replayed.await?.is_replayed;
    Ok(output::written(is_replayed, StatusCode::NO_CONTENT.into_response()))
}

/// The last attempts, in the order in which they were recorded.
pub(super) async fn deliveries(
    webhook: Permitted<Webhook>,
    query: Query,
) -> Result<Response, Error> {
    query.answer(query.payments.deliveries(webhook.resource.id)).await
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct AttemptOutput {
    #[serde(serialize_with = "as_text")]
    id: Id,
    #[serde(serialize_with = "as_text")]
    event_id: Id,
    #[serde(serialize_with = "as_date")]
    created: Timestamp,
    #[serde(flatten)]
    delivery: DeliveryOutput,
    /// `None` if there is none: the event is delivered, or the webhook is disabled.
    #[serde(serialize_with = "as_optional_date")]
    next_attempt: Option<Timestamp>,
}

impl AttemptOutput {
    fn new(row: &AttemptRow) -> Self {
        let DeliveryAttempt { event, created, delivery, next } = row.attempt;
        let delivery = DeliveryOutput::new(delivery);
        Self { id: row.id, event_id: event, created, delivery, next_attempt: next }
    }
}

/// Sends a test message to an endpoint, once, and returns what came of it. A disabled endpoint is
/// tested, too.
pub(super) async fn test(
    State(api): State<Arc<Api>>,
    webhook: Permitted<Webhook>,
    body: Body,
) -> Result<Response, Error> {
    body.read(|_| Ok(()))?;
    let delivery = api.payments.test_webhook(&webhook.resource, test_message()).await?;
    Ok(envelope(StatusCode::OK, "delivery", DeliveryOutput::new(delivery)))
}

#[derive(Serialize)]
struct DeliveryOutput {
    outcome: &'static str,
    /// The status of the answer, if there was one.
    status: Option<u16>,
    /// In milliseconds.
    duration: u128,
}

impl DeliveryOutput {
    fn new(Delivery { outcome, duration }: Delivery) -> Self {
        let status = DeliveryOutcome::status(outcome);
        Self { outcome: outcome.name(), status, duration: duration.as_millis() }
    }
}

list::item!(Webhook, WebhookOutput::new);
list::item!(AttemptRow, AttemptOutput::new);
