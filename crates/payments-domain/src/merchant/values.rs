//! Validated strings of merchants. The constants `MAX_*` are numbers of characters, not bytes.

use email_address::{EmailAddress, Options};
use sql::stored;

use crate::Id;

const MAX_EMAIL: usize = 254;

const MAX_WEBSITE: usize = 2048;

pub(crate) const MAX_DESCRIPTOR: usize = 22;

const MAX_NOTES: usize = 2000;

pub(crate) const MAX_NAME: usize = 255;

/// Whether a text has a character that changes the direction of others. With one, a reader sees the
/// characters in another order: a file name, an amount or a domain can look like another one.
pub(crate) fn has_bidi_control(text: &str) -> bool {
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

/// Notes of a merchant about a saved card, or of an operator about a hold: text of at most `MAX_NOTES` characters, with any number
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

    /// Why payouts are held after one came back.
    pub(crate) fn of_return(payout: Id) -> Self {
        Self(format!("the bank returned payout {payout}"))
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

/// The structures that the registry of SWIFT has (release 103, September 2026) and the library does
/// not: a country, and what follows the check digits: `a` is a letter, `n` a digit, `c` either.
const ADDED_STRUCTURES: [(&str, &str); 3] = [
    // The code of the bank may have letters.
    ("BR", "ccccccccnnnnnnnnnnnnnnnac"),
    ("HN", "aaaannnnnnnnnnnnnnnnnnnn"),
    ("PK", "aaaacccccccccccccccc"),
];

impl Iban {
    /// Checks the length and characters for the country, and the check digits. Removes spaces, and
    /// converts lower-case letters to capitals.
    pub fn new(text: &str) -> Result<Self, InvalidIban> {
        use iban::ParseIbanError::{InvalidBaseIban, InvalidBban, UnknownCountry};

        let text = text.replace(' ', "").to_ascii_uppercase();
        // ISO 13616 allows 02 to 98. The library only divides, and 97 more have the same rest.
        if matches!(text.get(2..4), Some("00" | "01" | "99")) {
            return Err(InvalidIban);
        }
        match text.parse::<iban::Iban>() {
            Ok(_) => Ok(Self(text)),
            // The check digits are right.
            Err(UnknownCountry(_) | InvalidBban(_)) if has_added_structure(&text) => Ok(Self(text)),
            Err(UnknownCountry(_) | InvalidBban(_) | InvalidBaseIban { .. }) => Err(InvalidIban),
        }
    }

    /// The code of the country, which is the first two letters.
    pub fn country(&self) -> &str {
        self.0.get(..2).unwrap_or_default()
    }
}

fn has_added_structure(iban: &str) -> bool {
    let Some((country, account)) = iban.split_at_checked(4) else { return false };
    let suits = |(kind, letter): (char, char)| match kind {
        'a' => letter.is_ascii_uppercase(),
        'n' => letter.is_ascii_digit(),
        _ => letter.is_ascii_alphanumeric(),
    };
    ADDED_STRUCTURES.iter().any(|(known, structure)| {
        country.starts_with(known)
            && account.len() == structure.len()
            && structure.chars().zip(account.chars()).all(suits)
    })
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
            ("DK02 0040 0440 1100 26", "DK0200400440110026"),
            ("DK98 0040 0440 1100 44", "DK9800400440110044"),
        ] {
            assert_eq!(Iban::new(given).unwrap().as_str(), kept);
        }
        let bad = [
            "",
            "DK",
            "DK5100400440116243",
            // The right check digits are 02, 98 and 97.
            "DK9900400440110026",
            "DK0100400440110044",
            "DK0000400440110062",
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

    /// The example of each country of the registry of SWIFT, release 103.
    const REGISTRY: &str = "AD1200012030200359100100 AE070331234567890123456 AL47212110090000000235698741 \
        AT611904300234573201 AZ21NABZ00000000137010001944 BA391290079401028494 \
        BE68539007547034 BG80BNBG96611020345678 BH67BMAG00001299123456 \
        BI4210000100010000332045181 BR6699999A03000010009795493C1 \
        BY13NBRB3600900000002Z00AB00 CH9300762011623852957 CR05015202001026284066 \
        CY17002001280000001200527600 CZ6508000000192000145399 DE89370400440532013000 \
        DJ2100010000000154000100186 DK5000400440116243 DO28BAGR00000001212453611324 \
        EE382200221020145685 EG380019000500000000263180002 ES9121000418450200051332 \
        FI2112345600000785 FK88SC123456789012 FO6264600001631634 \
        FR1420041010050500013M02606 GB29NWBK60161331926819 GE29NB0000000101904917 \
        GI75NWBK000000007099453 GL8964710001000206 GR1601101250000000012300695 \
        GT82TRAJ01020000001210029690 HN88CABF00000000000250005469 HR1210010051863000160 \
        HU42117730161111101800000000 IE29AIBK93115212345678 IL620108000000099999999 \
        IQ98NBIQ850123456789012 IS140159260076545510730339 IT60X0542811101000000123456 \
        JO94CBJO0010000000000131000302 KW81CBKU0000000000001234560101 KZ86125KZT5004100100 \
        LB62099900000001001901229114 LC55HEMM000100010012001200023015 LI21088100002324013AA \
        LT121000011101001000 LU280019400644750000 LV80BANK0000435195001 \
        LY83002048000020100120361 MC5811222000010123456789030 MD24AG000225100013104168 \
        ME25505000012345678951 MK07250120000058984 MN121234123456789123 \
        MR1300020001010000123456753 MT84MALT011000012345MTLCAST001S \
        MU17BOMM0101101030300200000MUR NI45BAPR00000013000003558124 NL91ABNA0417164300 \
        NO9386011117947 OM810180000001299123456 PK36SCBL0000001123456702 \
        PL61109010140000071219812874 PS92PALS000000000400123456702 \
        PT50000201231234567890154 QA58DOHB00001234567890ABCDEFG RO49AAAA1B31007593840000 \
        RS35260005601001611379 RU0304452522540817810538091310419 SA0380000000608010167519 \
        SC18SSCB11010000000000001497USD SD2129010501234001 SE4550000000058398257466 \
        SI56263300012039086 SK3112000000198742637541 SM86U0322509800000000270100 \
        SO211000001001000100141 ST23000100010051845310146 SV62CENR00000000000000700025 \
        TL380080012345678910157 TN5910006035183598478831 TR330006100519786457841326 \
        UA213223130000026007233566001 VA59001123000012345678 VG96VPVG0000012345678901 \
        XK051212012345678906 YE15CBYE0001018861234567891234";

    #[test]
    fn every_country_of_the_registry_is_known() {
        assert_eq!(REGISTRY.split(' ').count(), 89);
        for example in REGISTRY.split(' ') {
            assert_eq!(Iban::new(example).map(|iban| iban.0).as_deref(), Ok(example));
            let check = example[2..4].parse::<u8>().unwrap();
            let wrong = format!("{}{:02}{}", &example[..2], (check + 1) % 100, &example[4..]);
            assert!(Iban::new(&wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_added_structure_has_its_length_and_characters() {
        // Their check digits are right.
        let bad = [
            "HN67CABF0000000000025000546",
            "HN56CABF000000000002500054690",
            "HN05CAB100000000000250005469",
            "HN82CABF0000000000025000546A",
            "BR1899999A030000100097954931C",
            "BR8199999A03000010009795493C",
        ];
        assert_eq!(accepted(Iban::new, &bad), [""; 0]);
        assert!(Iban::new("hn88 cabf 0000 0000 0002 5000 5469").is_ok());
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
