//! Merchants: the businesses that receive the money of payments.

use jiff::Timestamp;
use sql::{group, row};

use super::{
    id::Id,
    money::{Currency, Money, Ppm},
};

mod values;

pub(crate) use values::has_bidi_control;
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
        changing { details: MerchantDetails = .., standing: Standing = .. }
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
        /// The holder of the account, if not the merchant's name.
        holder: Option<Name> = "holder",
    }
}

impl MerchantDetails {
    pub fn title(&self) -> &str {
        merchant_title(self.name.as_ref(), &self.website)
    }

    /// The payee's name in payouts: banks compare it with the holder of the account. Never a website.
    pub fn payee(&self) -> Option<&str> {
        [&self.holder, &self.name]
            .into_iter()
            .flatten()
            .map(|name| name.as_str().trim())
            .find(|it| !it.is_empty())
    }
}

group! {
    /// What the operator has decided about a merchant.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Standing {
        /// Whether the merchant may take payments at all.
        approved: bool = "approved",
        /// New payments are declined, and captures are not made.
        holds_payments: bool = "holds_payments",
        /// The merchant is left out of payouts.
        holds_payouts: bool = "holds_payouts",
        hold_reason: Option<Notes> = "hold_reason",
        /// Since when something is held.
        held_since: Option<Timestamp> = "held_since",
    }
}

impl Standing {
    pub fn new(approved: bool) -> Self {
        let (holds_payments, holds_payouts) = (false, false);
        Self { approved, holds_payments, holds_payouts, hold_reason: None, held_since: None }
    }
}

row! {
    /// A hold or a release of a merchant, after which these are held.
    pub struct Hold in "holds" {
        key { id: Id = "id" }
        fixed {
            merchant: Id = "merchant",
            created: Timestamp = "created",
            payments: bool = "payments",
            payouts: bool = "payouts",
            reason: Option<Notes> = "reason",
        }
    }
}

row! {
    /// A change of the account for payouts by an operator.
    pub struct BankChange in "bank_changes" {
        key { id: Id = "id" }
        fixed {
            merchant: Id = "merchant",
            created: Timestamp = "created",
            iban: Iban = "iban",
            holder: Name = "holder",
        }
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
