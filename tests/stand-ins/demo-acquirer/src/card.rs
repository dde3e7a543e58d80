//! The test cards. Their numbers pass the Luhn check, because payments-svc tests it for live
//! merchants.

use jiff::civil::Date;

/// The numbers of Visa cards are these digits, two digits that choose the outcome, and the check
/// digit.
const VISA: &str = "4100000000000";

const MASTERCARD: &str = "5100000000000008";

/// References of cards are this text and the last four digits, so they outlive the book.
const REFERENCE: &str = "card-";

/// The outcome of a card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Approve,
    Challenge(ThreeDSecure),
    /// Declines with a response code of payments-svc.
    Decline(u8),
}

/// How 3-D Secure ends after the customer has confirmed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ThreeDSecure {
    Full,
    Attempt,
    Fail,
}

/// The outcome of a card that a customer enters, and the reference for later payments. `expiry` is
/// year and month.
pub(crate) fn judge(number: &str, expiry: (i16, i8), today: Date) -> (Verdict, String) {
    let reference = format!("{REFERENCE}{}", number.get(number.len() - 4..).unwrap_or_default());
    let verdict = if !passes_luhn(number) {
        Verdict::Decline(3)
    } else if has_expired(expiry, today) {
        Verdict::Decline(6)
    } else {
        match kind(number) {
            Some(0 | 70) => Verdict::Approve,
            Some(30) => Verdict::Challenge(ThreeDSecure::Full),
            Some(31) => Verdict::Challenge(ThreeDSecure::Fail),
            Some(32) => Verdict::Challenge(ThreeDSecure::Attempt),
            Some(code @ (2..=12 | 25)) => Verdict::Decline(code),
            _ => Verdict::Decline(29),
        }
    };
    (verdict, reference)
}

/// The outcome of a later payment with the card of this reference.
pub(crate) fn judge_reference(reference: &str) -> Verdict {
    let digits = reference.strip_prefix(REFERENCE).filter(|digits| digits.len() == 4);
    match digits.and_then(|digits| digits.get(1..3)?.parse().ok()) {
        Some(0 | 30 | 32) => Verdict::Approve,
        Some(70) => Verdict::Decline(7),
        _ => Verdict::Decline(2),
    }
}

/// The two digits that choose the outcome.
fn kind(number: &str) -> Option<u8> {
    if number == MASTERCARD {
        return Some(0);
    }
    number.strip_prefix(VISA).filter(|rest| rest.len() == 3)?.get(..2)?.parse().ok()
}

fn has_expired((year, month): (i16, i8), today: Date) -> bool {
    (year, month) < (today.year(), today.month())
}

fn passes_luhn(number: &str) -> bool {
    let digits = number.bytes().rev().map(|byte| u32::from(byte - b'0'));
    let sum: u32 = digits
        .enumerate()
        .map(|(place, digit)| if place % 2 == 0 { digit } else { digit * 2 % 10 + digit / 5 })
        .sum();
    sum.is_multiple_of(10)
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;

    /// The number of the Visa card with this kind.
    fn visa(kind: u8) -> String {
        let numbers = (0..10).map(|check| format!("{VISA}{kind:02}{check}"));
        numbers.into_iter().find(|number| passes_luhn(number)).unwrap()
    }

    const TODAY: Date = date(2026, 11, 30);

    fn judged(number: &str) -> Verdict {
        judge(number, (2066, 8), TODAY).0
    }

    #[test]
    fn each_card_has_its_outcome() {
        for kind in (2..=12).chain([25, 29]) {
            assert_eq!(judged(&visa(kind)), Verdict::Decline(kind), "{kind}");
        }
        for (kind, expected) in [
            (0, Verdict::Approve),
            (30, Verdict::Challenge(ThreeDSecure::Full)),
            (31, Verdict::Challenge(ThreeDSecure::Fail)),
            (32, Verdict::Challenge(ThreeDSecure::Attempt)),
            (70, Verdict::Approve),
            (1, Verdict::Decline(29)),
            (99, Verdict::Decline(29)),
        ] {
            assert_eq!(judged(&visa(kind)), expected, "{kind}");
        }
        assert_eq!(judged(MASTERCARD), Verdict::Approve);
        assert_eq!(judged("4242424242424242"), Verdict::Decline(29));
        assert_eq!(judged("4100000000000000"), Verdict::Decline(3));
    }

    #[test]
    fn a_card_is_valid_until_the_end_of_its_month() {
        let number = visa(0);
        assert_eq!(judge(&number, (2026, 11), TODAY).0, Verdict::Approve);
        assert_eq!(judge(&number, (2026, 10), TODAY).0, Verdict::Decline(6));
        assert_eq!(judge(&number, (2025, 12), TODAY).0, Verdict::Decline(6));
    }

    #[test]
    fn a_reference_pays_again() {
        for (kind, expected) in
            [(0, Verdict::Approve), (32, Verdict::Approve), (70, Verdict::Decline(7))]
        {
            let (_, reference) = judge(&visa(kind), (2066, 8), TODAY);
            assert_eq!(judge_reference(&reference), expected, "{reference}");
        }
        for unknown in ["", "card-", "card-é0", "card-12345", "4100000000000001"] {
            assert_eq!(judge_reference(unknown), Verdict::Decline(2), "{unknown}");
        }
    }
}
