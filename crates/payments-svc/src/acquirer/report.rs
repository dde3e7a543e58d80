//! What an acquirer reports about a payment, without a request of ours: in a notification, or when
//! it is asked for its facts.

use std::time::Duration;

use common::throttle::Throttle;
use jiff::Timestamp;
use payments_domain::{AcquirerEvent, AcquirerId, Currency, FieldError, Id};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::fields::{self, Encoding, Fields, Reported};

#[derive(Debug)]
pub(crate) struct Report {
    /// A repeated report has the same ID.
    pub(crate) id: AcquirerId,
    /// The time of the fact, by the acquirer's clock.
    pub(crate) created: Timestamp,
    pub(crate) content: Content,
}

/// An acquirer that does not know the last fact any more is reported once an hour: a quiet one has no
/// newer fact for the next turn.
#[derive(Debug)]
pub(super) struct Forgotten(Throttle);

impl Default for Forgotten {
    fn default() -> Self {
        Self(Throttle::new(Duration::from_hours(1)))
    }
}

impl Forgotten {
    pub(super) fn log(&self, acquirer: &str) {
        if self.0.try_acquire() {
            tracing::error!(acquirer, "the acquirer has forgotten facts: some may be missing here");
        }
    }
}

/// A part of the list of an acquirer's facts, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    pub(crate) facts: Vec<AcquirerFact>,
    /// Whether there are later ones.
    pub(crate) has_more: bool,
}

#[derive(Debug)]
pub(crate) struct AcquirerFact {
    pub(crate) id: AcquirerId,
    /// `Err` if it is not as the acquirer's documentation says.
    pub(crate) report: Result<Report, Vec<FieldError>>,
}

impl AcquirerFact {
    /// `None` if it has no ID.
    pub(super) fn read(
        json: &RawValue,
        report: impl FnOnce(&mut Fields<'_>) -> Result<Report, Reported>,
    ) -> Option<Self> {
        #[derive(Deserialize)]
        struct Named {
            id: String,
        }
        let Named { id } = serde_json::from_str(json.get()).ok()?;
        let report = fields::read(json.get().as_bytes(), Encoding::Json, report);
        Some(Self { id: id.parse().ok()?, report })
    }
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
