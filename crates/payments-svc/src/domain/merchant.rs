//! Merchants: who gets the money.

use jiff::Timestamp;

use super::{
    id::Id,
    money::{Currency, Money, Ppm},
};

mod values;

pub(crate) use values::{Country, Descriptor, Email, Iban, Name, Notes, Website};

/// A merchant.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Merchant {
    /// Its id.
    pub(crate) id: Id,
    /// Its public key, a UUID: it names the merchant on payment pages and is no credential.
    pub(crate) key: String,
    /// When it was made.
    pub(crate) created: Timestamp,
    /// What was said of it.
    pub(crate) details: MerchantDetails,
    /// What it pays.
    pub(crate) pricing: Pricing,
    /// What it has, in minor units of its currency.
    pub(crate) balance: i64,
}

impl Merchant {
    /// What its money is moved by.
    pub(crate) fn terms(&self) -> Terms {
        let MerchantDetails { currency, test, .. } = self.details;
        Terms { currency, test, pricing: self.pricing }
    }
}

/// What a merchant's money is moved by. It never changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Terms {
    /// The currency the merchant is funded in.
    pub(crate) currency: Currency,
    /// Whether no real money moves.
    pub(crate) test: bool,
    /// What the merchant pays.
    pub(crate) pricing: Pricing,
}

/// What is said of a merchant when it is made.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MerchantDetails {
    /// Its name.
    pub(crate) name: Option<Name>,
    /// The currency it is funded in.
    pub(crate) currency: Currency,
    /// Whether it is for tests: no real money moves.
    pub(crate) test: bool,
    /// Where to reach it.
    pub(crate) email: Email,
    /// Its website.
    pub(crate) website: Website,
    /// The text on bank statements, unless a payment has its own.
    pub(crate) descriptor: Descriptor,
    /// The company's country.
    pub(crate) country: Country,
    /// The company's registration number.
    pub(crate) number: Option<Name>,
    /// The account it is paid at.
    pub(crate) iban: Option<Iban>,
}

impl MerchantDetails {
    /// What people know it by: its name, or else its website.
    pub(crate) fn title(&self) -> &str {
        title(self.name.as_ref(), &self.website)
    }
}

/// What people know a merchant by that has this name and this website.
pub(crate) fn title<'a>(name: Option<&'a Name>, website: &'a Website) -> &'a str {
    let name = name.map(Name::as_str).filter(|name| !name.trim().is_empty());
    name.unwrap_or(website.as_str())
}

/// What of a merchant can change, as far as it shall.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct MerchantUpdate {
    /// Its name.
    pub(crate) name: Option<Name>,
    /// Where to reach it.
    pub(crate) email: Option<Email>,
    /// The text on bank statements.
    pub(crate) descriptor: Option<Descriptor>,
}

/// What a merchant pays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pricing {
    /// Of each capture.
    pub(crate) rate: Ppm,
    /// For each capture.
    pub(crate) flat: Money,
    /// For each dispute.
    pub(crate) dispute: Money,
}
