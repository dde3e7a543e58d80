//! Merchants: who gets the money.

use jiff::Timestamp;

use super::{
    id::Id,
    money::{Currency, Money, Ppm},
};

mod values;

pub use values::{
    Country, Descriptor, Email, Iban, InvalidCountry, InvalidDescriptor, InvalidEmail, InvalidIban,
    InvalidName, InvalidNotes, InvalidWebsite, MAX_DESCRIPTOR, MAX_EMAIL, MAX_NAME, MAX_NOTES,
    MAX_WEBSITE, Name, Notes, Website,
};

/// A merchant.
#[derive(Debug, Clone, PartialEq)]
pub struct Merchant {
    /// Its id.
    pub id: Id,
    /// Its public key, a UUID: it names the merchant on payment pages and is no credential.
    pub key: String,
    /// When it was made.
    pub created: Timestamp,
    /// What was said of it.
    pub details: MerchantDetails,
    /// What it pays.
    pub pricing: Pricing,
    /// What it has, in minor units of its currency.
    pub balance: i64,
}

impl Merchant {
    /// What its money is moved by.
    pub fn terms(&self) -> Terms {
        let MerchantDetails { currency, test, .. } = self.details;
        Terms { currency, test, pricing: self.pricing }
    }
}

/// What a merchant's money is moved by. It never changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terms {
    /// The currency the merchant is funded in.
    pub currency: Currency,
    /// Whether no real money moves.
    pub test: bool,
    /// What the merchant pays.
    pub pricing: Pricing,
}

/// What is said of a merchant when it is made.
#[derive(Debug, Clone, PartialEq)]
pub struct MerchantDetails {
    /// Its name.
    pub name: Option<Name>,
    /// The currency it is funded in.
    pub currency: Currency,
    /// Whether it is for tests: no real money moves.
    pub test: bool,
    /// Where to reach it.
    pub email: Email,
    /// Its website.
    pub website: Website,
    /// The text on bank statements, unless a payment has its own.
    pub descriptor: Descriptor,
    /// The company's country.
    pub country: Country,
    /// The company's registration number.
    pub number: Option<Name>,
    /// The account it is paid at.
    pub iban: Option<Iban>,
}

impl MerchantDetails {
    /// What people know it by: its name, or else its website.
    pub fn title(&self) -> &str {
        title(self.name.as_ref(), &self.website)
    }
}

/// What people know a merchant by that has this name and this website.
pub fn title<'a>(name: Option<&'a Name>, website: &'a Website) -> &'a str {
    let name = name.map(Name::as_str).filter(|name| !name.trim().is_empty());
    name.unwrap_or(website.as_str())
}

/// What of a merchant can change, as far as it shall.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MerchantUpdate {
    /// Its name.
    pub name: Option<Name>,
    /// Where to reach it.
    pub email: Option<Email>,
    /// The text on bank statements.
    pub descriptor: Option<Descriptor>,
}

/// What a merchant pays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pricing {
    /// Of each capture.
    pub rate: Ppm,
    /// For each capture.
    pub flat: Money,
    /// For each dispute.
    pub dispute: Money,
}
