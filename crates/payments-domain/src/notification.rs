//! Notifications from acquirers: disputes, fraud alerts, and what ends without a request.

use std::str::FromStr;

use jiff::Timestamp;
use sql::{Param, row, stored};

use super::{
    acquirer_key::AcquirerKey,
    dispute::{Decision, Reason},
    id::Id,
    money::Amount,
};

/// The maximum length of an acquirer's ID.
const MAX_ACQUIRER_ID: usize = 255;

/// An event of a transaction, as its acquirer reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notification {
    /// The acquirer's ID. A repeated notification has the same ID.
    pub id: AcquirerId,
    pub transaction: Id,
    /// The time of the event, by the acquirer's clock.
    pub created: Timestamp,
    pub event: AcquirerEvent,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AcquirerEvent {
    /// The customer's bank asks about a payment. No money moves.
    Inquired(Claim),
    /// A dispute is opened, also one that was an inquiry.
    Opened(Claim),
    Decided {
        /// The acquirer's ID of the dispute.
        dispute: AcquirerId,
        decision: Decision,
    },
    Fraud {
        /// When the fraud was reported, if the acquirer knows it.
        reported: Option<Timestamp>,
        reason: Option<FraudReason>,
    },
    /// A capture, refund or void was refused after it was confirmed.
    Refused {
        /// The key that the service has sent.
        operation: AcquirerKey,
        /// The acquirer's words. They are not stored.
        reason: Option<String>,
    },
    /// The authorization has ended: what is not captured can never be captured.
    Expired,
}

/// What a customer's bank claims.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// The acquirer's ID of the dispute.
    pub dispute: AcquirerId,
    /// In minor units of the transaction's currency.
    pub amount: Amount,
    pub reason: Option<Reason>,
    /// The deadline for an answer.
    pub due: Timestamp,
}

impl AcquirerEvent {
    pub fn dispute(&self) -> Option<&AcquirerId> {
        match self {
            Self::Inquired(claim) | Self::Opened(claim) => Some(&claim.dispute),
            Self::Decided { dispute, .. } => Some(dispute),
            Self::Fraud { .. } | Self::Refused { .. } | Self::Expired => None,
        }
    }
}

/// An ID that an acquirer chose: 1 to `MAX_ACQUIRER_ID` printable ASCII characters.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AcquirerId(String);
stored! { AcquirerId(String) }

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be 1 to {MAX_ACQUIRER_ID} printable ASCII characters")]
pub struct InvalidAcquirerId;

impl AcquirerId {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The ID of the event with this number, from 0, in a notification with several.
    #[must_use]
    pub fn numbered(&self, number: usize) -> Self {
        if number == 0 { self.clone() } else { Self(format!("{} ({number})", self.0)) }
    }

    /// The ID of the notification that an authorization has ended as its acquirer said.
    pub fn of_end(transaction: Id) -> Self {
        Self(format!("end-{transaction}"))
    }

    /// An ID of the sandbox. It is unique, because the sandbox sends at most one event or dispute
    /// of each `kind` for a `subject`.
    pub fn of_sandbox(kind: &'static str, subject: Id) -> Self {
        Self(format!("sandbox-{kind}-{subject}"))
    }
}

impl FromStr for AcquirerId {
    type Err = InvalidAcquirerId;

    fn from_str(text: &str) -> Result<Self, InvalidAcquirerId> {
        let is_printable = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
        let is_valid = is_printable && (1..=MAX_ACQUIRER_ID).contains(&text.len());
        is_valid.then(|| Self(text.to_owned())).ok_or(InvalidAcquirerId)
    }
}

/// The first second of the year 0.
const EARLIEST: i64 = -62_167_219_200;

/// Parses a time that an acquirer sends. The API shows it in RFC 3339, which has no years before
/// 0. The type has no times after 9999-12-30.
pub fn acquirer_time(text: &str) -> Result<Timestamp, InvalidTime> {
    let time = text.parse().ok().filter(|time: &Timestamp| time.as_second() >= EARLIEST);
    time.ok_or(InvalidTime)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be a time from 0000-01-01 to 9999-12-30 in RFC 3339, such as 2026-11-21T10:14:42Z")]
pub struct InvalidTime;

row! {
    /// A fraud alert, as the API shows it.
    pub struct FraudAlert in "fraud_alerts" {
        key { id: Id = "id" }
        fixed {
            merchant: Id = "merchant",
            transaction: Id = "transaction",
            /// When the service recorded the notification.
            created: Timestamp = "created",
            /// When the fraud was reported, if the acquirer knows it.
            reported: Option<Timestamp> = "reported",
            reason: Option<FraudReason> = "reason",
        }
    }
}

/// A kind of fraud, as a code from 0 to 8. `assets/openapi.yaml` lists the codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FraudReason(u8);
stored! {
    FraudReason as i64: |reason| Param::Int(reason.0.into()), |code| Self::new(code).ok()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be from 0 to 8")]
pub struct InvalidFraudReason;

impl FraudReason {
    /// Another person used the card or its number.
    pub const FRAUDULENT_USE: Self = Self(1);

    pub fn new(code: i64) -> Result<Self, InvalidFraudReason> {
        u8::try_from(code).ok().filter(|code| *code <= 8).map(Self).ok_or(InvalidFraudReason)
    }

    pub fn code(self) -> u8 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_acquirer_id_is_short_and_printable() {
        let longest = "x".repeat(MAX_ACQUIRER_ID);
        for good in ["1", "evt_1 ~", &longest] {
            assert_eq!(good.parse::<AcquirerId>().unwrap().as_str(), good);
        }
        for bad in ["", "tab\t", "\u{e9}", &format!("{longest}x")] {
            assert_eq!(bad.parse::<AcquirerId>(), Err(InvalidAcquirerId), "{bad}");
        }
    }

    #[test]
    fn a_time_has_a_year_of_four_digits() {
        for (text, shown) in [
            ("0000-01-01T00:00:00Z", "0000-01-01T00:00:00Z"),
            ("2026-11-21T11:14:42.5+01:00", "2026-11-21T10:14:42.5Z"),
            ("9999-12-30T22:00:00Z", "9999-12-30T22:00:00Z"),
        ] {
            assert_eq!(acquirer_time(text).map(|time| time.to_string()), Ok(shown.to_owned()));
        }
        for text in [
            "",
            "yesterday",
            "2026-11-21",
            "0000-01-01T00:00:00+00:01",
            "-000001-12-31T23:59:59Z",
            "-009999-01-02T02:00:00Z",
            "9999-12-31T23:59:59Z",
            "10000-01-01T00:00:00Z",
        ] {
            assert_eq!(acquirer_time(text), Err(InvalidTime), "{text}");
        }
    }

    #[test]
    fn fraud_reasons_have_codes_from_0_to_8() {
        for code in 0..=8 {
            assert_eq!(FraudReason::new(code).map(FraudReason::code), Ok(code.try_into().unwrap()));
        }
        for code in [-1, 9, 256, i64::MAX] {
            assert_eq!(FraudReason::new(code), Err(InvalidFraudReason));
        }
    }
}
