//! `POST /transactions` and `POST /cards`: requests that a shop's own page sends from the browser
//! of a customer.

use std::sync::Arc;

use axum::{extract::State, response::Response};
use common::limits::ClientAddress;
use payments_domain::{
    AcquirerName, Amount, CardDetails, CardNumber, Currency, CustomData, Descriptor, Expiry,
    FieldError, Merchant, Notes, Payment, SecurityCode, link_text,
};

use super::settings::Settings;
use crate::{
    app::{self, Charge, Origin, Payments},
    web::{Body, Error, Fields, Reported, json},
};

struct PayInput {
    key: String,
    currency: Currency,
    amount: Amount,
    card: CardDetails,
    descriptor: Option<Descriptor>,
    custom: Option<CustomData>,
    keeps_card: bool,
}

/// Pays with a card that the customer typed.
pub(super) async fn pay(
    State(payments): State<Arc<Payments>>,
    State(settings): State<Arc<Settings>>,
    address: ClientAddress,
    body: Body,
) -> Result<Response, Error> {
    let input = body.read(pay_input);
    body.wipe();
    let PayInput { key, currency, amount, card, descriptor, custom, keeps_card } = input?;
    let merchant = payments.merchant_of_attempt(&key, address).await?;
    check_live(&card, &merchant, &settings)?;
    // A payment needs no exchange rate, but without one it could not be captured.
    let exchanges = payments.exchanges(currency, &merchant.terms());
    let _rates = exchanges.map_err(|error| app::Error::field("currency", error))?;
    let payment = Payment {
        merchant: merchant.id,
        currency,
        amount,
        descriptor: descriptor.unwrap_or_else(|| merchant.details.descriptor.clone()),
        custom,
        recurring: false,
        acquirer: payments.acquirer_of(&merchant),
    };
    let charge = Charge::typed(&merchant, payment, card, Origin::Transactions(address));
    let charge = Charge { keeps_card, ..charge };
    Ok(json::paid(payments.pay(charge, None).await?.outcome))
}

fn pay_input(fields: &mut Fields<'_>) -> Result<PayInput, Reported> {
    let key = fields.required("key", str::parse);
    let currency = fields.required("currency", str::parse);
    let amount = fields.required_number("amount", Amount::new);
    let card = card(fields);
    let descriptor = fields.optional_or_blank("descriptor", Descriptor::new);
    let custom = custom(fields);
    let keeps_card = fields.flag("recurring");
    Ok(PayInput {
        key: key?,
        currency: currency?,
        amount: amount?,
        card: card?,
        descriptor: descriptor?,
        custom: custom?,
        keeps_card: keeps_card?.unwrap_or(false),
    })
}

/// Reads the custom data, and adds the members `text` and `reference` to it, as a payment link
/// does.
fn custom(fields: &mut Fields<'_>) -> Result<Option<CustomData>, Reported> {
    let custom = fields.custom("custom");
    let texts = ["text", "reference"].map(|name| (name, fields.optional(name, link_text)));
    let mut custom = custom?;
    for (name, text) in texts {
        if let Some(text) = text? {
            let with = CustomData::with(custom, name, &text);
            custom = Some(with.map_err(|error| fields.report(name, error.to_string()))?);
        }
    }
    Ok(custom)
}

fn card(fields: &mut Fields<'_>) -> Result<CardDetails, Reported> {
    let mut card = fields.object("card");
    let number = card.required("number", CardNumber::new);
    let code = card.required("code", SecurityCode::new);
    let mut expiry = card.object("expiry");
    let month = expiry.required_number("month", Expiry::month);
    let year = expiry.required_number("year", Expiry::year);
    Ok(CardDetails { number: number?, expiry: Expiry::new(year?, month?), code: code? })
}

/// Rejects a card of a live merchant that no bank can have issued, and every card if only the
/// acquirer's script may read cards. Nothing is sent to the acquirer.
fn check_live(
    card: &CardDetails,
    merchant: &Merchant,
    settings: &Settings,
) -> Result<(), app::Error> {
    if merchant.details.test {
        return Ok(());
    }
    if settings.tokenizer.is_some() {
        let refused = "card numbers are not accepted here: use the payment page";
        return Err(app::Error::field("card", refused));
    }
    let number = (!card.number.is_plausible(false)).then(|| {
        FieldError::new("card.number", "has a wrong length or check digit: correct the number")
    });
    let code = (!card.code.suits(card.number.scheme()))
        .then(|| FieldError::new("card.code", "must be 3 digits, or 4 for American Express"));
    let wrong: Vec<_> = number.into_iter().chain(code).collect();
    if wrong.is_empty() { Ok(()) } else { Err(app::Error::Invalid(wrong)) }
}

/// Saves a card that the customer typed (deprecated).
pub(super) async fn save(
    State(payments): State<Arc<Payments>>,
    State(settings): State<Arc<Settings>>,
    address: ClientAddress,
    body: Body,
) -> Result<Response, Error> {
    let input = body.read(|fields| {
        let key = fields.required("key", str::parse);
        let card = card(fields);
        let notes = fields.optional("notes", Notes::new);
        let is_agreed = fields.flag("recurring");
        Ok::<(String, _, _, _), _>((key?, card?, notes?, is_agreed?.unwrap_or(false)))
    });
    body.wipe();
    let (key, card, notes, is_agreed) = input?;
    let merchant = payments.merchant_of_attempt(&key, address).await?;
    check_live(&card, &merchant, &settings)?;
    if !is_agreed && payments.acquirer_of(&merchant) == Some(AcquirerName::Stripe) {
        let message = "must be true: the customer must agree that the card is kept";
        return Err(app::Error::field("recurring", message).into());
    }
    let origin = Origin::Cards(address);
    let saved = payments.save_typed_card(&merchant, origin, card, notes).await?;
    Ok(saved.map_or_else(json::declined, json::saved))
}
