//! The test cards of the sandbox.

use serde_json::{Value, json};

/// The expiry of [`Card::details`] as answers show it. The month is February of a leap year.
pub const EXPIRY: &str = "2048-02-29T23:59:59.999Z";

/// The number of a card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Card(pub &'static str);

impl Card {
    /// Charged.
    pub const VISA: Self = Self("4100000000000000");
    /// Charged.
    pub const OTHER_VISA: Self = Self("1000000000000000");
    /// Charged.
    pub const MASTERCARD: Self = Self("5100000000000000");
    /// A number that a live merchant may get: it has a check digit. The sandbox does not know it.
    pub const LIVE: Self = Self("4000056655665556");
    /// Declined by the bank.
    pub const DECLINED: Self = Self("4200000000000000");
    /// Charged when the customer pays. Later charges fail for lack of funds.
    pub const LATER_EMPTY: Self = Self("4100000000000207");

    /// All cards of the sandbox that are charged without a challenge, with their schemes.
    pub const GOOD: [(Self, &'static str); 7] = [
        (Self::VISA, "visa"),
        (Self::OTHER_VISA, "visa"),
        (Self::MASTERCARD, "mastercard"),
        (Self::LATER_EMPTY, "visa"),
        (Self("4100000000000101"), "visa"),
        (Self("4100000000000102"), "visa"),
        (Self("4100000000000103"), "visa"),
    ];

    /// The cards that are declined, with the codes.
    pub const BAD: [(Self, i64); 18] = [
        (Self::DECLINED, 8),
        (Self("4100000000000002"), 2),
        (Self("4100000000000003"), 3),
        (Self("4100000000000004"), 4),
        (Self("4100000000000005"), 5),
        (Self("4100000000000006"), 6),
        (Self("4100000000000007"), 7),
        (Self("4100000000000008"), 8),
        (Self("4100000000000009"), 9),
        (Self("4100000000000010"), 10),
        (Self("4100000000000011"), 11),
        (Self("4100000000000012"), 12),
        (Self("4100000000000025"), 25),
        (Self("4100000000000029"), 29),
        (Self("4100000000000030"), 30),
        (Self("4100000000000032"), 30),
        (Self("4300000000000000"), 29),
        (Self("5300000000000000"), 29),
    ];

    /// The cards with a challenge on the payment page. If the holder confirms, 3-D Secure has this
    /// result; `None` means that it fails.
    pub const CHALLENGED: [(Self, Option<&'static str>); 3] = [
        (Self("4100000000000030"), Some("full")),
        (Self("4100000000000031"), None),
        (Self("4100000000000032"), Some("attempt")),
    ];

    /// The card details in a payment.
    pub fn details(self) -> Value {
        json!({ "number": self.0, "expiry": { "month": 2, "year": 2048 }, "code": "739" })
    }

    /// The bank identification number: the first six digits.
    pub fn bin(self) -> &'static str {
        &self.0[..6]
    }

    pub fn last4(self) -> &'static str {
        &self.0[12..]
    }
}

/// The group of messages that the payment page shows for a decline with this code.
pub fn group_of(code: i64) -> &'static str {
    match code {
        2..=5 => "details",
        6 => "expired",
        7 | 25 => "funds",
        8..=11 => "bank",
        12 => "again",
        29 => "unsupported",
        31 => "unconfirmed",
        _ => panic!("the page shows no code {code}"),
    }
}
