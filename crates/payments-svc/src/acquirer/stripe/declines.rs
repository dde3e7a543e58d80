//! Stripe's codes for failed payments, and ours.

use payments_domain::ProcessingError;

use super::client::{CARD_ERROR, Refusal};

/// Codes of Stripe, each with the code of a [`ProcessingError`]: 3 to 5 wrong number, security code
/// and date, 6 expired, 7 no funds, 8 declined by the bank, 9 restricted, 10 rejected card, 11 rejected
/// transaction, 12 try again, 25 limit exceeded, 29 not supported, 30 and 31 3-D Secure.
const TABLE: [(&str, u8); 46] = [
    ("incorrect_number", 3),
    ("invalid_number", 3),
    ("invalid_account", 3),
    ("incorrect_cvc", 4),
    ("invalid_cvc", 4),
    ("invalid_expiry_month", 5),
    ("invalid_expiry_year", 5),
    ("expired_card", 6),
    ("insufficient_funds", 7),
    ("card_declined", 8),
    ("generic_decline", 8),
    ("do_not_honor", 8),
    ("do_not_try_again", 8),
    ("call_issuer", 8),
    ("no_action_taken", 8),
    ("not_permitted", 8),
    ("transaction_not_allowed", 8),
    ("revocation_of_authorization", 8),
    ("revocation_of_all_authorizations", 8),
    ("stop_payment_order", 8),
    ("security_violation", 8),
    ("restricted_card", 9),
    ("pickup_card", 9),
    ("lost_card", 9),
    ("stolen_card", 9),
    ("fraudulent", 10),
    ("merchant_blacklist", 10),
    ("highest_risk_level", 10),
    ("duplicate_transaction", 11),
    ("invalid_amount", 11),
    ("amount_too_small", 11),
    ("amount_too_large", 11),
    ("testmode_decline", 11),
    ("live_mode_test_card", 11),
    ("processing_error", 12),
    ("try_again_later", 12),
    ("issuer_not_available", 12),
    ("reenter_transaction", 12),
    ("approve_with_id", 12),
    ("card_velocity_exceeded", 25),
    ("withdrawal_count_limit_exceeded", 25),
    ("card_not_supported", 29),
    ("currency_not_supported", 29),
    ("authentication_required", 30),
    ("authentication_not_handled", 30),
    ("payment_intent_authentication_failure", 31),
];

impl Refusal {
    /// Why the payment failed. The bank's decline code says more than the code of Stripe. A reason
    /// that the table does not know is a decline, too.
    pub(super) fn reason(&self) -> ProcessingError {
        self.known().unwrap_or(ProcessingError::DECLINED)
    }

    /// Like [`Self::reason`]. `None` if the refusal is not about the card or the amount.
    pub(super) fn decline(&self) -> Option<ProcessingError> {
        let is_about_card = self.kind == CARD_ERROR;
        self.known().or(is_about_card.then_some(ProcessingError::DECLINED))
    }

    fn known(&self) -> Option<ProcessingError> {
        let codes = [&*self.decline_code, &*self.code].into_iter();
        let mut rows = codes.filter_map(|code| TABLE.iter().find(|(name, _)| *name == code));
        rows.next().and_then(|(_, code)| ProcessingError::of_acquirer(*code))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(code: &str, decline_code: &str) -> Refusal {
        let (code, decline_code) = (code.to_owned(), decline_code.to_owned());
        Refusal { code, decline_code, ..Refusal::default() }
    }

    #[test]
    fn the_code_of_the_bank_says_more() {
        for (code, decline_code, expected) in [
            ("card_declined", "insufficient_funds", Some(7)),
            ("card_declined", "a_new_one", Some(8)),
            ("expired_card", "", Some(6)),
            ("a_new_one", "", None),
            ("", "", None),
        ] {
            let refusal = refusal(code, decline_code);
            let decline = refusal.decline().map(ProcessingError::code);
            assert_eq!(decline, expected, "{code} {decline_code}");
            assert_eq!(refusal.reason().code(), expected.unwrap_or(8));
            let of_card = Refusal { kind: CARD_ERROR.to_owned(), ..refusal };
            assert_eq!(of_card.decline(), Some(of_card.reason()));
        }
    }

    #[test]
    fn every_code_is_one_that_an_acquirer_decides() {
        for (name, code) in TABLE {
            assert!(ProcessingError::of_acquirer(code).is_some(), "{name}");
        }
    }
}
