//! The cards of the sandbox.

use serde_json::{Value, json};

/// The expiry that goes with [`Card::details`], as it is shown: a leap year's February.
pub const EXPIRY: &str = "2048-02-29T23:59:59.999Z";

/// A card, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Card(pub &'static str);

impl Card {
    /// A Visa card that is charged.
    pub const VISA: Self = Self("4100000000000000");
    /// Another.
    pub const OTHER_VISA: Self = Self("1000000000000000");
    /// A Mastercard that is charged.
    pub const MASTERCARD: Self = Self("5100000000000000");
    /// One that the bank declines.
    pub const DECLINED: Self = Self("4200000000000000");
    /// One that the customer is charged, and that later has no funds.
    pub const LATER_EMPTY: Self = Self("4100000000000207");

    /// All the cards of the sandbox that are charged as they are, each with its scheme.
    pub const GOOD: [(Self, &'static str); 7] = [
        (Self::VISA, "visa"),
        (Self::OTHER_VISA, "visa"),
        (Self::MASTERCARD, "mastercard"),
        (Self::LATER_EMPTY, "visa"),
        (Self("4100000000000101"), "visa"),
        (Self("4100000000000102"), "visa"),
        (Self("4100000000000103"), "visa"),
    ];

    /// The others, each with the code of its refusal.
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

    /// Those whose holder is asked on the payment page, each with how far 3-D Secure goes when they
    /// confirm, or with nothing where it fails.
    pub const CHALLENGED: [(Self, Option<&'static str>); 3] = [
        (Self("4100000000000030"), Some("full")),
        (Self("4100000000000031"), None),
        (Self("4100000000000032"), Some("attempt")),
    ];

    /// What a customer types in.
    pub fn details(self) -> Value {
        json!({ "number": self.0, "expiry": { "month": 2, "year": 2048 }, "code": "739" })
    }

    /// The first six digits.
    pub fn bin(self) -> &'static str {
        &self.0[..6]
    }

    /// The last four digits.
    pub fn last4(self) -> &'static str {
        &self.0[12..]
    }
}

/// The group that the payment page shows for a decline with this code.
///
/// # Panics
///
/// When the sandbox declines no card on the page with this code.
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
