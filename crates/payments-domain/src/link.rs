//! Payment links: what a customer pays, and the page of the shop to return to.

use std::str::FromStr;

use hmac::{Hmac, KeyInit as _, Mac as _};
use jiff::Timestamp;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use secrecy::{ExposeSecret as _, SecretString};
use sha2::{Digest as _, Sha256};
use sql::{Param, stored};
use url::Url;

use super::{
    custom_data::{CustomData, InvalidCustom},
    field_error::FieldError,
    id::Id,
    merchant::Merchant,
    money::{Amount, Currency, Decimal},
};

/// The maximum length of a [`Redirect`] in characters.
const MAX_REDIRECT: usize = 2048;

/// The parameters of a payment link, each valid alone. [`Link::check_merchant`] and [`Link::due`]
/// check them together.
#[derive(Debug, Clone, PartialEq)]
pub struct Link {
    /// The merchant key.
    pub key: String,
    /// Whether the link is for a test merchant.
    pub test: bool,
    /// `None`: the customer chooses.
    pub currency: Option<Currency>,
    /// `None`: the customer enters an amount.
    pub value: Option<DecimalAmount>,
    /// Text for the merchant.
    pub reference: Option<String>,
    /// Text for the customer.
    pub text: Option<String>,
    /// The page of the shop to open after the payment.
    pub redirect: Option<Redirect>,
    /// The language of the payment page. Any text: unknown languages are ignored.
    pub locale: Option<String>,
    /// Whether the shop keeps the card for later payments. The page shows it.
    pub recurring: bool,
    /// The link starts no payment after this time.
    pub expires: Option<UnixSeconds>,
    /// Whether the link pays only once. A failed payment does not count.
    pub once: bool,
    pub signature: Option<Signature>,
}

/// Identifies a link that pays only once: a digest of its parameters.
pub type LinkDigest = [u8; 32];

impl Link {
    /// Checks the link against its merchant.
    pub fn check_merchant(&self, merchant: &Merchant) -> Result<(), FieldError> {
        match (self.test, merchant.details.test) {
            (false, true) => Err(FieldError::new("test", "must be 1 for a test merchant")),
            (true, false) => Err(FieldError::new("test", "must be left out for a live merchant")),
            _ => Ok(()),
        }
    }

    /// Checks which parameters stand together.
    pub fn check_parameters(&self) -> Result<(), FieldError> {
        // Without a signature, a customer could remove these parameters.
        let limited = [("expires", self.expires.is_some()), ("once", self.once)];
        let limited = limited.into_iter().find(|(_, is_given)| *is_given);
        let is_open = self.currency.is_none() || self.value.is_none();
        match (&self.signature, limited) {
            (None, Some((name, _))) => Err(FieldError::new(name, "needs a signature")),
            // The customer's own amount cannot be signed.
            (Some(_), _) if is_open => {
                Err(FieldError::new("signature", "needs a currency and a value"))
            }
            _ => Ok(()),
        }
    }

    pub fn has_expired(&self, now: Timestamp) -> bool {
        self.expires.as_ref().is_some_and(|expires| expires.second <= now.as_second())
    }

    /// The text that a signature covers: every other parameter as `name=value`, sorted by name and
    /// joined with `&`. In a value, every byte of UTF-8 is percent-encoded, except for ASCII
    /// letters, digits and `-._~` (RFC 3986).
    fn signed_text(&self) -> String {
        let mut parameters = self.parameters();
        parameters.retain(|&(name, _)| name != "signature");
        parameters.sort_unstable();
        let encode = |(name, value)| format!("{name}={}", utf8_percent_encode(value, RESERVED));
        parameters.into_iter().map(encode).collect::<Vec<_>>().join("&")
    }

    /// `None` for a link that pays any number of times.
    pub fn digest_if_once(&self) -> Option<LinkDigest> {
        self.once.then(|| Sha256::digest(self.signed_text()).into())
    }

    /// The currency and amount to pay, if the link has both. Fails if the value does not suit the
    /// currency.
    pub fn due(&self) -> Result<Option<(Currency, Amount)>, InvalidValue> {
        let both = self.currency.zip(self.value.as_ref());
        both.map(|(currency, value)| Ok((currency, value.amount(currency)?))).transpose()
    }

    /// The custom data for the transaction: the texts of the link.
    pub fn custom(&self) -> Result<Option<CustomData>, InvalidCustom> {
        let texts = [("text", &self.text), ("reference", &self.reference)];
        texts.into_iter().try_fold(None, |custom, (name, text)| match text {
            Some(text) => CustomData::with(custom, name, text).map(Some),
            None => Ok(custom),
        })
    }

    /// The parameters that are present. Parsing them gives the same link.
    pub fn parameters(&self) -> Vec<(&'static str, &str)> {
        let optional = [
            ("test", self.test.then_some("1")),
            ("currency", self.currency.map(Currency::code)),
            ("value", self.value.as_ref().map(DecimalAmount::as_str)),
            ("reference", self.reference.as_deref()),
            ("text", self.text.as_deref()),
            ("redirect", self.redirect.as_ref().map(|redirect| redirect.text.as_str())),
            ("locale", self.locale.as_deref()),
            ("recurring", self.recurring.then_some("y")),
            ("expires", self.expires.as_ref().map(|expires| expires.text.as_str())),
            ("once", self.once.then_some("y")),
            ("signature", self.signature.as_ref().map(|signature| signature.0.as_str())),
        ];
        let present = optional.into_iter().filter_map(|(name, value)| Some((name, value?)));
        [("key", self.key.as_str())].into_iter().chain(present).collect()
    }
}

/// Everything but the unreserved characters of RFC 3986.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A time in seconds since 1970, as the link contains it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnixSeconds {
    text: String,
    second: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be a time in seconds since 1970")]
pub struct InvalidTime;

impl FromStr for UnixSeconds {
    type Err = InvalidTime;

    fn from_str(text: &str) -> Result<Self, InvalidTime> {
        let is_number = text.len() <= 12 && text.bytes().all(|byte| byte.is_ascii_digit());
        let second = text.parse().ok().filter(|_| is_number).ok_or(InvalidTime)?;
        Ok(Self { text: text.to_owned(), second })
    }
}

/// The signature of a link: HMAC-SHA256 in hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature(String);

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be 64 hexadecimal digits in lower case")]
pub struct InvalidSignature;

impl FromStr for Signature {
    type Err = InvalidSignature;

    fn from_str(text: &str) -> Result<Self, InvalidSignature> {
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        let is_digest = text.len() == 64 && text.bytes().all(is_digit);
        is_digest.then(|| Self(text.to_owned())).ok_or(InvalidSignature)
    }
}

/// The key with which a merchant signs links. The bytes of the text are the key, so that it can be
/// passed to any HMAC program.
#[derive(Debug, Clone)]
pub struct LinkSecret(SecretString);
stored! {
    LinkSecret as String: |secret| Param::Text(secret.expose().into()),
        |text| Some(Self(text.into()))
}

impl LinkSecret {
    pub fn new(text: SecretString) -> Self {
        Self(text)
    }

    pub fn expose(&self) -> &str {
        self.0.expose_secret()
    }

    /// Whether the link has the signature of this secret. Compares in constant time.
    pub fn has_signed(&self, link: &Link) -> bool {
        let signature = link.signature.as_ref().and_then(|given| hex::decode(&given.0).ok());
        let given = signature.zip(self.mac(link));
        given.is_some_and(|(signature, mac)| mac.verify_slice(&signature).is_ok())
    }

    /// The signature of a link.
    pub fn sign(&self, link: &Link) -> Option<Signature> {
        Some(Signature(hex::encode(self.mac(link)?.finalize().into_bytes())))
    }

    fn mac(&self, link: &Link) -> Option<Hmac<Sha256>> {
        let mac = Hmac::<Sha256>::new_from_slice(self.expose().as_bytes()).ok()?;
        Some(mac.chain_update(link.signed_text()))
    }
}

impl PartialEq for LinkSecret {
    fn eq(&self, other: &Self) -> bool {
        self.expose() == other.expose()
    }
}

/// An amount in major units: a decimal number. It needs a currency to become an [`Amount`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecimalAmount(String);

/// Why a text is not an amount of its currency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidValue {
    #[error("must be a decimal number such as 9.95")]
    NotANumber,
    #[error("must have at most as many decimal places as the currency, which has {0}")]
    TooPrecise(u32),
    #[error("must be more than 0, and at most {} minor units", Amount::MAX)]
    OutOfRange,
}

impl DecimalAmount {
    /// Parses an amount that a customer typed: `9,95`, `1.234,50`, `1 234.5`. `decimal_mark` is that
    /// of the customer's language. It decides about `1.234`, which is a thousand in one language and
    /// a decimal number in another.
    pub fn parse_input(text: &str, decimal_mark: char) -> Result<Self, InvalidValue> {
        let is_space = |letter: char| letter.is_whitespace() || ['\'', '’'].contains(&letter);
        let text = text.trim().replace(is_space, " ");
        let marks: Vec<_> = text.match_indices([',', '.']).collect();
        let decimal = match *marks {
            [] => None,
            // One mark before three digits groups them, unless it is the decimal mark.
            [(at, mark)]
                if text.len().saturating_sub(at) == 4 && !mark.starts_with(decimal_mark) =>
            {
                None
            }
            [(at, _)] => Some(at),
            // Of several marks, only the last one can be the decimal mark.
            [(_, first), .., (at, last)] => (first != last).then_some(at),
        };
        let (whole, places) = match decimal {
            Some(at) => (&text[..at], Some(&text[at.saturating_add(1)..])),
            None => (text.as_str(), None),
        };
        let whole = ungrouped(whole).ok_or(InvalidValue::NotANumber)?;
        match places {
            Some(places) => format!("{whole}.{places}").parse(),
            None => whole.parse(),
        }
    }

    /// The amount in minor units of a currency.
    pub fn amount(&self, currency: Currency) -> Result<Amount, InvalidValue> {
        let Decimal { mantissa, places } = decimal(&self.0)?;
        let exponent = currency.exponent();
        let missing = exponent.checked_sub(places).ok_or(InvalidValue::TooPrecise(exponent))?;
        let unit = 10_u64.checked_pow(missing).ok_or(InvalidValue::OutOfRange)?;
        let minor = mantissa.checked_mul(unit).and_then(|minor| i64::try_from(minor).ok());
        let amount = minor.and_then(|minor| Amount::new(minor).ok());
        amount.ok_or(InvalidValue::OutOfRange)
    }

    /// The number as the link contains it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for DecimalAmount {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        decimal(text).map(|_| Self(text.to_owned()))
    }
}

/// Removes the marks between groups of three digits. `None` if the groups have other sizes or
/// different marks.
fn ungrouped(whole: &str) -> Option<String> {
    let marks = [' ', ',', '.'];
    let Some(mark) = whole.chars().find(|letter| marks.contains(letter)) else {
        return Some(whole.to_owned());
    };
    let mut groups = whole.split(mark);
    let first = groups.next()?;
    let is_first = (1..=3).contains(&first.len()) && !first.starts_with('0');
    let is_right =
        is_first && groups.clone().all(|group| group.len() == 3 && !group.contains(marks));
    is_right.then(|| groups.fold(first.to_owned(), |whole, group| whole + group))
}

fn decimal(text: &str) -> Result<Decimal, InvalidValue> {
    text.parse().map_err(|_| InvalidValue::NotANumber)
}

/// The URL of the shop's page after the payment: http or https, without a user name or password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redirect {
    url: Url,
    /// As the link contains it, because a signature covers it.
    text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "must be an http or https URL of at most {MAX_REDIRECT} characters, without a user name or \
     password"
)]
pub struct InvalidRedirect;

/// The query parameter with the transaction ID for the shop.
const TRANSACTION: &str = "transactionId";

impl Redirect {
    pub fn as_str(&self) -> &str {
        self.url.as_str()
    }

    /// Adds the ID of the transaction to the query. The fragment stays unchanged. An existing
    /// `transactionId` is replaced; the other parameters are then encoded again.
    pub fn with(&self, transaction: Id) -> String {
        let mut url = self.url.clone();
        if url.query_pairs().any(|(name, _)| name == TRANSACTION) {
            let others = self.url.query_pairs().filter(|(name, _)| name != TRANSACTION);
            url.query_pairs_mut().clear().extend_pairs(others);
        }
        url.query_pairs_mut().append_pair(TRANSACTION, &transaction.to_string());
        url.into()
    }
}

impl FromStr for Redirect {
    type Err = InvalidRedirect;

    fn from_str(text: &str) -> Result<Self, InvalidRedirect> {
        let url = Url::parse(text).map_err(|_| InvalidRedirect)?;
        let is_web = ["http", "https"].contains(&url.scheme());
        let is_open = url.username().is_empty() && url.password().is_none();
        // The URL can be longer than the text: it encodes characters that are not ASCII.
        let is_short = url.as_str().len() <= MAX_REDIRECT;
        let text = text.to_owned();
        (is_web && is_open && is_short).then_some(Self { url, text }).ok_or(InvalidRedirect)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn amount(value: &str, currency: &str) -> Result<i64, InvalidValue> {
        value.parse::<DecimalAmount>()?.amount(currency.parse().unwrap()).map(Amount::minor)
    }

    fn redirected(address: &str) -> String {
        let id = "6b016ea00000000000000001".parse().unwrap();
        address.parse::<Redirect>().unwrap().with(id)
    }

    #[test]
    fn a_value_becomes_minor_units_of_its_currency() {
        for (value, currency, minor) in [
            ("9.95", "EUR", 995),
            ("9.9", "EUR", 990),
            ("9", "EUR", 900),
            ("009.50", "EUR", 950),
            ("0.01", "EUR", 1),
            ("995", "JPY", 995),
            ("0.001", "BHD", 1),
            ("10000000000", "EUR", Amount::MAX),
            ("10000000000.00", "EUR", Amount::MAX),
        ] {
            assert_eq!(amount(value, currency), Ok(minor), "{value} {currency}");
        }
    }

    #[test]
    fn invalid_values_are_rejected() {
        let number = InvalidValue::NotANumber;
        for (value, currency, error) in [
            ("", "EUR", number),
            ("9,95", "EUR", number),
            ("9.", "EUR", number),
            (".95", "EUR", number),
            ("-1", "EUR", number),
            ("+1", "EUR", number),
            ("1e2", "EUR", number),
            (" 1", "EUR", number),
            ("1 000", "EUR", number),
            ("٩", "EUR", number),
            ("NaN", "EUR", number),
            ("9.999", "EUR", InvalidValue::TooPrecise(2)),
            ("9.0", "JPY", InvalidValue::TooPrecise(0)),
            ("0", "EUR", InvalidValue::OutOfRange),
            ("0.00", "EUR", InvalidValue::OutOfRange),
            ("10000000000.01", "EUR", InvalidValue::OutOfRange),
            ("999999999999999", "BHD", InvalidValue::OutOfRange),
        ] {
            assert_eq!(amount(value, currency), Err(error), "{value} {currency}");
        }
    }

    #[test]
    fn an_amount_is_typed_as_in_the_language() {
        for (typed, mark, expected) in [
            ("9,95", '.', "9.95"),
            (" 9.95 ", ',', "9.95"),
            ("1.234,50", ',', "1234.50"),
            ("1,234.50", '.', "1234.50"),
            ("1,234.50", ',', "1234.50"),
            ("1 234,5", ',', "1234.5"),
            ("1\u{202f}234\u{a0}567", ',', "1234567"),
            ("1’234.50", ',', "1234.50"),
            ("1.234", ',', "1234"),
            ("1.234", '.', "1.234"),
            ("1,234", '.', "1234"),
            ("1,234", ',', "1.234"),
            ("1.234.567", '.', "1234567"),
            ("12.345", ',', "12345"),
            ("0,5", ',', "0.5"),
        ] {
            let read = DecimalAmount::parse_input(typed, mark);
            assert_eq!(read.as_ref().map(DecimalAmount::as_str), Ok(expected), "{typed} {mark}");
        }
        for typed in [
            "",
            ".",
            ",5",
            "5,",
            "ten",
            "1.2.3",
            "1,2,3",
            "12 34",
            "1.234,567.8",
            "1234.567,8",
            "1,23,456.7",
            "1..234",
            "1 234.567,8",
            "0 123",
            "0,123.4",
            "-5",
            "+5",
            "1e3",
            "٩",
        ] {
            for mark in ['.', ','] {
                let read = DecimalAmount::parse_input(typed, mark);
                assert_eq!(read, Err(InvalidValue::NotANumber), "{typed} {mark}");
            }
        }
    }

    fn link() -> Link {
        Link {
            key: "4b1f0a4e-6f0f-4d53-9f0c-0d6f8c2a9b11".to_owned(),
            test: true,
            currency: "EUR".parse().ok(),
            value: "9.95".parse().ok(),
            reference: Some("a&b=ü ~".to_owned()),
            text: None,
            redirect: "https://shop.example".parse().ok(),
            locale: None,
            recurring: false,
            expires: "1900000000".parse().ok(),
            once: true,
            signature: None,
        }
    }

    #[test]
    fn a_signature_covers_every_other_parameter() {
        let signed = "currency=EUR&expires=1900000000&key=4b1f0a4e-6f0f-4d53-9f0c-0d6f8c2a9b11&once=y\
                      &redirect=https%3A%2F%2Fshop.example&reference=a%26b%3D%C3%BC%20~&test=1&value=9.95";
        assert_eq!(link().signed_text(), signed);
        let secret = LinkSecret::new("a secret".into());
        // printf %s "$signed" | openssl dgst -sha256 -hmac "a secret"
        let mac = Hmac::<Sha256>::new_from_slice(b"a secret").unwrap().chain_update(signed);
        let signature = hex::encode(mac.finalize().into_bytes()).parse::<Signature>().unwrap();
        let made = Link { signature: Some(signature), ..link() };
        assert!(secret.has_signed(&made));
        assert!(!LinkSecret::new("another".into()).has_signed(&made));
        assert!(!secret.has_signed(&link()));
        for changed in [
            Link { value: "9.94".parse().ok(), ..made.clone() },
            Link { once: false, ..made.clone() },
            Link { expires: None, ..made.clone() },
            Link { text: Some("x".to_owned()), ..made.clone() },
            Link { redirect: "https://shop.example/".parse().ok(), ..made.clone() },
        ] {
            assert!(!secret.has_signed(&changed), "{changed:?}");
        }
    }

    #[test]
    fn limits_of_a_link_need_a_signature_and_an_amount() {
        let signature = "0".repeat(64).parse::<Signature>().ok();
        let signed = Link { signature, ..link() };
        let plain = Link { expires: None, once: false, ..link() };
        assert_eq!((signed.check_parameters(), plain.check_parameters()), (Ok(()), Ok(())));
        for (wrong, field) in [
            (link(), "expires"),
            (Link { expires: None, ..link() }, "once"),
            (Link { value: None, ..signed.clone() }, "signature"),
            (Link { currency: None, ..signed.clone() }, "signature"),
        ] {
            assert_eq!(wrong.check_parameters().unwrap_err().field, field);
        }
        for (second, has_expired) in [(1_899_999_999, false), (1_900_000_000, true)] {
            let now = Timestamp::from_second(second).unwrap();
            assert_eq!(link().has_expired(now), has_expired);
        }
        for bad in ["-1", "1.5", "9999999999999", "x"] {
            assert!(bad.parse::<UnixSeconds>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_redirect_keeps_its_query_and_its_fragment() {
        let id = "transactionId=6b016ea00000000000000001";
        for (address, expected) in [
            ("https://shop.example", format!("https://shop.example/?{id}")),
            ("https://shop.example/a?", format!("https://shop.example/a?{id}")),
            (
                "http://shop.example:81/a?b=c%20d+e&f#g",
                format!("http://shop.example:81/a?b=c%20d+e&f&{id}#g"),
            ),
            ("https://shop.example/#!/done?x=1", format!("https://shop.example/?{id}#!/done?x=1")),
            (
                "https://shop.example/?transactionId=x&a=b",
                format!("https://shop.example/?a=b&{id}"),
            ),
            ("https://[::1]:8080/", format!("https://[::1]:8080/?{id}")),
        ] {
            assert_eq!(redirected(address), expected);
        }
    }

    #[test]
    fn a_redirect_is_a_web_address_without_credentials() {
        for bad in [
            "",
            "shop.example",
            "/done",
            "//shop.example",
            "javascript:alert(1)",
            "data:text/html,x",
            "ftp://shop.example/",
            "https://",
            "https://shop.example@bank.example/",
            "https://user:password@shop.example/",
        ] {
            assert_eq!(bad.parse::<Redirect>(), Err(InvalidRedirect), "{bad}");
        }
        let sized = |size: usize| format!("https://shop.example/{}", "x".repeat(size - 21));
        assert!(sized(MAX_REDIRECT).parse::<Redirect>().is_ok());
        assert!(sized(MAX_REDIRECT + 1).parse::<Redirect>().is_err());
        let accented = format!("https://shop.example/{}", "é".repeat((MAX_REDIRECT - 21) / 6));
        assert!(accented.parse::<Redirect>().is_ok());
        assert!((accented + "é").parse::<Redirect>().is_err());
    }

    proptest! {
        #[test]
        fn a_valid_redirect_can_be_parsed_again(text in any::<String>()) {
            if let Ok(redirect) = text.parse::<Redirect>() {
                let again = redirect.as_str().parse::<Redirect>().unwrap();
                prop_assert_eq!(again.as_str(), redirect.as_str());
            }
        }

        #[test]
        fn a_value_has_the_digits_of_its_minor_units(minor in 1..=Amount::MAX) {
            let value = format!("{}.{:02}", minor / 100, minor % 100);
            prop_assert_eq!(amount(&value, "EUR"), Ok(minor));
        }
    }
}
