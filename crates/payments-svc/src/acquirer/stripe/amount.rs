//! Stripe's units of amounts: ISO 4217's minor units, with exceptions.

/// How many units of Stripe one minor unit has. `None`: Stripe's unit is larger than the minor unit.
///
/// Stripe counts Icelandic krónur and Ugandan shillings in hundredths, although they have none any
/// more, and Malagasy ariary whole.
use payments_domain::Currency;

pub(crate) fn stripe_units(currency: Currency) -> Option<i64> {
    match currency.code() {
        "ISK" | "UGX" => Some(100),
        "MGA" => None,
        _ => Some(1),
    }
}

/// Amounts are multiples of this, in minor units: Stripe knows no third decimal.
pub(crate) fn amount_step(currency: Currency) -> i64 {
    if currency.exponent() == 3 { 10 } else { 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exceptions_have_no_minor_units_here() {
        let of = |code: &str| {
            let currency: Currency = code.parse().unwrap();
            (currency.exponent(), stripe_units(currency))
        };
        assert_eq!(of("EUR"), (2, Some(1)));
        assert_eq!(of("JPY"), (0, Some(1)));
        assert_eq!(of("KWD"), (3, Some(1)));
        assert_eq!(of("ISK"), (0, Some(100)));
        assert_eq!(of("UGX"), (0, Some(100)));
        assert!(of("MGA").0 > 0);
        assert_eq!(of("MGA").1, None);
    }
}
