//! Payments on their way to an acquirer, and what came of them.

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
pub struct Payment {
    /// The merchant.
    pub merchant: Id,
    /// The currency.
    pub currency: Currency,
    /// The amount.
    pub amount: Amount,
    /// The text on the customer's bank statement.
    pub descriptor: Descriptor,
    /// The merchant's own data.
    pub custom: Option<Custom>,
    /// Whether the customer was asked by 3-D Secure.
    pub tds: Tds,
    /// Whether the merchant's server asks for it, with a card from earlier.
    pub recurring: bool,
}

/// What an acquirer says to a payment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The money is reserved. The acquirer knows the card by this reference from now on.
    Approved {
        /// Text that only the acquirer understands.
        reference: String,
    },
    /// It is not.
    Declined(ProcessingError),
}

/// A card from earlier that a payment may be made with.
#[derive(Debug, Clone, PartialEq)]
pub struct Original {
    /// The card.
    pub card: Card,
    /// What the acquirer knows it by.
    pub reference: String,
}

/// What an acquirer has to be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instruction {
    /// Its id: the acquirer carries it out once, however often it is sent.
    pub id: Id,
    /// The transaction.
    pub transaction: Id,
    /// The operation that the acquirer knows the payment by.
    pub payment: Id,
    /// What the acquirer knows the card by, if it said so.
    pub reference: Option<String>,
    /// What is to be done.
    pub order: Order,
    /// How much, in minor units of the payment's currency.
    pub amount: i64,
    /// Whether it is the transaction's first capture.
    pub is_first_capture: bool,
}

/// What an acquirer is to do with a payment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
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
    pub fn name(self) -> &'static str {
        match self {
            Self::Capture => "capture",
            Self::Refund => "refund",
            Self::Void => "void",
            Self::Reverse => "reverse",
        }
    }

    /// The one with this name.
    pub fn named(name: &str) -> Option<Self> {
        let all = [Self::Capture, Self::Refund, Self::Void, Self::Reverse];
        all.into_iter().find(|order| order.name() == name)
    }
}
