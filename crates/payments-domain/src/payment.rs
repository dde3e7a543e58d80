//! Pending payments, their outcomes, and outbox entries for the acquirer.

use jiff::Timestamp;
use sql::{group, named};

use super::{
    acquirer_key::AcquirerKey,
    card::Card,
    custom_data::CustomData,
    event::TraceBytes,
    evidence::SubmittedEvidence,
    id::Id,
    merchant::Descriptor,
    money::{Amount, Currency},
    notification::AcquirerId,
    processing::ProcessingError,
    transaction::ThreeDSecure,
};

group! {
    /// A requested payment. It contains no card data: the payment is stored before the acquirer
    /// answers, and card data only after the answer.
    #[derive(Debug, Clone, PartialEq)]
    pub struct Payment {
        merchant: Id = "merchant",
        currency: Currency = "currency",
        amount: Amount = "amount",
        descriptor: Descriptor = "descriptor",
        /// Custom data of the merchant.
        custom: Option<CustomData> = "custom",
        /// Whether an app requested the payment with a card from an earlier transaction.
        recurring: bool = "recurring",
        /// `None`: no acquirer processes payments of this merchant.
        acquirer: Option<AcquirerName> = "acquirer",
    }
}

named! {
    /// The acquirers. The set is closed.
    pub enum AcquirerName {
        /// For test merchants. It moves no money.
        Sandbox = "sandbox",
        /// Any acquirer with an adapter that speaks our protocol.
        Http = "http",
        Stripe = "stripe",
    }
}

group! {
    /// What an acquirer can do with an authorization. What it cannot do is refused at once.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct Capabilities {
        /// Whether the first capture releases the rest of the amount.
        captures_once: bool = "captures_once",
        /// Captures and refunds are multiples of this, in minor units.
        amount_step: i64 = "amount_step",
        /// When the authorization ends. `None`: the acquirer does not say it.
        valid_until: Option<Timestamp> = "valid_until",
    }
}

impl Capabilities {
    pub fn have_ended(&self, now: Timestamp) -> bool {
        self.valid_until.is_some_and(|until| until <= now)
    }
}

impl Default for Capabilities {
    fn default() -> Self {
        Self { captures_once: false, amount_step: 1, valid_until: None }
    }
}

/// An acquirer's outcome of a payment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AcquirerOutcome {
    /// The amount is authorized.
    Approved {
        /// The acquirer's reference of the card, for later payments. Only the acquirer understands
        /// it. `None`: it has not kept the card.
        reference: Option<String>,
        tds: ThreeDSecure,
        capabilities: Capabilities,
    },
    /// The amount is not authorized.
    Declined(ProcessingError),
}

/// An authorization, as its acquirer knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Authorization {
    /// `None`: no acquirer processes payments of the merchant.
    pub acquirer: Option<AcquirerName>,
    /// The idempotency key of the request.
    pub key: AcquirerKey,
    /// The acquirer's own ID, if it gives one before it authorizes.
    pub id: Option<String>,
}

/// A pending payment that the acquirer or the customer has not answered in time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnansweredPayment {
    pub id: Id,
    pub authorization: Authorization,
}

/// A pending 3-D Secure challenge, with the data to continue the payment after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Challenge {
    pub authorization: Authorization,
    /// The card data that may be stored. The card number is not stored during the challenge.
    pub card: Card,
    /// Of the sandbox, its name of the challenge. Of other acquirers, the URL where the customer
    /// answers.
    pub reference: String,
    /// The time when the challenge expires.
    pub until: Timestamp,
}

impl Challenge {
    /// The URL at which the customer answers. `None`: the payment page asks the customer itself.
    pub fn url(&self) -> Option<&str> {
        let is_elsewhere = self.authorization.acquirer != Some(AcquirerName::Sandbox);
        is_elsewhere.then_some(&self.reference)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChallengeAnswer {
    /// The customer confirms the payment.
    Confirmed,
    /// The customer does not confirm it.
    Rejected,
    /// The customer comes back from the page of the acquirer, which knows the answer.
    Returned,
}

/// The end of a pending payment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Conclusion {
    /// The acquirer answered the request that makes the payment.
    Answered(AcquirerOutcome),
    /// The acquirer answered the job that asked later. The request has ended without an outcome.
    Found(AcquirerOutcome),
    /// The acquirer has not authorized the payment, and will not.
    NotDone,
    /// The customer did not answer the challenge in time. The acquirer still waits.
    Abandoned,
}

/// The result of a payment, as the transaction records it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PaymentResult<'a> {
    /// `None` if the payment succeeded.
    pub error: Option<ProcessingError>,
    /// The acquirer's reference of the card, if the payment succeeded and the acquirer kept the card.
    pub reference: Option<&'a str>,
    pub tds: ThreeDSecure,
    pub capabilities: Capabilities,
    /// Whether to send a reversal, because the acquirer may have authorized the amount.
    pub(crate) needs_reversal: bool,
}

impl<'a> PaymentResult<'a> {
    /// `is_challenged`: the customer had to answer 3-D Secure. `is_keyed`: the request has an
    /// idempotency key, so that its caller gets the outcome by repeating it. If the caller cannot
    /// get the outcome, an approval that the job found is reversed, and the payment has failed.
    pub(crate) fn of(conclusion: &'a Conclusion, is_challenged: bool, is_keyed: bool) -> Self {
        let failed = |error, needs_reversal| Self {
            error: Some(error),
            reference: None,
            tds: ThreeDSecure::None,
            capabilities: Capabilities::default(),
            needs_reversal,
        };
        match conclusion {
            Conclusion::Found(AcquirerOutcome::Approved { .. }) if !is_keyed => {
                failed(ProcessingError::TRY_AGAIN, true)
            }
            Conclusion::Answered(outcome) | Conclusion::Found(outcome) => match outcome {
                AcquirerOutcome::Approved { reference, tds, capabilities } => Self {
                    error: None,
                    reference: reference.as_deref(),
                    tds: *tds,
                    capabilities: *capabilities,
                    needs_reversal: false,
                },
                AcquirerOutcome::Declined(error) => failed(*error, false),
            },
            Conclusion::NotDone if is_challenged => {
                failed(ProcessingError::FAILED_3D_SECURE, false)
            }
            Conclusion::NotDone => failed(ProcessingError::TRY_AGAIN, false),
            Conclusion::Abandoned => failed(ProcessingError::FAILED_3D_SECURE, true),
        }
    }
}

group! {
    /// A card of an earlier transaction, for another payment.
    #[derive(Debug, Clone, PartialEq)]
    pub struct CardOnFile {
        card: Card = ..,
        /// The acquirer that knows the reference.
        acquirer: Option<AcquirerName> = "acquirer",
        /// The acquirer's reference of the card.
        reference: String = "reference",
    }
}

/// A capture, refund, void, reversal or answer to a dispute that a job sends to the acquirer until it
/// is confirmed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutboxEntry {
    pub id: Id,
    /// The acquirer executes the entry once, however often it is sent.
    pub key: AcquirerKey,
    pub transaction: Id,
    /// The authorization that the entry changes.
    pub authorization: Authorization,
    /// The acquirer's reference of the card. `None` if the payment failed, or the card was not kept.
    pub reference: Option<String>,
    pub kind: OutboxKind,
    pub currency: Currency,
    /// In minor units.
    pub amount: i64,
    /// The text for the statement of the customer. `None`: a void or a reversal.
    pub descriptor: Option<Descriptor>,
    /// Whether the entry is the first capture of the transaction. The sandbox sends its test
    /// notifications after this one.
    pub is_first_capture: bool,
    /// Whether nothing is pending, and no later capture follows.
    pub is_last: bool,
    /// As in [`Capabilities`].
    pub captures_once: bool,
    /// The dispute that the entry answers, and the acquirer's ID of it.
    pub dispute: Option<(Id, AcquirerId)>,
    /// The trace of the request that made the entry.
    pub trace: Option<TraceBytes>,
    /// Loaded just before the entry is sent.
    pub evidence: Option<SubmittedEvidence>,
}

named! {
    /// The kind of an outbox entry.
    pub enum OutboxKind {
        Capture = "capture",
        Refund = "refund",
        /// Release an authorized amount that is not captured, or a part of it.
        Void = "void",
        /// Release the whole authorized amount, even if the acquirer receives the authorization
        /// later.
        Reverse = "reverse",
        /// Submit the evidence of a dispute.
        Evidence = "evidence",
        /// Accept the loss of a dispute.
        Acceptance = "acceptance",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn approved() -> AcquirerOutcome {
        let (reference, tds) = (Some("r".to_owned()), ThreeDSecure::Attempt);
        AcquirerOutcome::Approved { reference, tds, capabilities: Capabilities::default() }
    }

    #[test]
    fn a_payment_that_the_acquirer_has_not_done_has_failed() {
        for is_keyed in [true, false] {
            let failed = PaymentResult::of(&Conclusion::NotDone, false, is_keyed);
            assert_eq!(
                (failed.error, failed.needs_reversal),
                (Some(ProcessingError::TRY_AGAIN), false)
            );
            for (conclusion, needs_reversal) in
                [(Conclusion::NotDone, false), (Conclusion::Abandoned, true)]
            {
                let failed = PaymentResult::of(&conclusion, true, is_keyed);
                assert_eq!(failed.error, Some(ProcessingError::FAILED_3D_SECURE));
                assert_eq!(failed.needs_reversal, needs_reversal);
            }
        }
    }

    #[test]
    fn an_approval_that_no_caller_can_learn_is_reversed() {
        let found = Conclusion::Found(approved());
        let unknown = PaymentResult::of(&found, false, false);
        assert_eq!(
            (unknown.error, unknown.needs_reversal),
            (Some(ProcessingError::TRY_AGAIN), true)
        );
        let known = PaymentResult::of(&found, false, true);
        assert_eq!((known.error, known.needs_reversal), (None, false));
    }

    #[test]
    fn the_outcome_of_the_acquirer_overrides_the_challenge() {
        for is_challenged in [true, false] {
            let declined = AcquirerOutcome::Declined(ProcessingError::DECLINED);
            for declined in [Conclusion::Answered(declined.clone()), Conclusion::Found(declined)] {
                let declined = PaymentResult::of(&declined, is_challenged, false);
                assert_eq!(declined.error, Some(ProcessingError::DECLINED));
                assert!(!declined.needs_reversal);
            }
            let approved = Conclusion::Answered(approved());
            let approved = PaymentResult::of(&approved, is_challenged, false);
            assert_eq!((approved.error, approved.reference), (None, Some("r")));
            assert_eq!((approved.tds, approved.needs_reversal), (ThreeDSecure::Attempt, false));
        }
    }
}
