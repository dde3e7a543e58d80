//! Response bodies that several handlers share. The first request and a repeat with its idempotency
//! key use the same code, so their responses cannot differ. One difference is intended: a repeat
//! shows no new API key, because nothing keeps it.

use axum::{
    http::{HeaderName, HeaderValue, StatusCode},
    response::{IntoResponse as _, Response},
};

use crate::{
    app::{Payments, View, WriteResult},
    web::{envelope, json},
};

mod api_key;
mod merchant;
mod transaction;
mod webhook;

use api_key::NewApiKeyOutput;
pub(super) use merchant::{MerchantOutput, MoneyOutput};
pub(super) use transaction::{TransactionOutput, body as transaction};
pub(super) use webhook::WebhookOutput;

/// Marks the response to a repeat.
const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

/// The response to a write, or to a repeat of it.
pub(super) async fn response(
    payments: &Payments,
    WriteResult { view, is_replayed }: WriteResult,
) -> Response {
    let created = StatusCode::CREATED;
    let response = match view {
        View::Nothing => created.into_response(),
        View::Merchant(merchant) => envelope(created, "merchant", MerchantOutput::new(&merchant)),
        View::Membership { already } => envelope(created, "isMember", already),
        View::Paid(paid) => json::paid(paid),
        View::Card(id) => json::saved(id),
        View::Webhook { webhook, secret } => webhook::response(created, &webhook, secret.as_ref()),
        View::ApiKey { details, key } => {
            envelope(created, "key", NewApiKeyOutput::new(&details, key.as_ref()))
        }
        View::LinkSecret(secret) => envelope(created, "linkSecret", secret.expose()),
        View::Transaction(transaction) => {
            let body = transaction::body(payments, *transaction).await;
            body.map(|json| json::response(created, json)).into_response()
        }
    };
    if is_replayed {
        ([(REPLAYED, HeaderValue::from_static("true"))], response).into_response()
    } else {
        response
    }
}
