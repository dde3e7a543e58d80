//! Exchange rates, and the conversion of amounts to another currency.

use std::collections::BTreeMap;

use jiff::{Span, civil::Date};
use num_rational::Ratio;
use num_traits::{CheckedAdd as _, CheckedDiv as _, CheckedMul as _, CheckedSub as _};

use super::money::{Currency, Decimal, Factor, Overflow, Ppm, multiply_rounded};

/// The digits of a quote, read as one number, are less than this, so that no product of quotes
/// exceeds 128 bits.
const MANTISSA_LIMIT: u64 = 1_000_000_000_000;

/// The maximum age of rates in days, for live merchants.
const MAX_AGE_DAYS: i64 = 7;

/// The value of one euro in other currencies, on one day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rates {
    date: Date,
    per_euro: BTreeMap<Currency, Factor>,
}

/// Why there is no rate between two currencies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoRate {
    #[error("there is no exchange rate for {0}")]
    NotQuoted(Currency),
    /// The rates are more than `MAX_AGE_DAYS` days old, or from the future. Only for live
    /// merchants.
    #[error("the exchange rates are more than {MAX_AGE_DAYS} days old, or from the future")]
    Outdated,
    #[error(transparent)]
    Overflow(#[from] Overflow),
}

/// Why a file has no valid rates.
#[derive(Debug, thiserror::Error)]
pub enum InvalidRates {
    #[error("not XML: {0}")]
    Xml(#[from] roxmltree::Error),
    #[error("no element has a time attribute with a date")]
    Date,
    #[error("the quote of {0} is not a positive decimal number")]
    Quote(String),
    #[error("the newest day has no quote in a currency of ISO 4217")]
    Empty,
}

/// Rates of a fixed day, for test merchants.
const BUILT_IN: &str = include_str!("../assets/rates.xml");

impl Rates {
    /// The rates for test merchants, which are part of the program.
    pub fn built_in() -> Result<Self, InvalidRates> {
        Self::parse(BUILT_IN)
    }

    /// Reads the newest rates of a file in the format of the reference rates of the European
    /// Central Bank: nested elements `Cube`, with the day in `time`, and quotes in `currency` and
    /// `rate`. Skips the euro and codes that are no currency. A currency that has ended keeps its
    /// quote, because its payments may still be captured or disputed.
    pub fn parse(xml: &str) -> Result<Self, InvalidRates> {
        let document = roxmltree::Document::parse(xml)?;
        let days = document.descendants().filter_map(|day| {
            let date: Date = day.attribute("time")?.parse().ok()?;
            Some((date, day))
        });
        let (date, day) = days.max_by_key(|(date, _)| *date).ok_or(InvalidRates::Date)?;
        let mut rates = Self::new(date);
        for quote in day.children() {
            let (Some(code), Some(units)) = (quote.attribute("currency"), quote.attribute("rate"))
            else {
                continue;
            };
            if let Ok(currency) = Currency::current_or_former(code)
                && currency != Currency::EUR
                && !rates.quote(currency, units)
            {
                return Err(InvalidRates::Quote(code.to_owned()));
            }
        }
        if rates.per_euro.len() == 1 { Err(InvalidRates::Empty) } else { Ok(rates) }
    }

    /// Rates without quotes: only the euro itself.
    pub fn new(date: Date) -> Self {
        let euro = (Currency::EUR, Ratio::from_integer(1));
        Self { date, per_euro: BTreeMap::from([euro]) }
    }

    pub fn date(&self) -> Date {
        self.date
    }

    /// The currencies with a rate, by code.
    pub fn currencies(&self) -> impl Iterator<Item = Currency> {
        self.per_euro.keys().copied()
    }

    /// Adds a quote. Returns false if `units` is not a positive decimal number of at most 12
    /// significant digits.
    pub fn quote(&mut self, currency: Currency, units: &str) -> bool {
        let Ok(Decimal { mantissa: mantissa @ 1..MANTISSA_LIMIT, places }) = units.parse() else {
            return false;
        };
        let units = Ratio::new(i128::from(mantissa), 10_i128.pow(places));
        self.per_euro.insert(currency, units);
        true
    }

    /// The rate from one currency to another. `live` is today's date for a live merchant, which
    /// needs recent rates, and `None` for a test merchant.
    pub fn exchange(
        &self,
        from: Currency,
        to: Currency,
        spread: Ppm,
        live: Option<Date>,
    ) -> Result<Exchange, NoRate> {
        if from == to {
            return Ok(Exchange::IDENTITY);
        }
        if let Some(today) = live {
            let oldest = today.checked_sub(Span::new().days(MAX_AGE_DAYS)).unwrap_or(Date::MIN);
            // The publisher's time zone can be a day ahead of UTC.
            let newest = today.tomorrow().unwrap_or(Date::MAX);
            if !(oldest..=newest).contains(&self.date) {
                return Err(NoRate::Outdated);
            }
        }
        let per_euro = |currency| self.per_euro.get(&currency).ok_or(NoRate::NotQuoted(currency));
        let minor = |currency: Currency| Ratio::from_integer(10_i128.pow(currency.exponent()));
        let rate = per_euro(to)?.checked_mul(&minor(to)).ok_or(Overflow)?;
        let rate = rate.checked_div(per_euro(from)?).ok_or(Overflow)?;
        let rate = rate.checked_div(&minor(from)).ok_or(Overflow)?;
        Ok(Exchange { rate, spread })
    }
}

/// Converts minor units of one currency to minor units of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exchange {
    /// The mid-market rate, between minor units.
    pub rate: Factor,
    /// The service's margin: lowers proceeds and raises costs.
    pub spread: Ppm,
}

impl Exchange {
    /// Both currencies are the same.
    pub const IDENTITY: Self = Self { rate: Ratio::new_raw(1, 1), spread: Ppm::ZERO };

    /// The merchant's proceeds of a charged amount: amount × rate × (1 − spread).
    pub fn proceeds(&self, minor: i64) -> Result<i64, Overflow> {
        let factor = Ratio::from_integer(1).checked_sub(&self.spread.factor());
        multiply_rounded(
            minor,
            &factor.and_then(|factor| factor.checked_mul(&self.rate)).ok_or(Overflow)?,
        )
    }

    /// The costs in the target currency of an amount that the merchant owes: amount × rate × (1 +
    /// spread).
    pub fn cost(&self, minor: i64) -> Result<i64, Overflow> {
        let factor = Ratio::from_integer(1).checked_add(&self.spread.factor());
        multiply_rounded(
            minor,
            &factor.and_then(|factor| factor.checked_mul(&self.rate)).ok_or(Overflow)?,
        )
    }
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;

    fn currency(code: &str) -> Currency {
        code.parse().unwrap()
    }

    fn rates() -> Rates {
        let mut rates = Rates::new(date(2026, 11, 20));
        for (code, units) in
            [("DKK", "7.4604"), ("JPY", "178.54"), ("BHD", "0.4371"), ("USD", "1.1592")]
        {
            assert!(rates.quote(currency(code), units));
        }
        rates
    }

    #[test]
    fn exchanges_use_the_exponents_of_both_currencies() {
        let spread = "0.02".parse().unwrap();
        let exchange =
            |from, to| rates().exchange(currency(from), currency(to), spread, None).unwrap();
        // 5.00 EUR at 7.4604 less 2 %.
        assert_eq!(exchange("EUR", "DKK").proceeds(500), Ok(3656));
        assert_eq!(exchange("EUR", "DKK").cost(25), Ok(190));
        assert_eq!(exchange("JPY", "EUR").proceeds(17_854), Ok(9800));
        assert_eq!(exchange("BHD", "DKK").proceeds(437_100), Ok(731_119));
        assert_eq!(exchange("EUR", "EUR").proceeds(17), Ok(17));
    }

    #[test]
    fn a_live_merchant_needs_rates_of_the_last_week() {
        let exchange = |live| rates().exchange(Currency::EUR, currency("DKK"), Ppm::ZERO, live);
        assert!(exchange(Some(date(2026, 11, 27))).is_ok());
        assert_eq!(exchange(Some(date(2026, 11, 28))), Err(NoRate::Outdated));
        assert!(exchange(Some(date(2026, 11, 19))).is_ok());
        assert_eq!(exchange(Some(date(2026, 11, 18))), Err(NoRate::Outdated));
        assert!(exchange(None).is_ok());
        let unknown = rates().exchange(currency("XOF"), Currency::EUR, Ppm::ZERO, None);
        assert_eq!(unknown, Err(NoRate::NotQuoted(currency("XOF"))));
    }

    #[test]
    fn the_built_in_rates_quote_every_funding_currency() {
        let rates = Rates::built_in().unwrap();
        for code in ["CHF", "CZK", "DKK", "GBP", "HUF", "NOK", "PLN", "RON", "SEK", "USD"] {
            let exchange = rates.exchange(Currency::EUR, currency(code), Ppm::ZERO, None);
            assert!(exchange.is_ok(), "{code}");
        }
    }

    #[test]
    fn a_currency_that_has_ended_keeps_its_quote() {
        let kuna = Currency::current_or_former("HRK").unwrap();
        let exchange = Rates::built_in().unwrap().exchange(Currency::EUR, kuna, Ppm::ZERO, None);
        assert_eq!(exchange.unwrap().proceeds(1000), Ok(7535));
    }

    #[test]
    fn the_newest_day_of_a_file_is_used() {
        let day = |date: &str, quotes: &str| format!("<Cube time='{date}'>{quotes}</Cube>");
        let usd = |rate: &str| format!("<Cube currency='USD' rate='{rate}'/>");
        let file =
            |days: &str| format!("<e:Envelope xmlns:e='urn:x'><Cube>{days}</Cube></e:Envelope>");
        let euro = "<Cube currency='EUR' rate='2'/>";
        let newest = day("2026-11-20", &[&usd("1.2"), euro].concat());
        let two = [day("2026-11-19", &usd("1.1")), newest].concat();
        let rates = Rates::parse(&file(&two)).unwrap();
        assert_eq!(rates.date(), date(2026, 11, 20));
        let exchange = rates.exchange(Currency::EUR, currency("USD"), Ppm::ZERO, None).unwrap();
        assert_eq!(exchange.proceeds(100), Ok(120));
        for bad in
            ["", "<Cube", &file(""), &file(&day("yesterday", "")), &file(&day("2026-11-20", ""))]
        {
            assert!(Rates::parse(bad).is_err(), "{bad}");
        }
        assert!(Rates::parse(&file(&day("2026-11-20", &usd("-1")))).is_err());
    }

    #[test]
    fn quotes_are_positive_decimals() {
        for units in ["0", "-1", "1e3", "", "1000000000000", "N/A"] {
            assert!(!rates().quote(Currency::EUR, units), "{units}");
        }
    }

    #[test]
    fn an_overflow_of_an_exchange_is_an_error() {
        let mut rates = rates();
        assert!(
            rates.quote(currency("BHD"), "0.000001")
                && rates.quote(currency("JPY"), "999999999999")
        );
        let exchange = rates.exchange(currency("BHD"), currency("JPY"), Ppm::stored(999_999), None);
        let minor = 1_000_000_000_000;
        assert_eq!(exchange.unwrap().cost(minor), Err(Overflow));
    }
}
