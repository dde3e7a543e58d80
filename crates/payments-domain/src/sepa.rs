//! SEPA, the payments area of the euro: which transfers it accepts.

use std::{fmt, str::FromStr};

use deunicode::deunicode_with_tofu;
use jiff::civil::Date;

use super::{
    id::Id,
    merchant::Iban,
    money::{Currency, Money},
};

/// The maximum amount of a transfer, in cents.
pub(crate) const MAX_TRANSFER: i64 = 99_999_999_999;

/// The maximum number of characters of a name.
const MAX_NAME: usize = 70;

/// The edition of the European Payments Council's list of countries that `COUNTRIES` follows.
pub const EDITION: &str = "EPC409-09 v8.0 of 24 December 2025";

/// The countries of IBANs that SEPA reaches: 41 countries, and Gibraltar. Other territories in SEPA
/// use the IBANs of one of these countries: for example, Jersey those of GB and Réunion those of FR.
///
/// Some territories with IBANs of FR are outside of SEPA, such as New Caledonia. An IBAN does not
/// show this, so the bank refuses the transfer.
const COUNTRIES: [&str; 42] = [
    "AD", "AL", "AT", "BE", "BG", "CH", "CY", "CZ", "DE", "DK", "EE", "ES", "FI", "FR", "GB", "GI",
    "GR", "HR", "HU", "IE", "IS", "IT", "LI", "LT", "LU", "LV", "MC", "MD", "ME", "MK", "MT", "NL",
    "NO", "PL", "PT", "RO", "RS", "SE", "SI", "SK", "SM", "VA",
];

/// Whether SEPA transfers money in this currency to this account.
pub(super) fn reaches(currency: Currency, iban: &Iban) -> bool {
    currency == Currency::EUR && COUNTRIES.contains(&iban.country())
}

/// A name in the characters that every bank in SEPA accepts, at most `MAX_NAME` of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SepaName(String);

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must contain letters or digits")]
pub struct InvalidSepaName;

impl SepaName {
    /// Transliterates other characters, or replaces them with spaces. Cuts a longer name.
    pub fn new(name: &str) -> Result<Self, InvalidSepaName> {
        let accepted = |character| match character {
            'A'..='Z' | 'a'..='z' | '0'..='9' => character,
            '/' | '-' | '?' | ':' | '(' | ')' | '.' | ',' | '\'' | '+' => character,
            '&' => '+',
            '_' => '-',
            _ => ' ',
        };
        let ascii: String = deunicode_with_tofu(name, " ").chars().map(accepted).collect();
        let words = ascii.split_whitespace().collect::<Vec<_>>().join(" ");
        let name: String = words.chars().take(MAX_NAME).collect();
        let is_readable = name.contains(|character: char| character.is_ascii_alphanumeric());
        is_readable.then(|| Self(name.trim_end().to_owned())).ok_or(InvalidSepaName)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for SepaName {
    type Err = InvalidSepaName;

    fn from_str(name: &str) -> Result<Self, InvalidSepaName> {
        Self::new(name)
    }
}

/// The identifier of a bank (ISO 9362), in capital letters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bic(String);

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be a BIC of 8 or 11 characters, such as COBADEFF or COBADEFFXXX")]
pub struct InvalidBic;

impl Bic {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Bic {
    type Err = InvalidBic;

    fn from_str(text: &str) -> Result<Self, InvalidBic> {
        let text = text.to_ascii_uppercase();
        let is_valid = matches!(text.len(), 8 | 11)
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
            && text.bytes().skip(4).take(2).all(|byte| byte.is_ascii_uppercase());
        is_valid.then_some(Self(text)).ok_or(InvalidBic)
    }
}

/// The account that pays the transfers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Debtor {
    pub name: SepaName,
    pub iban: Iban,
    pub bic: Bic,
}

/// The ID of a file of transfers (`MsgId`), by which the bank recognises the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SepaMessage {
    pub day: Date,
    /// The first payout of the file.
    pub first: Id,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be the MsgId of a file of this service")]
pub struct InvalidSepaMessage;

impl FromStr for SepaMessage {
    type Err = InvalidSepaMessage;

    fn from_str(text: &str) -> Result<Self, InvalidSepaMessage> {
        let (day, first) = text.split_once('-').ok_or(InvalidSepaMessage)?;
        let day = Date::strptime("%Y%m%d", day).map_err(|_| InvalidSepaMessage)?;
        Ok(Self { day, first: first.parse().map_err(|_| InvalidSepaMessage)? })
    }
}

impl fmt::Display for SepaMessage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}-{}", self.day.strftime("%Y%m%d"), self.first)
    }
}

/// The sum of amounts in euros.
pub fn sum(amounts: impl Iterator<Item = Money>) -> Money {
    // Each amount is at most MAX_TRANSFER, so that millions of them do not overflow.
    let minor = amounts.fold(0_i64, |sum, amount| sum.saturating_add(amount.minor));
    Money { currency: Currency::EUR, minor }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_only_the_characters_of_sepa() {
        for (name, expected) in [
            ("Ann's shop (No. 1), a/b+c: d-e?", "Ann's shop (No. 1), a/b+c: d-e?"),
            ("Müller & Søn", "Muller + Son"),
            ("Γωνία", "Gonia"),
            ("Кава", "Kava"),
            ("\"the\" <shop>;_1\u{200b}", "the shop -1"),
            ("  a\u{a0} b  ", "a b"),
        ] {
            assert_eq!(SepaName::new(name).unwrap().as_str(), expected, "{name}");
        }
        for name in ["", " ", "\u{10ffff}", "...", "<>"] {
            assert_eq!(SepaName::new(name), Err(InvalidSepaName), "{name}");
        }
    }

    #[test]
    fn a_long_name_is_cut() {
        for (name, length) in [("x".repeat(71), 70), (format!("{} y", "ß".repeat(34)), 70)] {
            assert_eq!(SepaName::new(&name).unwrap().as_str().len(), length, "{name}");
        }
        let name = format!("{} y", "x".repeat(69));
        assert_eq!(SepaName::new(&name).unwrap().as_str(), "x".repeat(69));
    }

    #[test]
    fn a_bic_has_8_or_11_characters() {
        for bic in ["COBADEFF", "cobadeffxxx", "AB12DE3F", "NDEADKKK"] {
            assert_eq!(bic.parse::<Bic>().unwrap().as_str(), bic.to_ascii_uppercase());
        }
        for bic in ["", "COBADEF", "COBADEFFX", "COBA1EFF", "COBADEFFXXXX", "COBA DEF", "ÖBADEFF"]
        {
            assert_eq!(bic.parse::<Bic>(), Err(InvalidBic), "{bic}");
        }
    }

    #[test]
    fn the_id_of_a_file_is_read_as_it_is_written() {
        let text = "20261121-6b016ea00000000000000002";
        let message: SepaMessage = text.parse().unwrap();
        assert_eq!(message.day.to_string(), "2026-11-21");
        assert_eq!(message.to_string(), text);
        for other in ["", "-", "20261121", "20261321-6b016ea00000000000000002", "20261121-6b01"] {
            assert_eq!(other.parse::<SepaMessage>(), Err(InvalidSepaMessage), "{other}");
        }
    }

    #[test]
    fn sepa_reaches_euro_accounts_of_its_countries() {
        let reaches = |currency: &str, iban: &str| {
            reaches(currency.parse().unwrap(), &Iban::new(iban).unwrap())
        };
        assert!(reaches("EUR", "DE89370400440532013000"));
        assert!(reaches("EUR", "GB29NWBK60161331926819"));
        assert!(!reaches("DKK", "DK5000400440116243"));
        assert!(reaches("EUR", "RS35260005601001611379"));
        assert!(!reaches("EUR", "BR1800360305000010009795493C1"));
        assert!(!reaches("EUR", "GL8964710001000206"), "Greenland is not in SEPA");
    }

    #[test]
    fn each_country_is_listed_once() {
        assert!(COUNTRIES.is_sorted_by(|one, next| one < next));
    }
}
