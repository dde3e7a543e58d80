//! Merchants.

use std::sync::Arc;

use axum::{
    extract::{RawQuery, State},
    http::StatusCode,
    response::Response,
};
use jiff::Timestamp;
use serde::Serialize;
use uuid::Uuid;

use super::{
    Api, Error,
    access::{Caller, Of, Own},
    answer::{self, as_date, as_text},
    body::Body,
    fields::{Fields, Noted},
    idempotency::IdempotencyKey,
    page::{self, Item},
};
use crate::domain::{
    Country, Currency, Descriptor, Email, Iban, Id, InvalidCurrency, Merchant, MerchantDetails,
    MerchantUpdate, Money, Name, Website,
    write::{Action, Write},
};

/// Makes a merchant, which the app that asks may use.
pub(super) async fn create(
    State(api): State<Arc<Api>>,
    Caller(app): Caller,
    key: IdempotencyKey,
    body: Body,
) -> Result<Response, Error> {
    api.once(key, &app, &body, async |keyed| {
        let details = Box::new(body.read(details)?);
        let (key, pricing) = (Uuid::new_v4().to_string(), api.pricing);
        let action = Action::CreateMerchant { app: app.id, key, details, pricing };
        Ok(api.store.write(Write { action, keyed }).await??)
    })
    .await
}

fn details(fields: &mut Fields<'_>) -> Result<MerchantDetails, Noted> {
    let name = fields.optional("name", Name::new);
    let currency = fields.required("currency", funding_currency);
    let test = fields.flag("test");
    let email = fields.required("email", Email::new);
    let website = fields.required("website", Website::new);
    let descriptor = fields.required("descriptor", Descriptor::new);
    let mut company = fields.object("company");
    let country = company.required("country", Country::new);
    let number = company.optional("number", Name::new);
    let iban = fields.object("bank").optional("iban", Iban::new);
    Ok(MerchantDetails {
        name: name?,
        currency: currency?,
        test: test?.unwrap_or(false),
        email: email?,
        website: website?,
        descriptor: descriptor?,
        country: country?,
        number: number?,
        iban: iban?,
    })
}

fn funding_currency(code: &str) -> Result<Currency, String> {
    let currency: Currency = code.parse().map_err(|error: InvalidCurrency| error.to_string())?;
    let refused = || "must be a currency that merchants can be funded in".to_owned();
    currency.is_for_funding().then_some(currency).ok_or_else(refused)
}

/// Members of a merchant that stay as they are.
const IMMUTABLE: [&str; 12] = [
    "id", "key", "created", "currency", "test", "website", "balance", "company", "bank", "claim",
    "pricing", "tds",
];

/// Changes what of a merchant can change.
pub(super) async fn update(
    State(api): State<Arc<Api>>,
    merchant: Of<Merchant>,
    body: Body,
) -> Result<StatusCode, Error> {
    let update = body.read(|fields| {
        let name = fields.optional("name", Name::new);
        let email = fields.optional("email", Email::new);
        let descriptor = fields.optional_or_blank("descriptor", Descriptor::new);
        fields.refuse(IMMUTABLE, "cannot be changed");
        Ok(MerchantUpdate { name: name?, email: email?, descriptor: descriptor? })
    })?;
    let action = Action::UpdateMerchant { merchant: merchant.thing.id, update };
    Ok(answer::nothing(api.store.write(action).await??))
}

/// The merchants of the app that asks.
pub(super) async fn list(
    State(api): State<Arc<Api>>,
    Own(app): Own,
    RawQuery(query): RawQuery,
) -> Result<Response, Error> {
    let filter = |fields: &mut Fields<'_>| fields.object("filter").flag("test");
    let (window, test) = page::read(query.as_deref(), filter)?;
    let memory = Arc::clone(&api.responses);
    page::list(&memory, window, move |window| api.store.clone().merchants(app.id, window, test))
        .await
}

/// A merchant.
pub(super) async fn get(merchant: Of<Merchant>) -> Response {
    answer::one(StatusCode::OK, "merchant", MerchantOutput::new(&merchant.thing))
}

/// A merchant, as a client is told.
#[derive(Serialize)]
pub(super) struct MerchantOutput<'a> {
    #[serde(serialize_with = "as_text")]
    id: Id,
    key: &'a str,
    name: Option<&'a str>,
    #[serde(serialize_with = "as_date")]
    created: Timestamp,
    currency: &'static str,
    test: bool,
    email: &'a str,
    website: &'a str,
    descriptor: &'a str,
    balance: i64,
    company: CompanyOutput<'a>,
    bank: BankOutput<'a>,
    claim: ClaimOutput,
    pricing: PricingOutput,
    tds: TdsOutput,
}

#[derive(Serialize)]
struct CompanyOutput<'a> {
    country: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    number: Option<&'a str>,
}

#[derive(Serialize)]
struct BankOutput<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    iban: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ClaimOutput {
    can_charge_card: bool,
    can_save_card: bool,
    can_transfer_to_card: bool,
    can_capture: bool,
    can_refund: bool,
    can_void: bool,
}

/// Every merchant may do the same.
const CLAIM: ClaimOutput = ClaimOutput {
    can_charge_card: true,
    can_save_card: true,
    can_transfer_to_card: false,
    can_capture: true,
    can_refund: true,
    can_void: true,
};

#[derive(Serialize)]
struct TdsOutput {
    mode: &'static str,
}

#[derive(Serialize)]
struct PricingOutput {
    rate: f64,
    flat: MoneyOutput,
    dispute: MoneyOutput,
}

/// An amount with its currency, as a client is told.
#[derive(Serialize)]
pub(super) struct MoneyOutput {
    currency: &'static str,
    amount: i64,
}

impl MoneyOutput {
    pub(super) fn new(money: Money) -> Self {
        Self { currency: money.currency.code(), amount: money.minor }
    }
}

impl<'a> MerchantOutput<'a> {
    pub(super) fn new(merchant: &'a Merchant) -> Self {
        let Merchant { id, key, created, details, pricing, balance } = merchant;
        Self {
            id: *id,
            key,
            name: details.name.as_ref().map(Name::as_str),
            created: *created,
            currency: details.currency.code(),
            test: details.test,
            email: details.email.as_str(),
            website: details.website.as_str(),
            descriptor: details.descriptor.as_str(),
            balance: *balance,
            company: CompanyOutput {
                country: details.country.as_str(),
                number: details.number.as_ref().map(Name::as_str),
            },
            bank: BankOutput { iban: details.iban.as_ref().map(Iban::as_str) },
            claim: CLAIM,
            pricing: PricingOutput {
                rate: f64::from(pricing.rate.parts()) / 1e6,
                flat: MoneyOutput::new(pricing.flat),
                dispute: MoneyOutput::new(pricing.dispute),
            },
            tds: TdsOutput { mode: "avoid" },
        }
    }
}

impl Item for Merchant {
    fn id(&self) -> Id {
        self.id
    }

    fn write_json(&self, json: &mut Vec<u8>) -> serde_json::Result<()> {
        serde_json::to_writer(json, &MerchantOutput::new(self))
    }
}
