//! A merchant as callers read it.

use jiff::Timestamp;
use payments_domain::{BankChange, Hold, Iban, Id, Merchant, Money, Name, Notes, Standing};
use serde::Serialize;

use crate::{
    http::list,
    web::{as_date, as_text},
};

#[derive(Serialize)]
pub(in crate::http) struct MerchantOutput<'a> {
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
    approved: bool,
    held: Option<HeldOutput<'a>>,
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
pub(in crate::http) struct BankOutput<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    iban: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    holder: Option<&'a str>,
}

impl<'a> BankOutput<'a> {
    pub(in crate::http) fn of(change: &'a BankChange) -> Self {
        Self { iban: Some(change.iban.as_str()), holder: Some(change.holder.as_str()) }
    }
}

/// What the operator holds.
#[derive(Serialize)]
pub(in crate::http) struct HeldOutput<'a> {
    payments: bool,
    payouts: bool,
    reason: Option<&'a str>,
    /// In an event, the time of the event.
    #[serde(serialize_with = "as_date")]
    since: Timestamp,
}

impl<'a> HeldOutput<'a> {
    /// After a hold or a release.
    pub(in crate::http) fn of(hold: &'a Hold) -> Self {
        let Hold { created, payments, payouts, reason, .. } = hold;
        let reason = reason.as_ref().map(Notes::as_str);
        Self { payments: *payments, payouts: *payouts, reason, since: *created }
    }

    /// `None` if nothing is held.
    fn now(standing: &'a Standing) -> Option<Self> {
        let Standing { holds_payments, holds_payouts, hold_reason, held_since, .. } = standing;
        let (payments, payouts) = (*holds_payments, *holds_payouts);
        let reason = hold_reason.as_ref().map(Notes::as_str);
        held_since.map(|since| Self { payments, payouts, reason, since })
    }
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

/// All merchants have the same permissions.
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

/// The amount is in minor units.
#[derive(Serialize)]
pub(in crate::http) struct MoneyOutput {
    currency: &'static str,
    amount: i64,
}

impl MoneyOutput {
    pub(in crate::http) fn new(money: Money) -> Self {
        Self { currency: money.currency.code(), amount: money.minor }
    }
}

impl<'a> MerchantOutput<'a> {
    pub(in crate::http) fn new(merchant: &'a Merchant) -> Self {
        let Merchant { id, key, created, details, standing, pricing, balance } = merchant;
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
                number: details.registration_number.as_ref().map(Name::as_str),
            },
            bank: BankOutput {
                iban: details.iban.as_ref().map(Iban::as_str),
                holder: details.holder.as_ref().map(Name::as_str),
            },
            approved: standing.approved,
            held: HeldOutput::now(standing),
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

list::item!(Merchant, MerchantOutput::new);
