//! Why an acquirer does not do what it is asked.

/// A processing error: a stable code, what it means, and who may be to blame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessingError(&'static Row);

#[derive(Debug, PartialEq, Eq)]
struct Row {
    code: u8,
    message: &'static str,
    client: bool,
    merchant: bool,
}

/// Every code.
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

impl ProcessingError {
    /// Insufficient funds.
    pub const INSUFFICIENT_FUNDS: Self = Self(&ROWS[6]);
    /// Declined by the bank.
    pub const DECLINED: Self = Self(&ROWS[7]);
    /// The card has expired.
    pub const EXPIRED: Self = Self(&ROWS[5]);
    /// Something else went wrong: try again.
    pub const TRY_AGAIN: Self = Self(&ROWS[11]);
    /// The merchant may not create transactions.
    pub const MAY_NOT_CREATE: Self = Self(&ROWS[24]);
    /// The merchant may not save cards.
    pub const MAY_NOT_SAVE: Self = Self(&ROWS[25]);
    /// The card is not supported.
    pub const NOT_SUPPORTED: Self = Self(&ROWS[26]);
    /// The card asks for 3-D Secure.
    pub const NEEDS_3D_SECURE: Self = Self(&ROWS[27]);
    /// 3-D Secure failed.
    pub const FAILED_3D_SECURE: Self = Self(&ROWS[28]);

    /// The error with this code.
    pub fn coded(code: u8) -> Option<Self> {
        ROWS.iter().find(|row| row.code == code).map(Self)
    }

    /// Its code.
    pub fn code(self) -> u8 {
        self.0.code
    }

    /// What it means, for people.
    pub fn message(self) -> &'static str {
        self.0.message
    }

    /// Whether the customer may be to blame.
    pub fn blames_client(self) -> bool {
        self.0.client
    }

    /// Whether the merchant may be to blame.
    pub fn blames_merchant(self) -> bool {
        self.0.merchant
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_named_errors_have_their_codes() {
        let named = [
            (ProcessingError::EXPIRED, 6),
            (ProcessingError::INSUFFICIENT_FUNDS, 7),
            (ProcessingError::DECLINED, 8),
            (ProcessingError::TRY_AGAIN, 12),
            (ProcessingError::MAY_NOT_CREATE, 27),
            (ProcessingError::MAY_NOT_SAVE, 28),
            (ProcessingError::NOT_SUPPORTED, 29),
            (ProcessingError::NEEDS_3D_SECURE, 30),
            (ProcessingError::FAILED_3D_SECURE, 31),
        ];
        for (error, code) in named {
            assert_eq!((error.code(), ProcessingError::coded(code)), (code, Some(error)));
        }
        assert!([0, 23, 24, 32].iter().all(|&code| ProcessingError::coded(code).is_none()));
    }
}
