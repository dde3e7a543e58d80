//! Transactions: recurring payments, captures, refunds and voids.

use std::sync::Arc;

use axum::{
    http::StatusCode,
    response::Response,
    routing::{MethodRouter, post},
};
use jiff::{RoundMode, Timestamp, TimestampRound, Unit, civil::Date, tz::TimeZone};
use payments_domain::{Amount, Currency, Descriptor, Merchant, ReferenceDigest, is_last4};

use super::{
    access::{LoadedTransaction, Permitted, TransactionJson},
    api::Api,
    idempotency::Once,
    list::{Query, UNKNOWN},
    output,
};
use crate::{
    app::{MovementInput, Range, RecurringPayment, StoredCard, TransactionFilter, Written},
    web::{Error, Fields, Reported, json},
};

pub(super) async fn list(merchant: Permitted<Merchant>, query: Query) -> Result<Response, Error> {
    let (page_query, filter) = query.read(filter)?;
    let transactions = query.payments.transactions(merchant.resource.id, filter);
    query.page(page_query, transactions).await
}

fn filter(filter: &mut Fields<'_>) -> Result<TransactionFilter, Reported> {
    let successful = filter.flag("successful");
    let reference = filter.given("reference", |text| Ok::<_, String>(ReferenceDigest::of(text)));
    let last4 = filter.given("last4", last4);
    let amount = filter.optional_number("amount", Amount::new);
    let currency = filter.given("currency", Currency::current_or_former);
    let mut created = filter.object("created");
    let (from, to) = (created.given("from", moment), created.given("to", moment));
    created.reject_rest(UNKNOWN);
    let (successful, reference, last4) = (successful?, reference?, last4?);
    let (amount, currency, created) = (amount?, currency?, Range { from: from?, to: to? });
    Ok(TransactionFilter { successful, reference, last4, amount, state: None, currency, created })
}

fn last4(text: &str) -> Result<String, &'static str> {
    is_last4(text).then(|| text.to_owned()).ok_or("must be 4 digits")
}

/// Reads a time, or the beginning of a day in UTC. Stored times have milliseconds. So a time between
/// two of them counts as the second one: it is after the first.
fn moment(text: &str) -> Result<Timestamp, &'static str> {
    let day = text.parse::<Date>().ok().filter(|day| day.to_string() == text);
    let time = match day {
        Some(day) => day.to_zoned(TimeZone::UTC).ok().map(|day| day.timestamp()),
        None => text.parse().ok(),
    };
    let up = TimestampRound::new().smallest(Unit::Millisecond).mode(RoundMode::Ceil);
    let time = time.and_then(|time: Timestamp| time.round(up).ok());
    time.ok_or("must be a time in RFC 3339, such as 2026-11-21T10:14:42Z, or a day: 2026-11-21")
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
    let paid = request.run(merchant.caller.app.id, async |keyed| {
        let payment = request.body.read(payment)?;
        let actor = merchant.caller.app.actor();
        request.payments.pay_recurring(&merchant.resource, payment, actor, keyed).await
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
        let keyed = request.keyed(caller.id)?;
        let read = || request.body.read(read);
        let moved = request.payments.move_once(caller.actor(), keyed, snapshot, read).await?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_a_time_or_a_day() {
        for (text, expected) in [
            ("2026-11-21T10:14:42Z", "2026-11-21T10:14:42Z"),
            ("2026-11-21T10:14:42.123Z", "2026-11-21T10:14:42.123Z"),
            ("2026-11-21T10:14:42.1230001Z", "2026-11-21T10:14:42.124Z"),
            ("2026-11-21T10:14:42+05:30", "2026-11-21T04:44:42Z"),
            ("2026-11-21t10:14:42z", "2026-11-21T10:14:42Z"),
            ("2026-11-21", "2026-11-21T00:00:00Z"),
            ("2024-02-29", "2024-02-29T00:00:00Z"),
            ("1970-01-01", "1970-01-01T00:00:00Z"),
        ] {
            assert_eq!(moment(text).unwrap(), expected.parse().unwrap(), "{text}");
        }
        for bad in [
            "",
            "x",
            "2026-11",
            "20261121",
            "2026-02-29",
            "2026-11-21 ",
            "2026-11-21T10:14:42",
            "2026-11-21T10:14:42 05:30",
            "2026-11-21T25:00:00Z",
            "1763720082",
        ] {
            assert!(moment(bad).is_err(), "{bad}");
        }
    }
}
