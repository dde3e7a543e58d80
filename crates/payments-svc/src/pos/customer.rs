//! `POST /transactions` and `POST /cards`: what a shop's own page sends for its customers.

use std::sync::Arc;

use axum::{extract::State, response::Response};
use common::limits::ClientAddress;

use crate::{
    acquirer::Source,
    domain::{
        Amount, CardDetails, CardNumber, Currency, Custom, Descriptor, Expiry, Merchant, Notes,
        Original, Payment, SecurityCode, Verdict, write::Action,
    },
    http::{
        Api, answer,
        body::Body,
        error::Error,
        fields::{Fields, Noted},
    },
    payments::{Attempt, Charge, Origin},
};

/// A payment by a customer.
struct PayInput {
    key: String,
    currency: Currency,
    amount: Amount,
    card: CardDetails,
    descriptor: Option<Descriptor>,
    custom: Option<Custom>,
}

/// Pays with a card that a customer typed in.
pub(super) async fn pay(
    State(api): State<Arc<Api>>,
    address: ClientAddress,
    body: Body,
) -> Result<Response, Error> {
    let input = body.read(pay_input);
    body.wipe();
    let PayInput { key, currency, amount, card, descriptor, custom } = input?;
    let merchant = merchant(&api, &key, address).await?;
    api.exchanges(currency, &merchant.terms()).map_err(|error| Error::field("currency", error))?;
    let payment = Payment {
        merchant: merchant.id,
        currency,
        amount,
        descriptor: descriptor.unwrap_or(merchant.details.descriptor),
        custom,
        recurring: false,
    };
    let test = merchant.details.test;
    let (kept, source) = (card.kept(), Source::Card(card));
    let charge =
        Charge { payment, card: kept, source, test, origin: Origin::Transactions(address) };
    answer::response(&api.store, api.payments.pay(charge, None).await?).await
}

fn pay_input(fields: &mut Fields<'_>) -> Result<PayInput, Noted> {
    let key = fields.required("key", str::parse);
    let currency = fields.required("currency", str::parse);
    let amount = fields.required_number("amount", Amount::new);
    let card = card(fields);
    let descriptor = fields.optional_or_blank("descriptor", Descriptor::new);
    let custom = custom(fields);
    Ok(PayInput {
        key: key?,
        currency: currency?,
        amount: amount?,
        card: card?,
        descriptor: descriptor?,
        custom: custom?,
    })
}

/// The merchant's own data, with what a payment link says beside it.
fn custom(fields: &mut Fields<'_>) -> Result<Option<Custom>, Noted> {
    let mut custom = fields.custom("custom")?;
    for name in ["text", "reference"] {
        if let Some(text) = fields.optional(name, str::parse::<String>)? {
            let with = Custom::with(custom, name, &text);
            custom = Some(with.map_err(|error| fields.note(name, error.to_string()))?);
        }
    }
    Ok(custom)
}

fn card(fields: &mut Fields<'_>) -> Result<CardDetails, Noted> {
    let mut card = fields.object("card");
    let number = card.required("number", CardNumber::new);
    let code = card.required("code", SecurityCode::new);
    let mut expiry = card.object("expiry");
    let month = expiry.required_number("month", Expiry::month);
    let year = expiry.required_number("year", Expiry::year);
    Ok(CardDetails { number: number?, expiry: Expiry::new(year?, month?), code: code? })
}

/// The merchant with this public key, at which an attempt is counted. An unknown key counts as that
/// of a live merchant.
async fn merchant(api: &Api, key: &str, address: ClientAddress) -> Result<Merchant, Error> {
    api.limits.may_attempt(address)?;
    let merchant = api.store.merchant_by_key(key).await?;
    let is_test = merchant.as_ref().is_some_and(|merchant| merchant.details.test);
    api.limits.attempt(is_test, address)?;
    merchant.ok_or_else(|| Error::field("key", "is not the public key of a merchant"))
}

/// Keeps a card that a customer typed in (deprecated).
pub(super) async fn save(
    State(api): State<Arc<Api>>,
    address: ClientAddress,
    body: Body,
) -> Result<Response, Error> {
    let input = body.read(|fields| {
        let key = fields.required("key", str::parse);
        let card = card(fields);
        let notes = fields.optional("notes", Notes::new);
        Ok::<(String, _, _), _>((key?, card?, notes?))
    });
    body.wipe();
    let (key, card, notes) = input?;
    let merchant = merchant(&api, &key, address).await?;
    let kept = card.kept();
    let (merchant, test) = (merchant.id, merchant.details.test);
    let attempt = Attempt { merchant, test, origin: Origin::Cards(address) };
    match api.payments.verify(attempt, card).await? {
        Verdict::Declined(error) => Ok(answer::refusal(error.generalized())),
        Verdict::Approved { reference, .. } => {
            let original = Box::new(Original { card: kept, reference });
            let action = Action::SaveCard { merchant, original, notes };
            answer::response(&api.store, api.store.write(action).await??).await
        }
    }
}
