//! Merchants: the businesses that receive the money of payments.

use jiff::Timestamp;
use sql::{group, row};

use super::{
    id::Id,
    money::{Currency, Money, Ppm},
};

mod values;

pub use values::{Country, Descriptor, Email, Iban, Name, Notes, Website, link_text};

row! {
    pub struct Merchant in "merchants" {
        key { id: Id = "id" }
        fixed {
            /// The merchant key of payment links: a UUID, public, not a credential.
            key: String = "key",
            created: Timestamp = "created",
            pricing: Pricing = ..,
            /// In minor units of the merchant's currency. Can be negative. 0 where it is not read.
            balance: i64 = [0],
        }
        changing { details: MerchantDetails = .. }
    }
}

impl Merchant {
    pub fn terms(&self) -> Terms {
        let MerchantDetails { currency, test, .. } = self.details;
        Terms { currency, test, pricing: self.pricing }
    }
}

group! {
    /// The part of a merchant that movements of money depend on. It never changes.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct Terms {
        /// The currency of the merchant's balance.
        currency: Currency = "currency",
        /// Whether the merchant is a test merchant: no real money moves.
        test: bool = "test",
        pricing: Pricing = ..,
    }
}

group! {
    /// The properties of a merchant that callers set. Only those in [`MerchantUpdate`] can change.
    #[derive(Debug, Clone, PartialEq)]
    pub struct MerchantDetails {
        name: Option<Name> = "name",
        /// The currency of the merchant's balance.
        currency: Currency = "currency",
        /// Whether the merchant is a test merchant: no real money moves.
        test: bool = "test",
        email: Email = "email",
        website: Website = "website",
        /// The default for payments without a descriptor.
        descriptor: Descriptor = "descriptor",
        country: Country = "country",
        /// The company's registration number.
        registration_number: Option<Name> = "number",
        /// The account for payouts.
        iban: Option<Iban> = "iban",
    }
}

impl MerchantDetails {
    pub fn title(&self) -> &str {
        merchant_title(self.name.as_ref(), &self.website)
    }
}

/// The title that people see: the name, or the website if the name is missing or blank.
pub fn merchant_title<'a>(name: Option<&'a Name>, website: &'a Website) -> &'a str {
    let name = name.map(Name::as_str).filter(|name| !name.trim().is_empty());
    name.unwrap_or(website.as_str())
}

/// New values of the fields that can change. `None` keeps a value.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MerchantUpdate {
    pub name: Option<Name>,
    pub email: Option<Email>,
    pub descriptor: Option<Descriptor>,
}

group! {
    /// The fees of a merchant.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct Pricing {
        /// The share of each capture's value.
        rate: Ppm = "fee_rate",
        /// The fee of each capture, in its own currency, which can differ from the merchant's.
        flat: Money = ("fee_flat_currency", "fee_flat"),
        /// The fee of each dispute, also in its own currency.
        dispute: Money = ("fee_dispute_currency", "fee_dispute"),
    }
}
