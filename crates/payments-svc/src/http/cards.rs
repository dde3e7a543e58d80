//! Saving and reading the cards of a merchant (deprecated).

use axum::{http::StatusCode, response::Response};
use jiff::Timestamp;
use payments_domain::{Id, Merchant, Notes, SavedCard};
use serde::Serialize;

use super::{access::Permitted, idempotency::Once, output};
use crate::{
    app::Written,
    web::{Error, as_date, as_text, envelope, json},
};

/// Saves the card of a transaction.
pub(super) async fn create(
    merchant: Permitted<Merchant>,
    request: Once,
) -> Result<Response, Error> {
    let saved = request.run(merchant.caller.app.id, async |keyed| {
        let (transaction, notes) = request.body.read(|fields| {
            let transaction = fields.required("transactionId", str::parse);
            let notes = fields.optional("notes", Notes::new);
            Ok((transaction?, notes?))
        })?;
        let (actor, merchant) = (merchant.caller.app.actor(), merchant.resource.id);
        request.payments.save_card(merchant, transaction, notes, actor, keyed).await
    });
    let Written { outcome: card, is_replayed } = saved.await?;
    Ok(output::written(is_replayed, json::saved(card.id)))
}

pub(super) async fn get(card: Permitted<SavedCard>) -> Response {
    envelope(StatusCode::OK, "card", CardOutput::new(&card.resource))
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CardOutput<'a> {
    #[serde(serialize_with = "as_text")]
    id: Id,
    #[serde(serialize_with = "as_text")]
    merchant_id: Id,
    #[serde(serialize_with = "as_date")]
    created: Timestamp,
    bin: Option<&'a str>,
    last4: &'a str,
    scheme: Option<&'static str>,
    #[serde(serialize_with = "as_date")]
    expiry: Timestamp,
    notes: Option<&'a str>,
    /// Always null: cards are never deleted.
    deleted: Option<bool>,
}

impl<'a> CardOutput<'a> {
    fn new(saved: &'a SavedCard) -> Self {
        Self {
            id: saved.id,
            merchant_id: saved.merchant,
            created: saved.created,
            bin: saved.card.known_bin(),
            last4: &saved.card.last4,
            scheme: saved.card.scheme.public_name(),
            expiry: saved.card.expiry.end(),
            notes: saved.notes.as_deref(),
            deleted: None,
        }
    }
}
