//! Cards: [`Card`] is the data that may be stored. [`CardDetails`] is only sent to the acquirer,
//! and never stored.

use std::fmt;

use jiff::{Timestamp, civil::Date, tz::TimeZone};
use secrecy::{ExposeSecret as _, SecretString};

use super::id::Id;

/// The data of a card that may be stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Card {
    /// The first six digits of the number.
    pub(crate) bin: String,
    /// The last four digits of the number.
    pub(crate) last4: String,
    pub(crate) expiry: Expiry,
    pub(crate) scheme: Scheme,
    /// Whether the customer entered a security code. The code itself is never stored.
    pub(crate) code_present: bool,
}

/// A card that a merchant keeps for later payments. Deprecated, because a payment with the ID of an
/// earlier transaction does the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SavedCard {
    pub(crate) id: Id,
    pub(crate) merchant: Id,
    pub(crate) created: Timestamp,
    pub(crate) card: Card,
    pub(crate) notes: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scheme {
    Visa,
    Mastercard,
}

impl Scheme {
    /// The name in the database and in the API.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Visa => "visa",
            Self::Mastercard => "mastercard",
        }
    }

    pub(crate) fn from_name(name: &str) -> Option<Self> {
        [Self::Visa, Self::Mastercard].into_iter().find(|scheme| scheme.name() == name)
    }
}

/// The last month in which a card is valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Expiry {
    year: i16,
    month: i8,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Year(i16);

#[derive(Debug, Clone, Copy)]
pub(crate) struct Month(i8);

/// Why a year or a month is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum InvalidExpiry {
    #[error("must be between 1 and 12")]
    Month,
    #[error("must be between 2000 and 9998")]
    Year,
}

impl Expiry {
    pub(crate) fn new(year: Year, month: Month) -> Self {
        Self { year: year.0, month: month.0 }
    }

    /// The year must be from 2000 to 9998.
    pub(crate) fn year(year: i64) -> Result<Year, InvalidExpiry> {
        let year = i16::try_from(year).ok().filter(|year| (2000..9999).contains(year));
        year.map(Year).ok_or(InvalidExpiry::Year)
    }

    /// The month must be from 1 to 12.
    pub(crate) fn month(month: i64) -> Result<Month, InvalidExpiry> {
        let month = i8::try_from(month).ok().filter(|month| (1..=12).contains(month));
        month.map(Month).ok_or(InvalidExpiry::Month)
    }

    /// Parses a month and year as customers type them: `8/29`, `08 / 29`, `0829`, `08/2029`.
    pub(crate) fn parse_input(text: &str) -> Result<Self, InvalidExpiry> {
        let digits: String = text.chars().filter(|letter| !" /-.".contains(*letter)).collect();
        let separated = text.trim().find([' ', '/', '-', '.']);
        let (month, year) = match separated {
            Some(at) if at <= 2 => digits.split_at_checked(at),
            Some(_) => None,
            None => digits.split_at_checked(2),
        }
        .ok_or(InvalidExpiry::Month)?;
        let number = |text: &str, error| {
            let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
            text.parse::<i64>().ok().filter(|_| is_number).ok_or(error)
        };
        let century = match year.len() {
            2 => 2000,
            4 => 0,
            _ => return Err(InvalidExpiry::Year),
        };
        let month = Self::month(number(month, InvalidExpiry::Month)?)?;
        let year = number(year, InvalidExpiry::Year)?.saturating_add(century);
        Ok(Self::new(Self::year(year)?, month))
    }

    pub(crate) fn parts(self) -> (i16, i8) {
        (self.year, self.month)
    }

    /// The last millisecond of the month, in UTC.
    pub(crate) fn end(self) -> Timestamp {
        let first = Date::new(self.year, self.month, 1).unwrap_or(Date::ZERO);
        let end = first.last_of_month().at(23, 59, 59, 999_000_000);
        end.to_zoned(TimeZone::UTC).map_or(Timestamp::UNIX_EPOCH, |end| end.timestamp())
    }
}

/// A card as the customer enters it. It is never stored, logged or returned. Its memory is wiped
/// after use.
#[derive(Debug)]
pub(crate) struct CardDetails {
    pub(crate) number: CardNumber,
    pub(crate) expiry: Expiry,
    #[expect(dead_code, reason = "the sandbox ignores the code; a real acquirer checks it")]
    pub(crate) code: SecurityCode,
}

impl CardDetails {
    /// The data that may be stored.
    pub(crate) fn to_card(&self) -> Card {
        let digits = self.number.expose();
        Card {
            bin: digits[..6].to_owned(),
            last4: digits[digits.len().saturating_sub(4)..].to_owned(),
            expiry: self.expiry,
            scheme: self.number.scheme(),
            code_present: true,
        }
    }
}

/// A card number: 12 to 19 digits.
pub(crate) struct CardNumber(SecretString);

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be 12 to 19 digits")]
pub(crate) struct InvalidNumber;

impl CardNumber {
    /// Removes the spaces.
    pub(crate) fn new(typed: &str) -> Result<Self, InvalidNumber> {
        let digits = || typed.chars().filter(|&letter| letter != ' ');
        // Allocate the exact size: a buffer that grows would leave a copy in memory.
        let mut text = String::with_capacity(digits().map(char::len_utf8).sum());
        text.extend(digits());
        let digits = SecretString::from(text);
        let text = digits.expose_secret();
        let is_number =
            (12..=19).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then_some(Self(digits)).ok_or(InvalidNumber)
    }

    pub(crate) fn expose(&self) -> &str {
        self.0.expose_secret()
    }

    /// Mastercard if the first digit is 2 or 5, otherwise Visa.
    pub(crate) fn scheme(&self) -> Scheme {
        match self.expose().as_bytes().first() {
            Some(b'2' | b'5') => Scheme::Mastercard,
            _ => Scheme::Visa,
        }
    }
}

impl fmt::Debug for CardNumber {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("CardNumber")
    }
}

/// A security code: 3 or 4 digits.
pub(crate) struct SecurityCode(
    #[expect(dead_code, reason = "the sandbox accepts any")] SecretString,
);

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be 3 or 4 digits")]
pub(crate) struct InvalidCode;

impl SecurityCode {
    pub(crate) fn new(typed: &str) -> Result<Self, InvalidCode> {
        let is_code =
            (3..=4).contains(&typed.len()) && typed.bytes().all(|byte| byte.is_ascii_digit());
        is_code.then(|| Self(SecretString::from(typed))).ok_or(InvalidCode)
    }
}

impl fmt::Debug for SecurityCode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SecurityCode")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expiry(year: i64, month: i64) -> Result<Expiry, InvalidExpiry> {
        Ok(Expiry::new(Expiry::year(year)?, Expiry::month(month)?))
    }

    #[test]
    fn a_card_is_valid_until_the_end_of_its_month() {
        let end = |year, month| format!("{:.3}", expiry(year, month).unwrap().end());
        assert_eq!(end(2066, 8), "2066-08-31T23:59:59.999Z");
        assert_eq!(end(2028, 2), "2028-02-29T23:59:59.999Z");
        assert!(
            [(66, 8), (1999, 1), (10_000, 1), (2066, 0), (2066, 13)]
                .iter()
                .all(|&(year, month)| expiry(year, month).is_err())
        );
    }

    #[test]
    fn an_expiry_is_read_as_customers_type_it() {
        for typed in ["08/29", "8/29", "08 / 29", "0829", "08 29", "08-29", "08/2029", "082029"] {
            assert_eq!(Expiry::parse_input(typed), expiry(2029, 8), "{typed}");
        }
        for typed in [
            "", "8", "08", "829", "08/", "/29", "08/9", "13/29", "00/29", "2029/08", "ab/cd",
            "+8/29", "08/029", "08/1999",
        ] {
            assert!(Expiry::parse_input(typed).is_err(), "{typed}");
        }
    }

    #[test]
    fn a_number_has_digits_and_its_debug_output_has_none() {
        let number = CardNumber::new("4100 0000 0000 1234").unwrap();
        assert_eq!(format!("{number:?}"), "CardNumber");
        let code = SecurityCode::new("123").unwrap();
        let card = CardDetails { number, expiry: expiry(2066, 8).unwrap(), code }.to_card();
        assert_eq!((card.bin.as_str(), card.last4.as_str()), ("410000", "1234"));
        for bad in
            ["", "41000000000", "41000000000000000000", "4100-0000-0000-0000", "٤١٠٠٠٠٠٠٠٠٠٠"]
        {
            assert!(CardNumber::new(bad).is_err(), "{bad}");
        }
        assert!(["12", "12345", "12a"].iter().all(|code| SecurityCode::new(code).is_err()));
    }
}
