//! Domain values that have several columns, each described once: see [`common::sql::Group`].

use std::time::Duration;

use common::sql::{BadCell, Column, ColumnError, Columns, Group, Param, Stored, group};
use jiff::Timestamp;

use crate::domain::{
    AcquirerName, Amount, Amounts, ApiKeyDetails, App, Capture, Card, CardOnFile, Country,
    Currency, CustomData, Delivery, DeliveryAttempt, DeliveryOutcome, Descriptor, DisableReason,
    Email, EventTypes, Expiry, Factor, Failures, Fee, Iban, Id, Invitation, MerchantDetails, Money,
    Movement, Name, Payment, Ppm, Pricing, ProcessingError, Progress, Reason, RefusedStep,
    SandboxClock, Scheme, Slice, Step, Terms, ThreeDSecure, Transaction, TransactionVersion,
    Transfer, Webhook, WebhookDetails, WebhookSecret, WebhookSecrets, WebhookUrl, Website,
};

use super::values::{advances, read_advances};

group! { App { id: Id = "id", name: Option<Name> = "name", created: Timestamp = "created" } }
group! {
    ApiKeyDetails {
        id: Id = "id",
        name: Option<Name> = "name",
        created: Timestamp = "created",
        last_used: Option<Timestamp> = "last_used",
    }
}

group! { Money { currency: Currency = "currency", minor: i64 = "amount" } }
group! {
    Pricing {
        rate: Ppm = "fee_rate",
        flat: Money = ("fee_flat_currency", "fee_flat"),
        dispute: Money = ("fee_dispute_currency", "fee_dispute"),
    }
}
group! {
    MerchantDetails {
        name: Option<Name> = "name",
        currency: Currency = "currency",
        test: bool = "test",
        email: Email = "email",
        website: Website = "website",
        descriptor: Descriptor = "descriptor",
        country: Country = "country",
        registration_number: Option<Name> = "number",
        iban: Option<Iban> = "iban",
    }
}
group! { Terms { currency: Currency = "currency", test: bool = "test", pricing: Pricing = .. } }

group! {
    Card {
        bin: String = "bin",
        last4: String = "last4",
        expiry: Expiry = ..,
        scheme: Scheme = "scheme",
        code_present: bool = "code_present",
    }
}
group! {
    CardOnFile {
        card: Card = ..,
        acquirer: Option<AcquirerName> = "acquirer",
        reference: String = "reference",
    }
}

group! {
    Amounts {
        amount: i64 = "amount",
        captured: i64 = "captured",
        refunded: i64 = "refunded",
        voided: i64 = "voided",
        disputed: i64 = "disputed",
        successful: bool = [true],
    }
}
group! {
    Transaction {
        id: Id = "id",
        merchant: Id = "merchant",
        test: bool = "test",
        created: Timestamp = "created",
        currency: Currency = "currency",
        amounts: Amounts = ..,
        descriptor: Descriptor = "descriptor",
        card: Option<Card> = ..,
        custom: Option<CustomData> = [None],
        tds: ThreeDSecure = "tds",
        recurring: bool = "recurring",
        error: Option<ProcessingError> = "error",
        trail: Vec<Step> = [Vec::new()],
    }
}
group! {
    Payment {
        merchant: Id = "merchant",
        currency: Currency = "currency",
        amount: Amount = "amount",
        descriptor: Descriptor = "descriptor",
        custom: Option<CustomData> = "custom",
        recurring: bool = "recurring",
        acquirer: Option<AcquirerName> = "acquirer",
    }
}
group! { Fee { flat: i64 = "fee_flat", rate: i64 = "fee_rate" } }
group! {
    Step {
        created: Timestamp = "created",
        movement: Movement = "movement",
        amount: i64 = "amount",
        balance: i64 = "balance",
        fee: Fee = ..,
        descriptor: Option<Descriptor> = "descriptor",
        line: Option<Id> = "line",
        dispute: Option<Id> = "dispute",
    }
}
group! {
    TransactionVersion { transaction: Id = "transaction", steps: u32 = "steps", disputed: i64 = "disputed" }
}
group! {
    RefusedStep {
        number: u32 = "step",
        movement: Movement = "movement",
        amount: i64 = "amount",
        balance: i64 = "balance",
        fee: Fee = ..,
    }
}
group! {
    Capture {
        step: u32 = [0],
        amount: i64 = "amount",
        gross: i64 = "gross",
        fee: i64 = "fee",
        rate: Factor = "rate",
        spread: Ppm = "spread",
        amount_returned: i64 = "amount_returned",
        gross_returned: i64 = "gross_returned",
        fee_returned: i64 = "fee_returned",
        is_refused: bool = "refused",
    }
}
group! {
    Transfer { merchant: Id = "merchant", name: String = "name", iban: Iban = "iban", amount: Money = .. }
}

group! { Reason { code: i64 = "reason_code", title: String = "reason_title" } }
group! {
    Slice {
        step: Option<u32> = "step",
        amount: i64 = "amount",
        gross: i64 = "gross",
        fee: i64 = "fee",
        again: bool = "again",
    }
}

group! {
    WebhookDetails {
        url: WebhookUrl = "url",
        types: EventTypes = "types",
        description: Option<Name> = "description",
    }
}
group! {
    Webhook {
        id: Id = "id",
        app: Id = "app",
        created: Timestamp = "created",
        details: WebhookDetails = ..,
        disabled: Option<DisableReason> = "disabled",
    }
}
group! {
    WebhookSecrets {
        current: WebhookSecret = "secret",
        previous: Option<(WebhookSecret, Timestamp)> = ("previous_secret", "previous_until"),
    }
}
group! {
    Progress {
        position: Id = "position",
        generation: u32 = "generation",
        epoch: u32 = "epoch",
        next_attempt: u32 = "next_attempt",
    }
}
group! {
    Invitation {
        id: Id = "id",
        to: Email = "to",
        merchant: String = "merchant",
        country: Country = "country",
        app: Option<Name> = "app",
        attempts: u32 = "attempts",
    }
}
group! { Failures { attempts: u32 = "attempts", first: Timestamp = "first", due: Timestamp = "due" } }
group! {
    DeliveryAttempt {
        event: Id = "event",
        created: Timestamp = "created",
        delivery: Delivery = ..,
        next: Option<Timestamp> = "next",
    }
}
group! { Delivery { outcome: DeliveryOutcome = .., duration: Duration = "duration" } }

impl Group for SandboxClock {
    const COLUMNS: &'static [Column] =
        &[("advances", String::KIND), ("pending_advance", Option::<Id>::KIND)];

    fn read(columns: &mut Columns<'_>) -> Result<Self, ColumnError> {
        Ok(Self { advances: read_advances(columns)?, pending: columns.read()? })
    }

    fn params<'a>(&'a self, params: &mut Vec<Param<'a>>) {
        params.extend([advances(self), self.pending.param()]);
    }
}

impl Group for Expiry {
    const COLUMNS: &'static [Column] = &[("expiry_year", i64::KIND), ("expiry_month", i64::KIND)];

    fn read(columns: &mut Columns<'_>) -> Result<Self, ColumnError> {
        let year = columns.read_as(Self::year)?;
        Ok(Self::new(year, columns.read_as(Self::month)?))
    }

    fn params<'a>(&'a self, params: &mut Vec<Param<'a>>) {
        let (year, month) = self.parts();
        params.extend([Param::Int(year.into()), Param::Int(month.into())]);
    }
}

impl Group for DeliveryOutcome {
    const COLUMNS: &'static [Column] = &[("outcome", String::KIND), ("status", u16::KIND)];

    fn read(columns: &mut Columns<'_>) -> Result<Self, ColumnError> {
        let name: String = columns.read()?;
        columns.read_as(|status| Self::from_name(&name, status).ok_or(BadCell))
    }

    fn params<'a>(&'a self, params: &mut Vec<Param<'a>>) {
        let status = self.status().map_or(Param::Null, |status| Param::Int(status.into()));
        params.extend([Param::Text(self.name().into()), status]);
    }
}
