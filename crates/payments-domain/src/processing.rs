//! Processing errors: why a payment fails, and which details a caller may see.

use sql::{Param, stored};

/// A processing error: a stable code, a message, and who can perhaps correct the problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessingError(&'static Row);
stored! {
    ProcessingError as u8: |error| Param::Int(error.code().into()), Self::from_code
}

#[derive(Debug, PartialEq, Eq)]
struct Row {
    code: u8,
    message: &'static str,
    client: bool,
    merchant: bool,
}

const ROWS: [Row; 29] = [
    row(1, "invalid currency", true, true),
    row(2, "invalid card details", true, false),
    row(3, "invalid card number", true, false),
    row(4, "invalid security code", true, false),
    row(5, "invalid expiry date", true, false),
    row(6, "card expired", true, false),
    row(7, "insufficient funds", true, false),
    row(8, "declined by the bank", true, false),
    row(9, "card restricted", true, false),
    row(10, "card rejected", true, false),
    row(11, "transaction rejected", true, true),
    row(12, "error, try again", true, true),
    row(13, "invalid descriptor", false, true),
    row(14, "invalid amount", true, true),
    row(15, "missing amount", true, true),
    row(16, "missing currency", true, true),
    row(17, "missing card number", true, false),
    row(18, "missing expiry month", true, false),
    row(19, "missing expiry year", true, false),
    row(20, "missing security code", true, false),
    row(21, "missing secure connection", false, true),
    row(22, "amount above what is allowed", false, true),
    row(25, "card limit exceeded", true, false),
    row(26, "invalid merchant key", false, true),
    row(27, "merchant may not create transactions", false, true),
    row(28, "merchant may not save cards", false, true),
    row(29, "card not supported", true, false),
    row(30, "3-D Secure required", true, false),
    row(31, "3-D Secure failed", true, false),
];

const fn row(code: u8, message: &'static str, client: bool, merchant: bool) -> Row {
    Row { code, message, client, merchant }
}

/// A group of processing errors. The payment page and `POST /cards` reveal only the group, because
/// a thief who tries card numbers must not learn which part of the data was right.
/// `POST /transactions` returns the exact code, as the specification requires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeclineGroup {
    /// The number, the expiry date or the security code is wrong or missing.
    Details,
    /// The account lacks money, or the card's limit is exceeded.
    Funds,
    Expired,
    /// The bank rejects the payment.
    Bank,
    /// The acquirer does not accept cards of this kind.
    Unsupported,
    /// The customer did not pass 3-D Secure. This reveals nothing about the card: the customer has
    /// seen the challenge, and only their answer, or a missing answer, makes it fail.
    Unconfirmed,
    /// A temporary error: the customer can try again.
    Retry,
    /// Only the shop can correct this.
    Shop,
}

impl DeclineGroup {
    /// The name in the HTML of the payment page, for programs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Details => "details",
            Self::Funds => "funds",
            Self::Expired => "expired",
            Self::Bank => "bank",
            Self::Unsupported => "unsupported",
            Self::Unconfirmed => "unconfirmed",
            Self::Retry => "again",
            Self::Shop => "shop",
        }
    }
}

impl ProcessingError {
    const INVALID_DETAILS: Self = Self(&ROWS[1]);
    pub const INSUFFICIENT_FUNDS: Self = Self(&ROWS[6]);
    pub const DECLINED: Self = Self(&ROWS[7]);
    pub const EXPIRED: Self = Self(&ROWS[5]);
    pub const REJECTED: Self = Self(&ROWS[10]);
    pub const TRY_AGAIN: Self = Self(&ROWS[11]);
    pub const MAY_NOT_CREATE: Self = Self(&ROWS[24]);
    pub const MAY_NOT_SAVE: Self = Self(&ROWS[25]);
    pub const NOT_SUPPORTED: Self = Self(&ROWS[26]);
    pub const NEEDS_3D_SECURE: Self = Self(&ROWS[27]);
    pub const FAILED_3D_SECURE: Self = Self(&ROWS[28]);

    pub fn from_code(code: u8) -> Option<Self> {
        ROWS.iter().find(|row| row.code == code).map(Self)
    }

    /// The error with this code, if it is one that an acquirer decides.
    pub fn of_acquirer(code: u8) -> Option<Self> {
        Some(code).filter(|code| matches!(code, 2..=12 | 25 | 29..=31)).and_then(Self::from_code)
    }

    pub fn code(self) -> u8 {
        self.0.code
    }

    pub fn message(self) -> &'static str {
        self.0.message
    }

    /// Whether the customer can perhaps correct the problem.
    pub fn customer_can_fix(self) -> bool {
        self.0.client
    }

    /// Whether the merchant can perhaps correct the problem.
    pub fn merchant_can_fix(self) -> bool {
        self.0.merchant
    }

    pub fn group(self) -> DeclineGroup {
        match self.0.code {
            2..=5 | 17..=20 => DeclineGroup::Details,
            6 => DeclineGroup::Expired,
            7 | 25 => DeclineGroup::Funds,
            // Code 30 has no separate group: it would reveal that the card exists.
            8..=11 | 30 => DeclineGroup::Bank,
            12 => DeclineGroup::Retry,
            29 => DeclineGroup::Unsupported,
            31 => DeclineGroup::Unconfirmed,
            _ => DeclineGroup::Shop,
        }
    }

    /// The error that represents the whole group, for callers without credentials. `POST /cards`
    /// only verifies a card and never starts 3-D Secure, so a failure of 3-D Secure counts as a
    /// decline.
    #[must_use]
    pub fn group_error(self) -> Self {
        match self.group() {
            DeclineGroup::Details => Self::INVALID_DETAILS,
            DeclineGroup::Funds => Self::INSUFFICIENT_FUNDS,
            DeclineGroup::Expired => Self::EXPIRED,
            DeclineGroup::Bank | DeclineGroup::Unconfirmed => Self::DECLINED,
            DeclineGroup::Unsupported => Self::NOT_SUPPORTED,
            DeclineGroup::Retry | DeclineGroup::Shop => self,
        }
    }

    /// Whether the error counts as a failed card for the rate limit. Errors of the service and of
    /// the shop do not: they do not help a thief who tries card numbers, and can happen again for a
    /// good card.
    pub fn counts_against_limit(self) -> bool {
        !matches!(self.group(), DeclineGroup::Retry | DeclineGroup::Shop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_named_errors_have_their_codes() {
        let named = [
            (ProcessingError::INVALID_DETAILS, 2),
            (ProcessingError::EXPIRED, 6),
            (ProcessingError::INSUFFICIENT_FUNDS, 7),
            (ProcessingError::DECLINED, 8),
            (ProcessingError::REJECTED, 11),
            (ProcessingError::TRY_AGAIN, 12),
            (ProcessingError::MAY_NOT_CREATE, 27),
            (ProcessingError::MAY_NOT_SAVE, 28),
            (ProcessingError::NOT_SUPPORTED, 29),
            (ProcessingError::NEEDS_3D_SECURE, 30),
            (ProcessingError::FAILED_3D_SECURE, 31),
        ];
        for (error, code) in named {
            assert_eq!((error.code(), ProcessingError::from_code(code)), (code, Some(error)));
        }
        assert!([0, 23, 24, 32].iter().all(|&code| ProcessingError::from_code(code).is_none()));
    }

    fn codes_in(group: DeclineGroup) -> Vec<u8> {
        ROWS.iter()
            .filter(|row| ProcessingError(row).group() == group)
            .map(|row| row.code)
            .collect()
    }

    #[test]
    fn every_code_belongs_to_one_group() {
        for (group, codes) in [
            (DeclineGroup::Details, &[2, 3, 4, 5, 17, 18, 19, 20][..]),
            (DeclineGroup::Funds, &[7, 25]),
            (DeclineGroup::Expired, &[6]),
            (DeclineGroup::Bank, &[8, 9, 10, 11, 30]),
            (DeclineGroup::Unsupported, &[29]),
            (DeclineGroup::Unconfirmed, &[31]),
            (DeclineGroup::Retry, &[12]),
            (DeclineGroup::Shop, &[1, 13, 14, 15, 16, 21, 22, 26, 27, 28]),
        ] {
            assert_eq!(codes_in(group), codes, "{group:?}");
        }
    }

    #[test]
    fn callers_without_credentials_see_only_the_group() {
        for (code, expected) in [
            (4, 2),
            (25, 7),
            (6, 6),
            (9, 8),
            (11, 8),
            (30, 8),
            (31, 8),
            (29, 29),
            (12, 12),
            (28, 28),
        ] {
            let error = ProcessingError::from_code(code).unwrap();
            assert_eq!(error.group_error().code(), expected, "{code}");
            assert_eq!(error.counts_against_limit(), ![12, 28].contains(&code), "{code}");
        }
    }
}
