//! What acquirers tell of their own accord.

use std::str::FromStr;

use jiff::Timestamp;

use super::{
    dispute::{Decision, Reason},
    id::Id,
    money::Amount,
};

/// The most characters of an acquirer's own id.
pub(crate) const MAX_REFERENCE: usize = 255;

/// Something that happened to a transaction, by its acquirer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Notification {
    /// What the acquirer knows it by: told again under the same, it is the same.
    pub(crate) id: Reference,
    /// The transaction.
    pub(crate) transaction: Id,
    /// When it happened.
    pub(crate) created: Timestamp,
    /// What.
    pub(crate) event: Event,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Event {
    /// A dispute was opened.
    Opened {
        /// What the acquirer knows it by.
        dispute: Reference,
        /// How much, in minor units of the transaction's currency.
        amount: Amount,
        /// Why, if that is known.
        reason: Option<Reason>,
        /// Until when it can be answered.
        due: Timestamp,
    },
    /// A dispute was decided.
    Decided {
        /// What the acquirer knows it by.
        dispute: Reference,
        /// How.
        decision: Decision,
    },
    /// There is suspicion of fraud.
    Fraud {
        /// When it was reported, if that is known.
        reported: Option<Timestamp>,
        /// Of which kind, if that is known.
        reason: Option<FraudReason>,
    },
}

impl Event {
    /// The dispute that it is about.
    pub(crate) fn dispute(&self) -> Option<&Reference> {
        match self {
            Self::Opened { dispute, .. } | Self::Decided { dispute, .. } => Some(dispute),
            Self::Fraud { .. } => None,
        }
    }
}

/// An acquirer's own id: 1 to [`MAX_REFERENCE`] printable ASCII characters.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Reference(String);

/// Text that is no [`Reference`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be 1 to {MAX_REFERENCE} printable ASCII characters")]
pub(crate) struct InvalidReference;

impl Reference {
    /// Its text.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// The sandbox's id of something about this, of which there is one only.
    pub(crate) fn of_sandbox(what: &'static str, about: Id) -> Self {
        Self(format!("sandbox-{what}-{about}"))
    }

    /// One that was checked before it was stored.
    pub(crate) fn stored(text: String) -> Self {
        Self(text)
    }
}

impl FromStr for Reference {
    type Err = InvalidReference;

    fn from_str(text: &str) -> Result<Self, InvalidReference> {
        let is_printable = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
        let is_one = is_printable && (1..=MAX_REFERENCE).contains(&text.len());
        is_one.then(|| Self(text.to_owned())).ok_or(InvalidReference)
    }
}

/// A suspicion of fraud, as clients are told of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FraudAlert {
    /// Its id.
    pub(crate) id: Id,
    /// The merchant.
    pub(crate) merchant: Id,
    /// The transaction.
    pub(crate) transaction: Id,
    /// When we heard of it.
    pub(crate) created: Timestamp,
    /// When it was reported, if that is known.
    pub(crate) reported: Option<Timestamp>,
    /// Of which kind, if that is known.
    pub(crate) reason: Option<FraudReason>,
}

/// A kind of fraud, by its code: 0 is anything, 8 a cardholder who was manipulated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FraudReason(u8);

/// A number that is no [`FraudReason`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be from 0 to 8")]
pub(crate) struct InvalidFraudReason;

impl FraudReason {
    /// The card or its number was used by somebody else.
    pub(crate) const FRAUDULENT_USE: Self = Self(1);

    /// The kind with this code.
    pub(crate) fn new(code: i64) -> Result<Self, InvalidFraudReason> {
        u8::try_from(code).ok().filter(|code| *code <= 8).map(Self).ok_or(InvalidFraudReason)
    }

    /// Its code.
    pub(crate) fn code(self) -> u8 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_is_short_and_printable() {
        let longest = "x".repeat(MAX_REFERENCE);
        for good in ["1", "evt_1 ~", &longest] {
            assert_eq!(good.parse::<Reference>().unwrap().as_str(), good);
        }
        for bad in ["", "tab\t", "\u{e9}", &format!("{longest}x")] {
            assert_eq!(bad.parse::<Reference>(), Err(InvalidReference), "{bad}");
        }
    }

    #[test]
    fn kinds_of_fraud_are_those_of_the_table() {
        for code in 0..=8 {
            assert_eq!(FraudReason::new(code).map(FraudReason::code), Ok(code.try_into().unwrap()));
        }
        for code in [-1, 9, 256, i64::MAX] {
            assert_eq!(FraudReason::new(code), Err(InvalidFraudReason));
        }
    }
}
