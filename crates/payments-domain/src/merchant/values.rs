//! Validated strings of merchants. The constants `MAX_*` are numbers of characters, not bytes.

use email_address::{EmailAddress, Options};
use iban::IbanLike as _;
use sql::stored;

const MAX_EMAIL: usize = 254;

const MAX_WEBSITE: usize = 2048;

pub(crate) const MAX_DESCRIPTOR: usize = 22;

const MAX_NOTES: usize = 2000;

pub(crate) const MAX_NAME: usize = 255;

/// Whether a text has a character that changes the direction of others. With one, a reader sees the
/// characters in another order: a file name, an amount or a domain can look like another one.
fn has_bidi_control(text: &str) -> bool {
    text.contains(|letter| matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'))
}

/// One e-mail address of at most `MAX_EMAIL` characters, without a display name, comments, white
/// space or bidirectional controls. Its domain has a dot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Email(String);

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be one e-mail address of at most {MAX_EMAIL} characters")]
pub struct InvalidEmail;

impl Email {
    pub fn new(text: &str) -> Result<Self, InvalidEmail> {
        let options =
            Options::default().with_required_tld().without_display_text().without_domain_literal();
        let valid = is_at_most(text, MAX_EMAIL)
            && !text.contains(char::is_whitespace)
            && !has_bidi_control(text)
            && EmailAddress::parse_with_options(text, options).is_ok();
        if valid { Ok(Self(text.to_owned())) } else { Err(InvalidEmail) }
    }
}

/// The merchant's website: any text of at most `MAX_WEBSITE` characters that is not blank and has
/// no control characters or bidirectional controls.
///
/// Decision: it does not have to be a URL, because published clients send `test.com`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Website(String);

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "must be text of 1 to {MAX_WEBSITE} characters, not blank, without control characters or \
     bidirectional controls"
)]
pub struct InvalidWebsite;

impl Website {
    pub fn new(text: &str) -> Result<Self, InvalidWebsite> {
        let valid = is_at_most(text, MAX_WEBSITE)
            && !text.trim().is_empty()
            && !text.contains(char::is_control)
            && !has_bidi_control(text);
        if valid { Ok(Self(text.to_owned())) } else { Err(InvalidWebsite) }
    }
}

/// The text on a customer's bank statement: 1 to `MAX_DESCRIPTOR` characters of printable ASCII,
/// not blank.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Descriptor(String);

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be 1 to {MAX_DESCRIPTOR} characters of printable ASCII, not blank")]
pub struct InvalidDescriptor;

impl Descriptor {
    pub fn new(text: &str) -> Result<Self, InvalidDescriptor> {
        let valid = is_at_most(text, MAX_DESCRIPTOR)
            && !text.trim().is_empty()
            && text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
        if valid { Ok(Self(text.to_owned())) } else { Err(InvalidDescriptor) }
    }
}

/// The name of a merchant or an app, or a registration number: text of at most `MAX_NAME`
/// characters without control characters or bidirectional controls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name(String);

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "must be text of at most {MAX_NAME} characters, without control characters or bidirectional \
     controls"
)]
pub struct InvalidName;

impl Name {
    pub fn new(text: &str) -> Result<Self, InvalidName> {
        let valid = is_at_most(text, MAX_NAME)
            && !text.contains(char::is_control)
            && !has_bidi_control(text);
        if valid { Ok(Self(text.to_owned())) } else { Err(InvalidName) }
    }
}

/// A merchant's notes about a saved card: text of at most `MAX_NOTES` characters, with any number
/// of lines, without NUL characters or bidirectional controls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notes(String);

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "must be text of at most {MAX_NOTES} characters, without NUL characters or bidirectional \
     controls"
)]
pub struct InvalidNotes;

impl Notes {
    pub fn new(text: &str) -> Result<Self, InvalidNotes> {
        let valid = is_at_most(text, MAX_NOTES) && !text.contains('\0') && !has_bidi_control(text);
        if valid { Ok(Self(text.to_owned())) } else { Err(InvalidNotes) }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be text without bidirectional controls")]
pub struct InvalidText;

/// Reads a text of a payment link, for the customer or the shop: any text without bidirectional
/// controls.
pub fn link_text(text: &str) -> Result<String, InvalidText> {
    if has_bidi_control(text) { Err(InvalidText) } else { Ok(text.to_owned()) }
}

/// A country code of two capital letters: ISO 3166-1 alpha-2.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Country(String);

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be an ISO 3166-1 country code of two capital letters")]
pub struct InvalidCountry;

impl Country {
    pub fn new(text: &str) -> Result<Self, InvalidCountry> {
        // The library also accepts lower-case letters, and the code of Kosovo, which is not in the
        // standard.
        match celes::Country::from_alpha2(text) {
            Ok(country) if country.alpha2 == text && text != "XK" => Ok(Self(text.to_owned())),
            _ => Err(InvalidCountry),
        }
    }
}

/// An IBAN in its electronic form: capital letters and digits, without spaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Iban(String);

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be an IBAN")]
pub struct InvalidIban;

impl Iban {
    /// Checks the length and characters for the country, and the check digits. Removes spaces, and
    /// converts lower-case letters to capitals.
    pub fn new(text: &str) -> Result<Self, InvalidIban> {
        let text = text.replace(' ', "").to_ascii_uppercase();
        let iban: iban::Iban = text.parse().map_err(|_| InvalidIban)?;
        Ok(Self(iban.electronic_str().to_owned()))
    }

    /// The code of the country, which is the first two letters.
    pub fn country(&self) -> &str {
        self.0.get(..2).unwrap_or_default()
    }
}

fn is_at_most(text: &str, characters: usize) -> bool {
    text.chars().nth(characters).is_none()
}

macro_rules! texts {
    ($($name:ident)*) => {$(
        stored! { $name(String) }

        impl $name {
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }
    )*};
}

texts!(Email Website Descriptor Name Notes Country Iban);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn accepted<'a, T, E>(new: fn(&str) -> Result<T, E>, texts: &[&'a str]) -> Vec<&'a str> {
        texts.iter().copied().filter(|text| new(text).is_ok()).collect()
    }

    /// The greatest length of a text of `x` that is accepted.
    fn longest<T, E>(new: fn(&str) -> Result<T, E>) -> usize {
        (0..3000).filter(|&length| new(&"x".repeat(length)).is_ok()).max().unwrap()
    }

    #[test]
    fn an_email_is_one_plain_address() {
        let good =
            ["a@b.co", "first.last+tag@sub.example.com", "o'neil@example.org", "é@exämple.de"];
        assert_eq!(accepted(Email::new, &good), good);
        let bad = [
            "",
            "a",
            "@",
            "a@",
            "@b.co",
            "a@localhost",
            "a@b..co",
            "a@-b.co",
            "a@[127.0.0.1]",
            "a@b@c.co",
            " a@b.co",
            "a@b.co ",
            " <a@b.co>",
            "<a@b.co>",
            "A <a@b.co>",
            "a@b.co,c@d.co",
            "a@b.co;c@d.co",
            "(c)a@b.co",
            "a@b.co\r\nBcc: c@d.co",
            "\"a b\"@c.co",
            "a\0@b.co",
        ];
        assert_eq!(accepted(Email::new, &bad), [""; 0]);
        let long = |tail: &str| format!("a@{}{tail}", "b.".repeat(125));
        assert_eq!(long("co").len(), MAX_EMAIL);
        assert!(Email::new(&long("co")).is_ok());
        assert!(Email::new(&long("com")).is_err());
    }

    #[test]
    fn a_website_is_any_text_that_is_not_blank() {
        let good = ["test.com", "https://example.com/ä?b=c", "-", " x "];
        assert_eq!(accepted(Website::new, &good), good);
        assert_eq!(
            accepted(Website::new, &["", " ", "\u{3000}", "a\nb", "a\0", "a\u{85}b"]),
            [""; 0]
        );
        assert_eq!(longest(Website::new), MAX_WEBSITE);
    }

    #[test]
    fn a_descriptor_is_printable_ascii() {
        let good = ["A", "SHOP*1234 ~!", "1234567890123456789012"];
        assert_eq!(accepted(Descriptor::new, &good), good);
        let bad = ["", " ", "   ", "é", "a\tb", "a\0", "a\u{7f}", "12345678901234567890123"];
        assert_eq!(accepted(Descriptor::new, &bad), [""; 0]);
        assert_eq!(longest(Descriptor::new), MAX_DESCRIPTOR);
    }

    #[test]
    fn a_name_has_no_control_characters() {
        let good = ["", "Ann & Söner", "店"];
        assert_eq!(accepted(Name::new, &good), good);
        assert_eq!(accepted(Name::new, &["a\nb", "\0", "a\u{9f}"]), [""; 0]);
        assert_eq!(longest(Name::new), MAX_NAME);
        assert!(Name::new(&"é".repeat(MAX_NAME)).is_ok());
    }

    #[test]
    fn no_text_has_bidirectional_controls() {
        let refused = |text: &str| {
            [
                Email::new(&format!("{text}@b.co")).is_err(),
                Website::new(text).is_err(),
                Descriptor::new(text).is_err(),
                Name::new(text).is_err(),
                Notes::new(text).is_err(),
                link_text(text).is_err(),
            ]
        };
        for control in ('\u{202a}'..='\u{202e}').chain('\u{2066}'..='\u{2069}') {
            assert_eq!(refused(&format!("a{control}b")), [true; 6], "{}", control.escape_unicode());
        }
        assert_eq!(refused("ab"), [false; 6]);
        // Arabic, a right-to-left mark, a joiner: they are part of ordinary texts.
        for text in ["\u{645}\u{62a}\u{62c}\u{631}", "a\u{200f}b", "a\u{200d}b", "a\u{2029}b"] {
            assert!(link_text(text).is_ok() && Notes::new(text).is_ok());
        }
    }

    #[test]
    fn a_country_is_two_capital_letters_of_the_standard() {
        let good = ["DK", "DE", "GB", "AX", "BQ", "SS"];
        assert_eq!(accepted(Country::new, &good), good);
        let bad = ["", "dk", "Dk", "DNK", "208", "XK", "UK", "EU", "AN", "ZZ", " DK", "D\0", "ÅÄ"];
        assert_eq!(accepted(Country::new, &bad), [""; 0]);
        let codes = ('A'..='Z').flat_map(|first| ('A'..='Z').map(move |second| [first, second]));
        let known = codes.filter(|code| Country::new(&String::from_iter(code)).is_ok());
        assert_eq!(known.count(), 249);
    }

    #[test]
    fn an_iban_is_written_without_spaces_in_capitals() {
        for (given, kept) in [
            ("DK5000400440116243", "DK5000400440116243"),
            ("dk50 0040 0440 1162 43", "DK5000400440116243"),
            (" GB29 NWBK 6016 1331 9268 19 ", "GB29NWBK60161331926819"),
            ("gb29nwbk60161331926819", "GB29NWBK60161331926819"),
            ("NO93 8601 1117947", "NO9386011117947"),
        ] {
            assert_eq!(Iban::new(given).unwrap().as_str(), kept);
        }
        let bad = [
            "",
            "DK",
            "DK5100400440116243",
            "DK500040044011624",
            "DK50004004401162430",
            "GB29601613319268NWBK19",
            "ZZ5000400440116243",
            "DK50-0040-0440-1162-43",
            "DK50\t0040044011\u{a0}6243",
            "DK500040044011624\0",
            "ＤＫ5000400440116243",
        ];
        assert_eq!(accepted(Iban::new, &bad), [""; 0]);
    }

    proptest! {
        #[test]
        fn an_accepted_text_is_unchanged(text in any::<String>()) {
            let kept = [
                Email::new(&text).map_or(text.clone(), |email| email.0),
                Website::new(&text).map_or(text.clone(), |website| website.0),
                Descriptor::new(&text).map_or(text.clone(), |descriptor| descriptor.0),
                Name::new(&text).map_or(text.clone(), |name| name.0),
                Country::new(&text).map_or(text.clone(), |country| country.0),
            ];
            prop_assert!(kept.iter().all(|kept| *kept == text));
            if let Ok(iban) = Iban::new(&text) {
                prop_assert_eq!(Iban::new(iban.as_str()), Ok(iban));
            }
        }
    }
}
