//! What a client is told of a write: the same whether it was done now or before.

use axum::{
    http::{HeaderName, HeaderValue, StatusCode},
    response::{IntoResponse as _, Response},
};

use crate::{
    app::{Payments, View, Written},
    web::{json, one},
};

mod merchant;
mod transaction;

pub(super) use merchant::{MerchantOutput, MoneyOutput};
pub(super) use transaction::response as transaction;

/// Says that the answer is one from before.
const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

/// The response to a write, which an idempotency key may have spared.
pub(super) async fn response(
    payments: &Payments,
    Written { view, is_replayed }: Written,
) -> Response {
    let created = StatusCode::CREATED;
    let response = match view {
        View::Nothing => created.into_response(),
        View::Merchant(merchant) => one(created, "merchant", MerchantOutput::new(&merchant)),
        View::Membership { already } => one(created, "isMember", already),
        View::Paid(paid) => json::paid(paid),
        View::Card(id) => json::saved(id),
        View::Transaction(transaction) => {
            transaction::response(payments, created, *transaction).await
        }
    };
    if is_replayed {
        ([(REPLAYED, HeaderValue::from_static("true"))], response).into_response()
    } else {
        response
    }
}
