//! Merchants: the businesses that receive the money of payments.

use common::sql::row;
use jiff::Timestamp;

use super::{
    id::Id,
    money::{Currency, Money, Ppm},
};

mod values;

pub(crate) use values::{Country, Descriptor, Email, Iban, Name, Notes, Website};

row! {
    pub(crate) struct Merchant in "merchants" {
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
    pub(crate) fn terms(&self) -> Terms {
        let MerchantDetails { currency, test, .. } = self.details;
        Terms { currency, test, pricing: self.pricing }
    }
}

/// The part of a merchant that movements of money depend on. It never changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Terms {
    /// The currency of the merchant's balance.
    pub(crate) currency: Currency,
    /// Whether the merchant is a test merchant: no real money moves.
    pub(crate) test: bool,
    pub(crate) pricing: Pricing,
}

/// The properties of a merchant that callers set. Only those in [`MerchantUpdate`] can change.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MerchantDetails {
    pub(crate) name: Option<Name>,
    /// The currency of the merchant's balance.
    pub(crate) currency: Currency,
    /// Whether the merchant is a test merchant: no real money moves.
    pub(crate) test: bool,
    pub(crate) email: Email,
    pub(crate) website: Website,
    /// The default for payments without a descriptor.
    pub(crate) descriptor: Descriptor,
    pub(crate) country: Country,
    /// The company's registration number.
    pub(crate) registration_number: Option<Name>,
    /// The account for payouts.
    pub(crate) iban: Option<Iban>,
}

impl MerchantDetails {
    pub(crate) fn title(&self) -> &str {
        merchant_title(self.name.as_ref(), &self.website)
    }
}

/// The title that people see: the name, or the website if the name is missing or blank.
pub(crate) fn merchant_title<'a>(name: Option<&'a Name>, website: &'a Website) -> &'a str {
    let name = name.map(Name::as_str).filter(|name| !name.trim().is_empty());
    name.unwrap_or(website.as_str())
}

/// New values of the fields that can change. `None` keeps a value.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct MerchantUpdate {
    pub(crate) name: Option<Name>,
    pub(crate) email: Option<Email>,
    pub(crate) descriptor: Option<Descriptor>,
}

/// The fees of a merchant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pricing {
    /// The share of each capture's value.
    pub(crate) rate: Ppm,
    /// The fee of each capture, in its own currency, which can differ from the merchant's.
    pub(crate) flat: Money,
    /// The fee of each dispute, also in its own currency.
    pub(crate) dispute: Money,
}
