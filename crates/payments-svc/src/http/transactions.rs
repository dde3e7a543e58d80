//! Transactions, and what can be done to them.

use std::sync::Arc;

use axum::{
    extract::{RawQuery, State},
    http::StatusCode,
    response::Response,
};

use super::{
    Api, Error,
    access::{Movable, Of},
    answer,
    body::Body,
    fields::{Fields, Noted},
    idempotency::IdempotencyKey,
    page,
};
use crate::{
    acquirer::Source,
    domain::{
        Amount, Currency, Custom, Descriptor, Exchange, Id, Merchant, NoRate, Original, Payment,
        Request, Reservation, Terms, Transaction,
        write::{Action, Answer, Keyed, Write},
    },
    payments::{Charge, Origin},
    store::{Seen, now},
};

mod output;

pub(super) use output::TransactionOutput;

/// The transactions of a merchant.
pub(super) async fn list(
    State(api): State<Arc<Api>>,
    merchant: Of<Merchant>,
    RawQuery(query): RawQuery,
) -> Result<Response, Error> {
    let filter = |fields: &mut Fields<'_>| fields.object("filter").flag("successful");
    let (window, successful) = page::read(query.as_deref(), filter)?;
    let merchant = merchant.thing.id;
    let memory = Arc::clone(&api.responses);
    let read = move |window| api.store.clone().transactions(merchant, window, successful);
    page::list(&memory, window, read).await
}

/// A transaction.
pub(super) async fn get(transaction: Of<Transaction>) -> Response {
    answer::one(StatusCode::OK, "transaction", TransactionOutput::new(&transaction.thing))
}

/// A payment with a card from earlier.
struct CreateInput {
    from: From,
    descriptor: Option<Descriptor>,
    currency: Currency,
    amount: Amount,
    custom: Option<Custom>,
}

/// Where the card is from.
enum From {
    /// An original transaction, and the member that names it.
    Transaction(&'static str, Id),
    /// A saved card (deprecated).
    Card(Id),
}

/// Pays with a card from earlier: variants A and B of the specification.
pub(super) async fn create(
    State(api): State<Arc<Api>>,
    merchant: Of<Merchant>,
    key: IdempotencyKey,
    body: Body,
) -> Result<Response, Error> {
    api.once(key, &merchant.caller, &body, async |keyed| {
        let input = body.read(create_input)?;
        let merchant = &merchant.thing;
        let exchanges = api.exchanges(input.currency, &merchant.terms());
        let _both = exchanges.map_err(|error| Error::field("currency", error))?;
        let Original { mut card, reference } = original(&api, merchant, &input.from).await?;
        // The code was given for the payment it came with, and is nowhere kept.
        card.code_present = false;
        let descriptor = input.descriptor.as_ref().unwrap_or(&merchant.details.descriptor);
        let payment = Payment {
            merchant: merchant.id,
            currency: input.currency,
            amount: input.amount,
            descriptor: descriptor.clone(),
            custom: input.custom,
            recurring: true,
        };
        let test = merchant.details.test;
        let charge = Charge {
            payment,
            card,
            source: Source::Reference(reference),
            test,
            origin: Origin::Api,
        };
        Ok(api.payments.pay(charge, keyed).await?)
    })
    .await
}

fn create_input(fields: &mut Fields<'_>) -> Result<CreateInput, Noted> {
    let from = from(fields);
    let descriptor = fields.optional_or_blank("descriptor", Descriptor::new);
    let currency = fields.required("currency", str::parse);
    let amount = fields.required_number("amount", Amount::new);
    let custom = fields.custom("custom");
    Ok(CreateInput {
        from: from?,
        descriptor: descriptor?,
        currency: currency?,
        amount: amount?,
        custom: custom?,
    })
}

/// Published clients send `false` for the variants they do not mean.
fn from(fields: &mut Fields<'_>) -> Result<From, Noted> {
    let transaction = fields.optional_or_false("transactionId", str::parse)?;
    let authorization = fields.optional_or_false("authorizationId", str::parse)?;
    let card = fields.optional_or_false("cardId", str::parse)?;
    match (transaction, authorization, card) {
        (Some(id), None, None) => Ok(From::Transaction("transactionId", id)),
        (None, Some(id), None) => Ok(From::Transaction("authorizationId", id)),
        (None, None, Some(id)) => Ok(From::Card(id)),
        (None, None, None) => Err(fields.note("transactionId", "is required")),
        _ => Err(fields.note("transactionId", "must be the only one of its kind")),
    }
}

async fn original(api: &Api, merchant: &Merchant, from: &From) -> Result<Original, Error> {
    match *from {
        From::Transaction(field, id) => {
            let original = api.store.original(merchant.id, id).await?;
            let message = "must be a successful transaction of the merchant made by a customer";
            original.ok_or_else(|| Error::field(field, message))
        }
        From::Card(id) => {
            let kept = api.store.kept(merchant.id, id).await?;
            kept.ok_or_else(|| Error::field("cardId", "must be a card of the merchant"))
        }
    }
}

/// Takes money.
pub(super) async fn capture(
    State(api): State<Arc<Api>>,
    transaction: Movable,
    key: IdempotencyKey,
    body: Body,
) -> Result<Response, Error> {
    api.move_once(key, transaction, &body, async |seen, keyed| {
        let (amount, currency, descriptor) = body.read(|fields| {
            let amount = fields.required_number("amount", Amount::new);
            let currency = fields.optional("currency", str::parse);
            let descriptor = fields.optional_or_blank("descriptor", Descriptor::new);
            Ok((amount?, currency?, descriptor?))
        })?;
        let Reservation { currency: charged, terms, .. } = seen.reservation;
        let exchanges = api.exchanges(charged, &terms);
        let (exchange, fee_exchange) = exchanges.map_err(Error::NoRate)?;
        let request = Request::Capture { amount, currency, exchange, fee_exchange };
        api.perform(seen, request, descriptor, keyed).await
    })
    .await
}

/// Gives money back.
pub(super) async fn refund(
    State(api): State<Arc<Api>>,
    transaction: Movable,
    key: IdempotencyKey,
    body: Body,
) -> Result<Response, Error> {
    api.move_once(key, transaction, &body, async |seen, keyed| {
        let (amount, descriptor) = body.read(|fields| {
            let amount = fields.required_number("amount", Amount::new);
            let descriptor = fields.optional_or_blank("descriptor", Descriptor::new);
            Ok((amount?, descriptor?))
        })?;
        api.perform(seen, Request::Refund { amount }, descriptor, keyed).await
    })
    .await
}

/// Gives up what is reserved, or a part of it.
pub(super) async fn void(
    State(api): State<Arc<Api>>,
    transaction: Movable,
    key: IdempotencyKey,
    body: Body,
) -> Result<Response, Error> {
    api.move_once(key, transaction, &body, async |seen, keyed| {
        let amount = body.read(|fields| fields.required_number("amount", Amount::new))?;
        api.perform(seen, Request::Void { amount: Some(amount) }, None, keyed).await
    })
    .await
}

impl Api {
    /// What money in this currency is worth to a merchant with these terms now, and what money in
    /// that of its flat fee is. Without both nothing can be captured.
    pub(crate) fn exchanges(
        &self,
        currency: Currency,
        terms: &Terms,
    ) -> Result<(Exchange, Exchange), NoRate> {
        let exchange = |currency| self.rates.exchange(currency, terms, now());
        Ok((exchange(currency)?, exchange(terms.pricing.flat.currency)?))
    }

    async fn perform(
        &self,
        seen: &Seen,
        request: Request,
        descriptor: Option<Descriptor>,
        keyed: Option<Keyed>,
    ) -> Result<Answer, Error> {
        let (transaction, steps) = (seen.reservation.id, seen.steps);
        let action = Action::Move { transaction, request, descriptor, steps };
        Ok(self.store.write(Write { action, keyed }).await??)
    }
}
