//! Payments on their way to an acquirer, and what came of them.

use jiff::Timestamp;

use super::{
    card::Card,
    id::Id,
    json::Custom,
    merchant::Descriptor,
    money::{Amount, Currency},
    processing::ProcessingError,
    transaction::Tds,
};

/// A payment that is asked for. It holds nothing of a card.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Payment {
    /// The merchant.
    pub(crate) merchant: Id,
    /// The currency.
    pub(crate) currency: Currency,
    /// The amount.
    pub(crate) amount: Amount,
    /// The text on the customer's bank statement.
    pub(crate) descriptor: Descriptor,
    /// The merchant's own data.
    pub(crate) custom: Option<Custom>,
    /// Whether the merchant's server asks for it, with a card from earlier.
    pub(crate) recurring: bool,
}

/// What an acquirer says to a payment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The money is reserved. The acquirer knows the card by this reference from now on.
    Approved {
        /// Text that only the acquirer understands.
        reference: String,
        /// How far 3-D Secure went.
        tds: Tds,
    },
    /// It is not.
    Declined(ProcessingError),
}

/// What an acquirer wants a customer to be asked by 3-D Secure, and what the payment goes on with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Challenge {
    /// What may be kept of the card. Of the rest nothing is left while the customer is asked.
    pub(crate) card: Card,
    /// What the acquirer knows the challenge by.
    pub(crate) reference: String,
    /// When it is too late to answer.
    pub(crate) until: Timestamp,
}

/// How a customer answers a challenge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Consent {
    /// It is they who pay.
    Given,
    /// It is not, or they have changed their mind.
    Withheld,
}

/// What is written of a payment that has come to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Conclusion<'a> {
    /// Why it did not succeed, if it did not.
    pub(crate) error: Option<ProcessingError>,
    /// What the acquirer knows the card by from now on, if it succeeded.
    pub(crate) reference: Option<&'a str>,
    /// How far 3-D Secure went.
    pub(crate) tds: Tds,
    /// Whether the acquirer has to let go of what it may have reserved.
    pub(crate) is_reversed: bool,
}

impl<'a> Conclusion<'a> {
    /// By the acquirer's verdict; or by none, when the payment is given up. Then somebody was silent
    /// for too long: the customer, where they were challenged, and the acquirer otherwise.
    pub(crate) fn of(verdict: Option<&'a Verdict>, is_challenged: bool) -> Self {
        let failed = |error| Self {
            error: Some(error),
            reference: None,
            tds: Tds::None,
            is_reversed: verdict.is_none(),
        };
        match verdict {
            Some(Verdict::Approved { reference, tds }) => {
                Self { error: None, reference: Some(reference), tds: *tds, is_reversed: false }
            }
            Some(Verdict::Declined(error)) => failed(*error),
            None if is_challenged => failed(ProcessingError::FAILED_3D_SECURE),
            None => failed(ProcessingError::TRY_AGAIN),
        }
    }
}

/// A card from earlier that a payment may be made with.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Original {
    /// The card.
    pub(crate) card: Card,
    /// What the acquirer knows it by.
    pub(crate) reference: String,
}

/// What an acquirer has to be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Instruction {
    /// Its id: the acquirer carries it out once, however often it is sent.
    pub(crate) id: Id,
    /// The transaction.
    pub(crate) transaction: Id,
    /// The operation that the acquirer knows the payment by.
    pub(crate) payment: Id,
    /// What the acquirer knows the card by, if it said so.
    pub(crate) reference: Option<String>,
    /// What is to be done.
    pub(crate) order: Order,
    /// How much, in minor units of the payment's currency.
    pub(crate) amount: i64,
    /// Whether it is the transaction's first capture.
    pub(crate) is_first_capture: bool,
}

/// What an acquirer is to do with a payment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// Take money.
    Capture,
    /// Give money back.
    Refund,
    /// Let go of a part of what is reserved.
    Void,
    /// Let go of all that was reserved, or will have been.
    Reverse,
}

impl Order {
    /// Its name, as it is stored.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Capture => "capture",
            Self::Refund => "refund",
            Self::Void => "void",
            Self::Reverse => "reverse",
        }
    }

    /// The one with this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        let all = [Self::Capture, Self::Refund, Self::Void, Self::Reverse];
        all.into_iter().find(|order| order.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payment_that_nobody_decides_on_has_failed_and_is_reversed() {
        for (is_challenged, error) in
            [(true, ProcessingError::FAILED_3D_SECURE), (false, ProcessingError::TRY_AGAIN)]
        {
            let given_up = Conclusion::of(None, is_challenged);
            assert_eq!((given_up.error, given_up.is_reversed), (Some(error), true));
        }
    }

    #[test]
    fn the_verdict_of_the_acquirer_stands_whoever_was_asked() {
        for is_challenged in [true, false] {
            let declined = Verdict::Declined(ProcessingError::DECLINED);
            let declined = Conclusion::of(Some(&declined), is_challenged);
            assert_eq!(declined.error, Some(ProcessingError::DECLINED));
            let approved = Verdict::Approved { reference: "r".to_owned(), tds: Tds::Attempt };
            let approved = Conclusion::of(Some(&approved), is_challenged);
            assert_eq!((approved.error, approved.reference), (None, Some("r")));
            assert_eq!(approved.tds, Tds::Attempt);
            assert!(!declined.is_reversed && !approved.is_reversed);
        }
    }
}
