//! Currencies and amounts.

use iso_currency::Currency as Iso;
use serde::{Deserialize, Serialize};

/// Largest amount of a request, in minor units.
pub(crate) const MAX_AMOUNT: u64 = 1_000_000_000_000;

/// A currency of ISO 4217.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Currency(Iso);

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be a currency of ISO 4217, such as EUR")]
pub(crate) struct InvalidCurrency;

impl TryFrom<String> for Currency {
    type Error = InvalidCurrency;

    fn try_from(code: String) -> Result<Self, InvalidCurrency> {
        Iso::from_code(&code).map(Self).ok_or(InvalidCurrency)
    }
}

impl Serialize for Currency {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.code())
    }
}

impl Currency {
    pub(crate) fn code(self) -> &'static str {
        self.0.code()
    }

    /// An amount in major units: `9.95` for 995 cents, `1000` for 1000 yen.
    pub(crate) fn decimal(self, amount: u64) -> String {
        let places = usize::from(self.0.exponent().unwrap_or(0));
        let width = places.saturating_add(1);
        let digits = format!("{amount:0width$}");
        match digits.split_at(digits.len().saturating_sub(places)) {
            (whole, "") => whole.to_owned(),
            (whole, part) => format!("{whole}.{part}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decimal_has_the_places_of_its_currency() {
        for (code, amount, decimal) in [
            ("EUR", 995, "9.95"),
            ("EUR", 5, "0.05"),
            ("EUR", 0, "0.00"),
            ("JPY", 1000, "1000"),
            ("KWD", 1, "0.001"),
        ] {
            let currency = Currency::try_from(code.to_owned()).unwrap();
            assert_eq!(currency.decimal(amount), decimal, "{code}");
        }
        assert!(["", "eur", "EURO", "ABC"].iter().all(|code| Iso::from_code(code).is_none()));
    }
}
