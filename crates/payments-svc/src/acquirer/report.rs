//! What an acquirer reports about a payment, without a request of ours: in a notification, or when
//! it is asked for its facts.

use std::time::Duration;

use jiff::Timestamp;
use payments_domain::{AcquirerEvent, AcquirerId, Currency, Id};

#[derive(Debug)]
pub(crate) struct Report {
    /// A repeated report has the same ID.
    pub(crate) id: AcquirerId,
    /// The time of the fact, by the acquirer's clock.
    pub(crate) created: Timestamp,
    pub(crate) content: Content,
}

#[derive(Debug)]
pub(crate) enum Content {
    /// Events of a payment, in their order.
    Events(Subject, Vec<AcquirerEvent>),
    /// Nothing that the service records.
    Nothing,
    /// Of a type or status that this version does not know.
    Unknown,
    /// About something that this service did not make.
    Foreign,
}

/// The payment that a report is about.
#[derive(Debug)]
pub(crate) enum Subject {
    Transaction(Id),
    /// The acquirer's ID of the authorization.
    Authorization {
        id: String,
        /// The currency of the amounts, if the report has any.
        currency: Option<Currency>,
    },
}

/// The deadline for an answer, if the acquirer gives none. Without a time there is a reported error.
pub(super) fn deadline<E>(created: &Result<Timestamp, E>, after: Duration) -> Timestamp {
    let created = created.as_ref().ok();
    created.and_then(|created| created.checked_add(after).ok()).unwrap_or(Timestamp::MAX)
}
