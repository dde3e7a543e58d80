//! Response bodies that several handlers share.

use axum::{
    http::{HeaderName, HeaderValue},
    response::{IntoResponse as _, Response},
};

mod api_key;
mod merchant;
mod transaction;
mod webhook;

pub(super) use api_key::NewApiKeyOutput;
pub(super) use merchant::{BankOutput, HeldOutput, MerchantOutput, MoneyOutput};
pub(super) use transaction::{TransactionOutput, body as transaction};
pub(super) use webhook::{WebhookOutput, response as webhook};

/// Marks the response to a repeat.
const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

/// The response to a write. `is_replayed`: to a repeat with its idempotency key.
pub(super) fn written(is_replayed: bool, response: Response) -> Response {
    if is_replayed {
        ([(REPLAYED, HeaderValue::from_static("true"))], response).into_response()
    } else {
        response
    }
}
