//! Pending payments, their outcomes, and outbox entries for the acquirer.

use jiff::Timestamp;

use super::{
    acquirer_key::AcquirerKey,
    card::Card,
    custom_data::CustomData,
    id::Id,
    merchant::Descriptor,
    money::{Amount, Currency},
    processing::ProcessingError,
    transaction::ThreeDSecure,
};

/// A requested payment. It contains no card data: the payment is stored before the acquirer
/// answers, and card data only after the answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Payment {
    pub(crate) merchant: Id,
    pub(crate) currency: Currency,
    pub(crate) amount: Amount,
    pub(crate) descriptor: Descriptor,
    /// Custom data of the merchant.
    pub(crate) custom: Option<CustomData>,
    /// Whether an app requested the payment with a card from an earlier transaction.
    pub(crate) recurring: bool,
}

/// An acquirer's outcome of a payment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AcquirerOutcome {
    /// The amount is authorized.
    Approved {
        /// The acquirer's reference of the card, for later payments. Only the acquirer understands
        /// it.
        reference: String,
        tds: ThreeDSecure,
    },
    /// The amount is not authorized.
    Declined(ProcessingError),
}

/// A pending 3-D Secure challenge, with the data to continue the payment after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Challenge {
    /// The card data that may be stored. The card number is not stored during the challenge.
    pub(crate) card: Card,
    /// The acquirer's ID of the challenge.
    pub(crate) reference: String,
    /// The time when the challenge expires.
    pub(crate) until: Timestamp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChallengeAnswer {
    /// The customer confirms the payment.
    Confirmed,
    /// The customer does not confirm it.
    Rejected,
}

/// The result of a payment, as the transaction records it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PaymentResult<'a> {
    /// `None` if the payment succeeded.
    pub(crate) error: Option<ProcessingError>,
    /// The acquirer's reference of the card, if the payment succeeded.
    pub(crate) reference: Option<&'a str>,
    pub(crate) tds: ThreeDSecure,
    /// Whether to send a reversal, because the acquirer may have authorized the amount.
    pub(crate) needs_reversal: bool,
}

impl<'a> PaymentResult<'a> {
    /// The result for the acquirer's outcome. Without an outcome the payment has failed, because
    /// the customer did not answer the challenge in time, or the acquirer did not answer at all.
    pub(crate) fn of(acquirer_outcome: Option<&'a AcquirerOutcome>, is_challenged: bool) -> Self {
        let failed = |error| Self {
            error: Some(error),
            reference: None,
            tds: ThreeDSecure::None,
            needs_reversal: acquirer_outcome.is_none(),
        };
        match acquirer_outcome {
            Some(AcquirerOutcome::Approved { reference, tds }) => {
                Self { error: None, reference: Some(reference), tds: *tds, needs_reversal: false }
            }
            Some(AcquirerOutcome::Declined(error)) => failed(*error),
            None if is_challenged => failed(ProcessingError::FAILED_3D_SECURE),
            None => failed(ProcessingError::TRY_AGAIN),
        }
    }
}

/// A card of an earlier transaction, for another payment.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CardOnFile {
    pub(crate) card: Card,
    /// The acquirer's reference of the card.
    pub(crate) reference: String,
}

/// A capture, refund, void or reversal that a job sends to the acquirer until it is confirmed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OutboxEntry {
    pub(crate) id: Id,
    /// The acquirer executes the entry once, however often it is sent.
    pub(crate) key: AcquirerKey,
    pub(crate) transaction: Id,
    /// The key of the authorization. The acquirer knows the payment by it.
    pub(crate) payment: AcquirerKey,
    /// The acquirer's reference of the card. `None` if the payment failed.
    pub(crate) reference: Option<String>,
    pub(crate) kind: OutboxKind,
    /// In minor units of the payment's currency.
    pub(crate) amount: i64,
    /// Whether the entry is the first capture of the transaction. The sandbox sends its test
    /// notifications after this one.
    pub(crate) is_first_capture: bool,
}

/// The kind of an outbox entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OutboxKind {
    Capture,
    Refund,
    /// Release an authorized amount that is not captured, or a part of it.
    Void,
    /// Release the whole authorized amount, even if the acquirer receives the authorization later.
    Reverse,
}

impl OutboxKind {
    /// The name in the database.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Capture => "capture",
            Self::Refund => "refund",
            Self::Void => "void",
            Self::Reverse => "reverse",
        }
    }

    pub(crate) fn from_name(name: &str) -> Option<Self> {
        let all = [Self::Capture, Self::Refund, Self::Void, Self::Reverse];
        all.into_iter().find(|order| order.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payment_without_an_outcome_has_failed_and_is_reversed() {
        for (is_challenged, error) in
            [(true, ProcessingError::FAILED_3D_SECURE), (false, ProcessingError::TRY_AGAIN)]
        {
            let failed = PaymentResult::of(None, is_challenged);
            assert_eq!((failed.error, failed.needs_reversal), (Some(error), true));
        }
    }

    #[test]
    fn the_outcome_of_the_acquirer_overrides_the_challenge() {
        for is_challenged in [true, false] {
            let declined = AcquirerOutcome::Declined(ProcessingError::DECLINED);
            let declined = PaymentResult::of(Some(&declined), is_challenged);
            assert_eq!(declined.error, Some(ProcessingError::DECLINED));
            let approved =
                AcquirerOutcome::Approved { reference: "r".to_owned(), tds: ThreeDSecure::Attempt };
            let approved = PaymentResult::of(Some(&approved), is_challenged);
            assert_eq!((approved.error, approved.reference), (None, Some("r")));
            assert_eq!(approved.tds, ThreeDSecure::Attempt);
            assert!(!declined.needs_reversal && !approved.needs_reversal);
        }
    }
}
