//! The stored form of domain values, the same in both engines.

use std::borrow::Cow;

use common::sql::{BadCell, Cell, ColumnError, Columns, Kind, Param, Stored};

use crate::domain::{
    Account, AcquirerId, AcquirerKey, AcquirerName, Advance, AdvanceBy, Amount, ApiKeyDigest,
    Country, Currency, CustomData, Decision, Descriptor, DisableReason, Email, EventType,
    EventTypes, FraudReason, Iban, Id, LineKind, LinkSecret, Movement, Name, Notes, OutboxKind,
    PayoutFormat, Ppm, ProcessingError, SandboxClock, Scheme, ThreeDSecure, WebhookSecret,
    WebhookUrl, Website,
};

/// Implements [`Stored`] for a type by converting it to and from the type of its column.
macro_rules! stored {
    ($($type:ty as $column:ty: $to:expr, $from:expr;)*) => {$(
        impl Stored for $type {
            const KIND: Kind = <$column as Stored>::KIND;

            fn param(&self) -> Param<'_> {
                let to: fn(&$type) -> Param<'_> = $to;
                to(self)
            }

            fn of(cell: Cell<'_>) -> Result<Self, BadCell> {
                let from: fn($column) -> Option<$type> = $from;
                from(<$column>::of(cell)?).ok_or(BadCell)
            }
        }
    )*};
}

fn text(text: &str) -> Param<'_> {
    Param::Text(Cow::Borrowed(text))
}

stored! {
    Id as [u8; Id::BYTES]: |id| id.as_bytes().param(), |bytes| Some(Self::stored(bytes));
    Currency as String: |currency| text(currency.code()), |code| code.parse().ok();
    Account as String: |account| text(account.name()), |name| Self::from_name(&name);
    LineKind as String: |kind| text(kind.name()), |name| Self::from_name(&name);
    Decision as String: |decision| text(decision.name()), |name| Self::from_name(&name);
    EventType as String: |event_type| text(event_type.name()), |name| name.parse().ok();
    Movement as String: |movement| text(movement.name()), |name| Self::from_name(&name);
    AcquirerName as String: |acquirer| text(acquirer.name()), |name| Self::from_name(&name);
    OutboxKind as String: |order| text(order.name()), |name| Self::from_name(&name);
    PayoutFormat as String: |format| text(format.name()), |name| Self::from_name(&name);
    Scheme as String: |scheme| text(scheme.name()), |name| Self::from_name(&name);
    ThreeDSecure as String: |tds| text(tds.name()), |name| Self::from_name(&name);
    Name as String: |name| text(name.as_str()), |name| Some(Self::stored(name));
    Notes as String: |notes| text(notes.as_str()), |notes| Some(Self::stored(notes));
    Email as String: |email| text(email.as_str()), |email| Some(Self::stored(email));
    Website as String: |website| text(website.as_str()), |website| Some(Self::stored(website));
    Country as String: |country| text(country.as_str()), |country| Some(Self::stored(country));
    Iban as String: |iban| text(iban.as_str()), |iban| Some(Self::stored(iban));
    Descriptor as String: |value| text(value.as_str()), |descriptor| Some(Self::stored(descriptor));
    AcquirerId as String: |value| text(value.as_str()), |reference| Some(Self::stored(reference));
    CustomData as String: |custom| text(custom.as_str()), |custom| Some(Self::stored(custom));
    WebhookUrl as String: |url| text(url.as_str()), |url| Self::stored(&url);
    EventTypes as String: event_types, |names| read_event_types(&names);
    DisableReason as String: |reason| text(reason.name()), |name| Self::from_name(&name);
    LinkSecret as String: |secret| text(secret.expose()), |text| Some(Self::new(text.into()));
    AcquirerKey as Vec<u8>: |key| Param::Bytes(key.as_bytes().into()), |key| Self::of_bytes(&key);
    ApiKeyDigest as [u8; 32]: |digest| digest.as_bytes().param(), |digest| Some(Self::stored(digest));
    WebhookSecret as Vec<u8>: |secret| Param::Bytes(secret.as_bytes().into()), Self::stored;
    Ppm as u32: |share| Param::Int(share.parts().into()), |parts| Some(Self::stored(parts));
    Amount as i64: |amount| Param::Int(amount.minor()), |minor| Self::new(minor).ok();
    FraudReason as i64: |reason| Param::Int(reason.code().into()), |code| Self::new(code).ok();
    ProcessingError as u8: |error| Param::Int(error.code().into()), Self::from_code;
}

/// Names, separated by commas.
fn event_types(types: &EventTypes) -> Param<'static> {
    Param::Text(types.names().collect::<Vec<_>>().join(",").into())
}

fn read_event_types(names: &str) -> Option<EventTypes> {
    let names = names.split(',').filter(|name| !name.is_empty());
    names.map(|name| name.parse().ok()).collect()
}

/// `ID:SECONDS`, separated by commas.
pub(super) fn advances(clock: &SandboxClock) -> Param<'static> {
    let advances = clock.advances.iter();
    let advances = advances.map(|Advance { id, by }| format!("{id}:{}", by.seconds()));
    Param::Text(advances.collect::<Vec<_>>().join(",").into())
}

/// Reads one column: text as [`advances`] writes it, or `NULL`.
pub(super) fn read_advances(columns: &mut Columns<'_>) -> Result<Vec<Advance>, ColumnError> {
    columns.read_as(|text: Option<String>| {
        let text = text.unwrap_or_default();
        let advances = text.split(',').filter(|advance| !advance.is_empty()).map(|advance| {
            let (id, seconds) = advance.split_once(':')?;
            let (id, by) = (id.parse().ok()?, AdvanceBy::stored(seconds.parse().ok()?));
            Some(Advance { id, by })
        });
        advances.collect::<Option<_>>().ok_or(BadCell)
    })
}
