//! Money: currencies, amounts in minor units, and shares. All numbers are checked integers or exact
//! fractions, so that nothing overflows, and only [`multiply_rounded`] rounds.

use std::{fmt, str::FromStr};

use iso_currency::Currency as Iso;
use num_rational::Ratio;
use num_traits::CheckedMul as _;
use sql::{Param, group, stored};

/// A currency of ISO 4217, current or former. A new payment, link or merchant needs a current one,
/// which `parse` returns. Stored money keeps its currency: [`Currency::current_or_former`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Currency {
    code: &'static str,
    exponent: u32,
}
stored! {
    Currency as String: |currency| Param::Text(currency.code.into()),
        |code| Self::current_or_former(&code).ok()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be the code of a current ISO 4217 currency")]
pub struct InvalidCurrency;

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be the code of an ISO 4217 currency")]
pub struct UnknownCurrency;

/// The possible currencies of a merchant's balance.
const FUNDING: [Iso; 11] = [
    Iso::CHF,
    Iso::CZK,
    Iso::DKK,
    Iso::EUR,
    Iso::GBP,
    Iso::HUF,
    Iso::NOK,
    Iso::PLN,
    Iso::RON,
    Iso::SEK,
    Iso::USD,
];

/// The former currencies that the library does not contain, by their decimal places: the codes of
/// ISO 4217's list three of 2026-01-01, without units that had no decimal places of their own.
const FORMER: [(u32, &str); 2] = [
    (0, "ADP BEC BEF BEL BYB BYR ESA ESB ESP GRD ITL LUC LUF LUL MGF PTE ROL TPE TRL"),
    (
        2,
        "AFA ALK ANG AOK AON AOR ARA ARP ARY ATS AYM AZM BAD BGJ BGK BGL BOP BRB BRC BRE BRN BRR \
         BUK CHC CSD CSJ CSK CYP DDM DEM ECS ECV EEK FIM FRF GEK GHC GHP GNE GNS GQE GWE GWP HRD \
         IEP ILP ILR ISJ LAJ LSM LTL LTT LVL LVR MLF MRO MTL MTP MVQ MXP MZE MZM NIC NLG PEH PEI \
         PES PLZ RHD ROK RUR SDD SDP SIT SKK SRG STD SUR TJR TMM UAK UGS UGW USS UYN UYP VEB VEF \
         VNC XEU YDD YUD YUM YUN ZAL ZMK ZRN ZRZ ZWC ZWD ZWN ZWR",
    ),
];

impl Currency {
    /// The base currency of exchange rates.
    pub const EUR: Self = Self { code: "EUR", exponent: 2 };

    /// The currency with this code, even if the currency has ended.
    pub fn current_or_former(code: &str) -> Result<Self, UnknownCurrency> {
        let former = || {
            FORMER.into_iter().find_map(|(exponent, codes)| {
                let code = codes.split(' ').find(|known| *known == code)?;
                Some(Self { code, exponent })
            })
        };
        Iso::from_code(code).and_then(Self::of_library).or_else(former).ok_or(UnknownCurrency)
    }

    /// `None` if the code is no currency, but a metal, for example.
    fn of_library(iso: Iso) -> Option<Self> {
        Some(Self { code: iso.code(), exponent: iso.exponent()?.into() })
    }

    pub fn funding_currencies() -> impl Iterator<Item = Self> {
        FUNDING.into_iter().filter_map(Self::of_library)
    }

    pub fn code(self) -> &'static str {
        self.code
    }

    /// The number of decimal places: 2 for EUR, 0 for JPY.
    pub fn exponent(self) -> u32 {
        self.exponent
    }

    pub fn is_funding_currency(self) -> bool {
        Self::funding_currencies().any(|funding| funding == self)
    }
}

impl FromStr for Currency {
    type Err = InvalidCurrency;

    fn from_str(code: &str) -> Result<Self, InvalidCurrency> {
        // The library says that VES is superseded, but Venezuela uses it.
        let is_superseded = |iso: &Iso| iso.is_superseded().is_some() && *iso != Iso::VES;
        let is_current = |iso: &Iso| !iso.is_fund() && !iso.is_special() && !is_superseded(iso);
        Iso::from_code(code).filter(is_current).and_then(Self::of_library).ok_or(InvalidCurrency)
    }
}

impl fmt::Display for Currency {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.code)
    }
}

impl fmt::Debug for Currency {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.code)
    }
}

/// An amount of a request, in minor units: 1 to [`Amount::MAX`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Amount(i64);
stored! { Amount as i64: |amount| Param::Int(amount.0), |minor| Self::new(minor).ok() }

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be between 1 and {}", Amount::MAX)]
pub struct InvalidAmount;

impl Amount {
    pub const MAX: i64 = 1_000_000_000_000;

    pub fn new(minor: i64) -> Result<Self, InvalidAmount> {
        (1..=Self::MAX).contains(&minor).then_some(Self(minor)).ok_or(InvalidAmount)
    }

    pub fn minor(self) -> i64 {
        self.0
    }
}

group! {
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct Money {
        currency: Currency = "currency",
        minor: i64 = "amount",
    }
}

impl Money {
    /// Parses an amount or a sum in major units with exactly the places of its currency: `9.95` in
    /// EUR, `995` in JPY.
    pub fn of_decimal(currency: Currency, text: &str) -> Result<Self, InvalidMajorUnits> {
        let invalid = InvalidMajorUnits(currency.exponent());
        let Decimal { mantissa, places } = Decimal::parse(text, 18).map_err(|_| invalid)?;
        let minor = i64::try_from(mantissa).map_err(|_| invalid)?;
        let has_places = places == currency.exponent();
        has_places.then_some(Self { currency, minor }).ok_or(invalid)
    }

    /// The amount in major units, without the currency: `9.95` for 995 cents.
    pub fn decimal(self) -> String {
        let places = usize::try_from(self.currency.exponent()).unwrap_or(0);
        let sign = if self.minor < 0 { "-" } else { "" };
        let width = places.saturating_add(1);
        let digits = format!("{:0width$}", self.minor.unsigned_abs());
        match digits.split_at(digits.len().saturating_sub(places)) {
            (whole, "") => format!("{sign}{whole}"),
            (whole, part) => format!("{sign}{whole}.{part}"),
        }
    }
}

/// Contains the number of decimal places of the currency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be a decimal number with {0} places and at most 18 digits, not negative")]
pub struct InvalidMajorUnits(u32);

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be a currency and minor units of it, such as EUR:25")]
pub struct InvalidMoney;

impl FromStr for Money {
    type Err = InvalidMoney;

    fn from_str(text: &str) -> Result<Self, InvalidMoney> {
        let (currency, minor) = text.split_once(':').ok_or(InvalidMoney)?;
        let currency = currency.parse().map_err(|_| InvalidMoney)?;
        let is_number = minor.bytes().all(|byte| byte.is_ascii_digit());
        match minor.parse() {
            Ok(minor @ 0..=Amount::MAX) if is_number => Ok(Self { currency, minor }),
            _ => Err(InvalidMoney),
        }
    }
}

/// An amount that does not fit into 64 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the amount or the balance is too large to be booked")]
pub struct Overflow;

/// A factor that multiplies an amount, as an exact fraction.
pub(crate) type Factor = Ratio<i128>;

/// `minor × factor`, rounded once, half away from zero.
pub fn multiply_rounded(minor: i64, factor: &Factor) -> Result<i64, Overflow> {
    let exact = Ratio::from_integer(i128::from(minor)).checked_mul(factor).ok_or(Overflow)?;
    i64::try_from(exact.round().to_integer()).map_err(|_| Overflow)
}

/// A share in parts per million, for fees and for the spread of exchange rates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ppm(u32);
stored! { Ppm as u32: |share| Param::Int(share.0.into()), |parts| Some(Self::stored(parts)) }

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be a decimal number from 0 to 1 with at most 6 places, such as 0.025")]
pub struct InvalidShare;

impl Ppm {
    pub const ZERO: Self = Self(0);

    pub const WHOLE: u32 = 1_000_000;

    /// A stored share. A larger number is capped at [`Self::WHOLE`].
    pub fn stored(parts: u32) -> Self {
        Self(parts.min(Self::WHOLE))
    }

    pub fn parts(self) -> u32 {
        self.0
    }

    pub(crate) fn factor(self) -> Factor {
        Ratio::new(i128::from(self.0), i128::from(Self::WHOLE))
    }
}

impl FromStr for Ppm {
    type Err = InvalidShare;

    fn from_str(text: &str) -> Result<Self, InvalidShare> {
        let Decimal { mantissa, places } = text.parse().map_err(|_| InvalidShare)?;
        let missing = 6_u32.checked_sub(places).ok_or(InvalidShare)?;
        let parts = mantissa.checked_mul(10_u64.pow(missing)).ok_or(InvalidShare)?;
        match u32::try_from(parts) {
            Ok(parts) if parts <= Self::WHOLE => Ok(Self(parts)),
            _ => Err(InvalidShare),
        }
    }
}

impl fmt::Display for Ppm {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = format!("{:07}", self.0);
        let (whole, places) = digits.split_at(digits.len().saturating_sub(6));
        match places.trim_end_matches('0') {
            "" => formatter.write_str(whole),
            places => write!(formatter, "{whole}.{places}"),
        }
    }
}

/// A number with decimal places, such as `9.95`: mantissa 995, places 2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Decimal {
    /// All digits, without the point.
    pub(super) mantissa: u64,
    /// The number of digits after the point.
    pub(super) places: u32,
}

/// The text is not a decimal number, or is too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct InvalidDecimal;

impl FromStr for Decimal {
    type Err = InvalidDecimal;

    /// At most 15 digits.
    fn from_str(text: &str) -> Result<Self, InvalidDecimal> {
        Self::parse(text, 15)
    }
}

impl Decimal {
    fn parse(text: &str, most: usize) -> Result<Self, InvalidDecimal> {
        let (whole, places) = text.split_once('.').unwrap_or((text, ""));
        let digits = format!("{whole}{places}");
        let is_number = !whole.is_empty()
            && !text.ends_with('.')
            && digits.len() <= most
            && digits.bytes().all(|byte| byte.is_ascii_digit());
        if !is_number {
            return Err(InvalidDecimal);
        }
        let mantissa = digits.parse().map_err(|_| InvalidDecimal)?;
        Ok(Self { mantissa, places: u32::try_from(places.len()).unwrap_or(0) })
    }
}

#[cfg(test)]
mod tests {
    use sql::{Cell, Stored as _};

    use super::*;

    #[test]
    fn only_current_currencies_are_accepted() {
        for (code, exponent) in [("EUR", 2), ("JPY", 0), ("BHD", 3), ("VES", 2), ("XOF", 0)] {
            assert_eq!(code.parse::<Currency>().unwrap().exponent(), exponent, "{code}");
        }
        for code in ["eur", "XAU", "XXX", "CLF", "HRK", "EURO", "", "E€"] {
            assert_eq!(code.parse::<Currency>(), Err(InvalidCurrency), "{code}");
        }
        assert_eq!("EUR".parse(), Ok(Currency::EUR));
        assert_eq!(Currency::funding_currencies().count(), FUNDING.len());
        assert!(Currency::EUR.is_funding_currency());
        assert!(!"JPY".parse::<Currency>().unwrap().is_funding_currency());
    }

    #[test]
    fn a_former_currency_is_read_with_its_places_and_not_accepted() {
        for (code, exponent) in [
            ("ANG", 2),
            ("BGN", 2),
            ("BYR", 0),
            ("DEM", 2),
            ("EEK", 2),
            ("HRK", 2),
            ("ITL", 0),
            ("MRO", 2),
            ("ZWL", 2),
            ("ZWR", 2),
        ] {
            let currency = Currency::current_or_former(code).unwrap();
            assert_eq!((currency.code(), currency.exponent()), (code, exponent));
            assert_eq!(Currency::of(Cell::Text(code)), Ok(currency));
            assert_eq!(code.parse::<Currency>(), Err(InvalidCurrency), "{code}");
            assert!(!currency.is_funding_currency());
        }
        for code in ["hrk", "HRKX", "ZZZ", "XAU", "XXX", "HR", "AFA ALK", " ", ""] {
            assert_eq!(Currency::current_or_former(code), Err(UnknownCurrency), "{code}");
        }
    }

    /// Codes of three letters, in order.
    fn codes() -> impl Iterator<Item = String> {
        let letters = || 'A'..='Z';
        letters().flat_map(move |first| {
            letters().flat_map(move |second| {
                letters().map(move |third| [first, second, third].iter().collect())
            })
        })
    }

    /// If the library ends a currency, move the code from this list to `FORMER`, unless the library
    /// still contains it.
    #[test]
    fn the_current_currencies_are_those_of_this_list() {
        let current = codes().filter(|code| code.parse::<Currency>().is_ok());
        assert_eq!(
            current.collect::<Vec<_>>().join(" "),
            "AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BHD BIF BMD BND BOB BRL BSD BTN BWP \
             BYN BZD CAD CDF CHF CLP CNY COP CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD \
             FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL HTG HUF IDR ILS INR IQD IRR ISK JMD JOD \
             JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD MMK \
             MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR \
             PLN PYG QAR RON RSD RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP \
             SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX USD UYU UZS VED VES VND VUV WST XAF \
             XCD XCG XOF XPF YER ZAR ZMW ZWG"
        );
    }

    #[test]
    fn the_library_lacks_the_former_currencies_of_the_table() {
        for (_, former) in FORMER {
            assert!(former.split(' ').is_sorted_by(|a, b| a < b), "{former}");
            for code in former.split(' ') {
                assert_eq!(Iso::from_code(code), None, "{code}: remove it from FORMER");
            }
        }
        for code in ["BGN", "CUC", "HRK", "SLL", "ZWL"] {
            assert!(Iso::from_code(code).is_some(), "{code}: add it to FORMER");
        }
    }

    #[test]
    fn amounts_are_bounded() {
        assert!([1, Amount::MAX].iter().all(|&minor| Amount::new(minor).is_ok()));
        assert!(
            [0, -1, i64::MIN, Amount::MAX + 1].iter().all(|&minor| Amount::new(minor).is_err())
        );
    }

    #[test]
    fn money_is_written_with_the_places_of_its_currency() {
        for (code, minor, decimal) in [
            ("EUR", 995, "9.95"),
            ("EUR", 5, "0.05"),
            ("EUR", -105, "-1.05"),
            ("HUF", 123_456, "1234.56"),
            ("JPY", 995, "995"),
            ("JPY", 0, "0"),
            ("BHD", 1, "0.001"),
            ("USD", i64::MAX, "92233720368547758.07"),
            ("USD", i64::MIN, "-92233720368547758.08"),
        ] {
            let currency = code.parse().unwrap();
            let money = Money { currency, minor };
            assert_eq!(money.decimal(), decimal, "{code} {minor}");
            let is_read = (0..i64::MAX).contains(&minor);
            assert_eq!(Money::of_decimal(currency, decimal).ok(), is_read.then_some(money));
        }
        for (code, decimal) in [
            ("EUR", "9.950"),
            ("EUR", "9.9"),
            ("EUR", "9"),
            ("JPY", "9.0"),
            ("EUR", "9,95"),
            ("EUR", "+9.95"),
        ] {
            assert!(Money::of_decimal(code.parse().unwrap(), decimal).is_err(), "{decimal}");
        }
    }

    #[test]
    fn a_product_is_rounded_half_away_from_zero_and_never_wraps() {
        let half = Ratio::new(1, 2);
        for (minor, expected) in [(1, 1), (3, 2), (-1, -1), (-3, -2), (2, 1), (0, 0)] {
            assert_eq!(multiply_rounded(minor, &half), Ok(expected), "{minor}");
        }
        assert_eq!(multiply_rounded(i64::MAX, &Ratio::from_integer(2)), Err(Overflow));
        assert_eq!(multiply_rounded(i64::MAX, &Ratio::from_integer(i128::MAX)), Err(Overflow));
    }

    #[test]
    fn shares_are_read_and_written_as_decimals() {
        for (text, parts) in [("0.025", 25_000), ("0", 0), ("1", 1_000_000), ("0.000001", 1)] {
            let share: Ppm = text.parse().unwrap();
            assert_eq!((share.parts(), share.to_string().as_str()), (parts, text));
        }
        for text in ["", ".5", "1.", "-0.1", "1.000001", "0.0000001", "2.5%", "1e-3", "0,5"] {
            assert_eq!(text.parse::<Ppm>(), Err(InvalidShare), "{text}");
        }
    }
}
