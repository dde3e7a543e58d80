//! `POST /merchants`, and reading, changing and listing merchants.

use std::sync::Arc;

use axum::{extract::State, http::StatusCode, response::Response};
use payments_domain::{
    Country, Currency, Descriptor, Email, Iban, InvalidCurrency, LinkSecret, Merchant,
    MerchantDetails, MerchantUpdate, Name, Website,
    actions::{SetLinkSecret, UpdateMerchant},
    write::LinkSecretRow,
};
use uuid::Uuid;

use super::{
    access::{Caller, OwnApp, Permitted},
    api::Api,
    idempotency::Once,
    list::Query,
    output::{self, MerchantOutput},
};
use crate::{
    app::{self, Written},
    web::{Body, Error, Fields, Reported, envelope},
};

/// Creates a merchant. The caller becomes its first app.
pub(super) async fn create(Caller(caller): Caller, request: Once) -> Result<Response, Error> {
    let created = request.run(caller.app.id, async |keyed| {
        request.payments.create_merchant(&caller.app, request.body.read(details)?, keyed).await
    });
    let Written { outcome: merchant, is_replayed } = created.await?;
    let body = envelope(StatusCode::CREATED, "merchant", MerchantOutput::new(&merchant));
    Ok(output::written(is_replayed, body))
}

fn details(fields: &mut Fields<'_>) -> Result<MerchantDetails, Reported> {
    let name = fields.optional("name", Name::new);
    let currency = fields.required("currency", funding_currency);
    let test = fields.flag("test");
    let email = fields.required("email", Email::new);
    let website = fields.required("website", Website::new);
    let descriptor = fields.required("descriptor", Descriptor::new);
    let mut company = fields.object("company");
    let country = company.required("country", Country::new);
    let number = company.optional("number", Name::new);
    let mut bank = fields.object("bank");
    let iban = bank.optional("iban", Iban::new);
    let holder = bank.optional("holder", Name::new);
    Ok(MerchantDetails {
        name: name?,
        currency: currency?,
        test: test?.unwrap_or(false),
        email: email?,
        website: website?,
        descriptor: descriptor?,
        country: country?,
        registration_number: number?,
        iban: iban?,
        holder: holder?,
    })
}

fn funding_currency(code: &str) -> Result<Currency, String> {
    let currency: Currency = code.parse().map_err(|error: InvalidCurrency| error.to_string())?;
    let message = || "must be a currency that merchants can be funded in".to_owned();
    currency.is_funding_currency().then_some(currency).ok_or_else(message)
}

/// JSON members of a merchant that `PUT` must not change.
const IMMUTABLE: [&str; 14] = [
    "id", "key", "created", "currency", "test", "website", "balance", "company", "bank",
    "approved", "held", "claim", "pricing", "tds",
];

/// Changes name, e-mail address and descriptor. Absent members keep their values.
pub(super) async fn update(
    State(api): State<Arc<Api>>,
    merchant: Permitted<Merchant>,
    body: Body,
) -> Result<StatusCode, Error> {
    let update = body.read(|fields| {
        let name = fields.optional("name", Name::new);
        let email = fields.optional("email", Email::new);
        let descriptor = fields.optional_or_blank("descriptor", Descriptor::new);
        fields.reject(IMMUTABLE, "cannot be changed");
        Ok(MerchantUpdate { name: name?, email: email?, descriptor: descriptor? })
    })?;
    let action = UpdateMerchant { merchant: merchant.resource.id, update };
    api.payments.write(merchant.access(), action).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Makes a new key that signs payment links. Links with the signature of the old key are refused
/// from then on.
pub(super) async fn new_link_secret(
    merchant: Permitted<Merchant>,
    request: Once,
) -> Result<Response, Error> {
    let (access, merchant) = (merchant.access(), merchant.resource.id);
    let made = request.write(access, |body| {
        body.read(|_| Ok(()))?;
        let text = [Uuid::new_v4(), Uuid::new_v4()].map(|part| part.simple().to_string()).concat();
        Ok(SetLinkSecret { merchant, secret: LinkSecret::new(text.into()) })
    });
    let Written { outcome: (), is_replayed } = made.await?;
    // The current secret, also for a repeat: an older one no longer works.
    let current = request.payments.row::<LinkSecretRow>(&merchant).await?;
    let current = current.ok_or(app::Error::NotFound)?;
    let body = envelope(StatusCode::CREATED, "linkSecret", current.secret.expose());
    Ok(output::written(is_replayed, body))
}

/// The merchants of the caller.
pub(super) async fn list(OwnApp(app): OwnApp, query: Query) -> Result<Response, Error> {
    let (page_query, test) = query.read(|filter| filter.flag("test"))?;
    query.page(page_query, query.payments.merchants(app.id, test)).await
}

pub(super) async fn get(merchant: Permitted<Merchant>) -> Response {
    envelope(StatusCode::OK, "merchant", MerchantOutput::new(&merchant.resource))
}
