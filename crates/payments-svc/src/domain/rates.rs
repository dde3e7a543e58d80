//! Exchange rates, and what an amount becomes in another currency.

use std::collections::BTreeMap;

use jiff::{Span, civil::Date};
use num_rational::Ratio;
use num_traits::{CheckedAdd as _, CheckedDiv as _, CheckedMul as _, CheckedSub as _};

use super::money::{Currency, Decimal, Factor, Overflow, Ppm, scale};

/// Digits a quote may have, so that no product of quotes exceeds 128 bits.
const QUOTE_DIGITS: u64 = 1_000_000_000_000;

/// Days after which a rate is too old to charge real money by.
const MAX_AGE: i64 = 7;

/// How many units of each currency one euro was worth on a day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rates {
    date: Date,
    per_euro: BTreeMap<Currency, Factor>,
}

/// Why there is no rate between two currencies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NoRate {
    /// One of them is not quoted.
    #[error("there is no exchange rate for {0}")]
    NotQuoted(Currency),
    /// The rates are older than a live merchant's may be, or of a day that is not there yet.
    #[error("the exchange rates are not of these days")]
    NotOfTheseDays,
    /// The rate has more digits than can be calculated with.
    #[error(transparent)]
    Overflow(#[from] Overflow),
}

/// Text that holds no rates.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InvalidRates {
    /// It is no XML.
    #[error("not XML: {0}")]
    Xml(#[from] roxmltree::Error),
    /// It names no day.
    #[error("no element has a time attribute with a date")]
    Date,
    /// A quote is none.
    #[error("the quote of {0} is not a positive decimal number")]
    Quote(String),
    /// There is no quote.
    #[error("there is no quote")]
    Empty,
}

/// The set that serves test merchants.
const BUILT_IN: &str = include_str!("../../assets/rates.xml");

impl Rates {
    /// The dated set that is part of the service, for test merchants.
    pub(crate) fn built_in() -> Result<Self, InvalidRates> {
        Self::parse(BUILT_IN)
    }

    /// The newest rates of a file in the format in which the European Central Bank publishes its
    /// reference rates: nested elements `Cube`, a day in `time`, quotes in `currency` and `rate`.
    /// Currencies that are not current are left out.
    pub(crate) fn parse(xml: &str) -> Result<Self, InvalidRates> {
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
            if let Ok(currency) = code.parse()
                && !rates.quote(currency, units)
            {
                return Err(InvalidRates::Quote(code.to_owned()));
            }
        }
        if rates.per_euro.len() == 1 { Err(InvalidRates::Empty) } else { Ok(rates) }
    }

    /// Rates of a day without any quote.
    pub(crate) fn new(date: Date) -> Self {
        let euro = (Currency::EUR, Ratio::from_integer(1));
        Self { date, per_euro: BTreeMap::from([euro]) }
    }

    /// The day they were quoted on.
    pub(crate) fn date(&self) -> Date {
        self.date
    }

    /// Adds a quote: a positive decimal number. False when `units` is none.
    pub(crate) fn quote(&mut self, currency: Currency, units: &str) -> bool {
        let Ok(Decimal { mantissa: mantissa @ 1..QUOTE_DIGITS, places }) = units.parse() else {
            return false;
        };
        let units = Ratio::new(i128::from(mantissa), 10_i128.pow(places));
        self.per_euro.insert(currency, units);
        true
    }

    /// The rate from one currency to another, for a live merchant on `today`, for a test merchant
    /// at any time.
    pub(crate) fn exchange(
        &self,
        from: Currency,
        to: Currency,
        spread: Ppm,
        live: Option<Date>,
    ) -> Result<Exchange, NoRate> {
        if from == to {
            return Ok(Exchange::NONE);
        }
        if let Some(today) = live {
            let oldest = today.checked_sub(Span::new().days(MAX_AGE)).unwrap_or(Date::MIN);
            // It may be tomorrow already where the rates come from.
            let newest = today.tomorrow().unwrap_or(Date::MAX);
            if !(oldest..=newest).contains(&self.date) {
                return Err(NoRate::NotOfTheseDays);
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

/// The exchange of one currency's minor units for another's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Exchange {
    /// The rate in the middle, between minor units.
    pub(crate) rate: Factor,
    /// How far the rates of either direction are from it.
    pub(crate) spread: Ppm,
}

impl Exchange {
    /// Nothing to exchange: both currencies are the same.
    pub(crate) const NONE: Self = Self { rate: Ratio::new_raw(1, 1), spread: Ppm::NONE };

    /// What the merchant gets for an amount that was charged: at the rate less the spread.
    pub(crate) fn proceeds(&self, minor: i64) -> Result<i64, Overflow> {
        let factor = Ratio::from_integer(1).checked_sub(&self.spread.factor());
        scale(minor, &factor.and_then(|factor| factor.checked_mul(&self.rate)).ok_or(Overflow)?)
    }

    /// What the merchant pays for an amount that is owed: at the rate plus the spread.
    pub(crate) fn cost(&self, minor: i64) -> Result<i64, Overflow> {
        let factor = Ratio::from_integer(1).checked_add(&self.spread.factor());
        scale(minor, &factor.and_then(|factor| factor.checked_mul(&self.rate)).ok_or(Overflow)?)
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
    fn amounts_go_through_both_exponents() {
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
    fn a_live_merchant_needs_rates_of_a_week() {
        let exchange = |live| rates().exchange(Currency::EUR, currency("DKK"), Ppm::NONE, live);
        assert!(exchange(Some(date(2026, 11, 27))).is_ok());
        assert_eq!(exchange(Some(date(2026, 11, 28))), Err(NoRate::NotOfTheseDays));
        assert!(exchange(Some(date(2026, 11, 19))).is_ok());
        assert_eq!(exchange(Some(date(2026, 11, 18))), Err(NoRate::NotOfTheseDays));
        assert!(exchange(None).is_ok());
        let unknown = rates().exchange(currency("XOF"), Currency::EUR, Ppm::NONE, None);
        assert_eq!(unknown, Err(NoRate::NotQuoted(currency("XOF"))));
    }

    #[test]
    fn the_built_in_set_quotes_every_funding_currency() {
        let rates = Rates::built_in().unwrap();
        for code in ["CHF", "CZK", "DKK", "GBP", "HUF", "NOK", "PLN", "RON", "SEK", "USD"] {
            let exchange = rates.exchange(Currency::EUR, currency(code), Ppm::NONE, None);
            assert!(exchange.is_ok(), "{code}");
        }
    }

    #[test]
    fn a_file_of_rates_is_read_to_its_newest_day() {
        let day = |date: &str, quotes: &str| format!("<Cube time='{date}'>{quotes}</Cube>");
        let usd = |rate: &str| format!("<Cube currency='USD' rate='{rate}'/>");
        let file =
            |days: &str| format!("<e:Envelope xmlns:e='urn:x'><Cube>{days}</Cube></e:Envelope>");
        let two = [day("2026-11-19", &usd("1.1")), day("2026-11-20", &usd("1.2"))].concat();
        let rates = Rates::parse(&file(&two)).unwrap();
        assert_eq!(rates.date(), date(2026, 11, 20));
        let exchange = rates.exchange(Currency::EUR, currency("USD"), Ppm::NONE, None).unwrap();
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
    fn the_largest_amount_at_the_widest_rate_is_refused_and_not_wrong() {
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
