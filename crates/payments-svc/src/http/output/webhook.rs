//! The endpoints of apps in JSON.

use axum::{http::StatusCode, response::Response};
use jiff::Timestamp;
use payments_domain::{DisableReason, Id, Name, Webhook, WebhookSecret};
use serde::Serialize;

use super::written;
use crate::{
    app::Written,
    web::{as_date, as_text, envelope},
};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct WebhookOutput<'a> {
    #[serde(serialize_with = "as_text")]
    id: Id,
    url: &'a str,
    types: Vec<&'static str>,
    description: Option<&'a str>,
    #[serde(serialize_with = "as_date")]
    created: Timestamp,
    enabled: bool,
    disabled_reason: Option<&'static str>,
}

impl<'a> WebhookOutput<'a> {
    pub(in super::super) fn new(webhook: &'a Webhook) -> Self {
        let details = &webhook.details;
        Self {
            id: webhook.id,
            url: details.url.as_str(),
            types: details.types.names().collect(),
            description: details.description.as_ref().map(Name::as_str),
            created: webhook.created,
            enabled: webhook.disabled.is_none(),
            disabled_reason: webhook.disabled.map(DisableReason::name),
        }
    }
}

/// An endpoint with its new secret, which is null in the response to a repeat.
#[derive(Serialize)]
struct SecretOutput<'a> {
    #[serde(flatten)]
    webhook: WebhookOutput<'a>,
    secret: Option<&'a str>,
}

/// The response to the request that made the secret, or to a repeat.
pub(in super::super) fn response(webhook: &Written<Webhook>, secret: &WebhookSecret) -> Response {
    let Written { outcome, is_replayed } = webhook;
    let secret = secret.expose();
    let secret = (!is_replayed).then_some(secret.as_str());
    let output = SecretOutput { webhook: WebhookOutput::new(outcome), secret };
    written(*is_replayed, envelope(StatusCode::CREATED, "webhook", output))
}
