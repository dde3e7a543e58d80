//! Transactions: recurring payments, captures, refunds and voids.

use std::sync::Arc;

use axum::{
    http::StatusCode,
    response::Response,
    routing::{MethodRouter, post},
};
use payments_domain::{Amount, Currency, Descriptor, Merchant};

use super::{
    access::{LoadedTransaction, Permitted, TransactionJson},
    api::Api,
    idempotency::Once,
    list::Query,
    output,
};
use crate::{
    app::{MovementInput, RecurringPayment, StoredCard, Written},
    web::{Error, Fields, Reported, json},
};

pub(super) async fn list(merchant: Permitted<Merchant>, query: Query) -> Result<Response, Error> {
    let (page_query, successful) = query.read(|filter| filter.flag("successful"))?;
    let transactions = query.payments.transactions(merchant.resource.id, successful);
    query.page(page_query, transactions).await
}

pub(super) async fn get(TransactionJson(json): TransactionJson) -> Response {
    json::response(StatusCode::OK, json)
}

/// Pays with the card of an earlier transaction or a saved card. The specification calls these
/// requests variants A and B.
pub(super) async fn create(
    merchant: Permitted<Merchant>,
    request: Once,
) -> Result<Response, Error> {
    let paid = request.run(&merchant.caller, async |keyed| {
        let payment = request.body.read(payment)?;
        request.payments.pay_recurring(&merchant.resource, payment, keyed).await
    });
    let Written { outcome, is_replayed } = paid.await?;
    Ok(output::written(is_replayed, json::paid(outcome)))
}

fn payment(fields: &mut Fields<'_>) -> Result<RecurringPayment, Reported> {
    let card = card(fields);
    let descriptor = fields.optional_or_blank("descriptor", Descriptor::new);
    let currency = fields.required("currency", str::parse);
    let amount = fields.required_number("amount", Amount::new);
    let custom = fields.custom("custom");
    Ok(RecurringPayment {
        card: card?,
        descriptor: descriptor?,
        currency: currency?,
        amount: amount?,
        custom: custom?,
    })
}

/// Reads one of three members. Published clients send `false` for those that they do not use.
fn card(fields: &mut Fields<'_>) -> Result<StoredCard, Reported> {
    let transaction = fields.optional_or_false("transactionId", str::parse);
    let authorization = fields.optional_or_false("authorizationId", str::parse);
    let card = fields.optional_or_false("cardId", str::parse);
    match (transaction?, authorization?, card?) {
        (Some(id), None, None) => Ok(StoredCard::Transaction("transactionId", id)),
        (None, Some(id), None) => Ok(StoredCard::Transaction("authorizationId", id)),
        (None, None, Some(id)) => Ok(StoredCard::Saved(id)),
        (None, None, None) => Err(fields.report("transactionId", "is required")),
        _ => Err(fields.report(
            "transactionId",
            "only one of transactionId, authorizationId and cardId is allowed",
        )),
    }
}

/// The handler of captures, refunds and voids. `read` reads the request from the body.
pub(super) fn movement(
    read: fn(&mut Fields<'_>) -> Result<MovementInput, Reported>,
) -> MethodRouter<Arc<Api>> {
    post(async move |transaction: LoadedTransaction, request: Once| {
        let LoadedTransaction { caller, snapshot } = transaction;
        let keyed = request.keyed(&caller)?;
        let moved = request.payments.move_once(keyed, snapshot, || request.body.read(read)).await?;
        let json = output::transaction(&request.payments, moved.outcome).await?;
        let response = json::response(StatusCode::CREATED, json);
        Ok::<_, Error>(output::written(moved.is_replayed, response))
    })
}

/// Reads a capture of a part of the authorized amount, or all of it.
pub(super) fn capture(fields: &mut Fields<'_>) -> Result<MovementInput, Reported> {
    let amount = fields.required_number("amount", Amount::new);
    let currency = fields.optional("currency", Currency::current_or_former);
    let descriptor = fields.optional_or_blank("descriptor", Descriptor::new);
    Ok(MovementInput::Capture { amount: amount?, currency: currency?, descriptor: descriptor? })
}

/// Reads a refund of a part of the captured amount, or all of it.
pub(super) fn refund(fields: &mut Fields<'_>) -> Result<MovementInput, Reported> {
    let amount = fields.required_number("amount", Amount::new);
    let descriptor = fields.optional_or_blank("descriptor", Descriptor::new);
    Ok(MovementInput::Refund { amount: amount?, descriptor: descriptor? })
}

/// Reads a void of a part of the pending amount, or all of it.
pub(super) fn void(fields: &mut Fields<'_>) -> Result<MovementInput, Reported> {
    Ok(MovementInput::Void { amount: fields.required_number("amount", Amount::new)? })
}
