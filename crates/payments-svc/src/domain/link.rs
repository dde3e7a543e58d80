//! Payment links: what a customer pays, and the page of the shop to return to.

use std::str::FromStr;

use url::Url;

use super::{
    custom_data::{CustomData, InvalidCustom},
    field_error::FieldError,
    id::Id,
    merchant::Merchant,
    money::{Amount, Currency, Decimal},
};

/// The maximum length of a [`Redirect`] in characters.
pub(crate) const MAX_REDIRECT: usize = 2048;

/// The parameters of a payment link, each valid alone. [`Link::check_merchant`] and [`Link::due`]
/// check them together.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Link {
    /// The merchant key.
    pub(crate) key: String,
    /// Whether the link is for a test merchant.
    pub(crate) test: bool,
    /// `None`: the customer chooses.
    pub(crate) currency: Option<Currency>,
    /// `None`: the customer enters an amount.
    pub(crate) value: Option<DecimalAmount>,
    /// Text for the merchant.
    pub(crate) reference: Option<String>,
    /// Text for the customer.
    pub(crate) text: Option<String>,
    /// The page of the shop to open after the payment.
    pub(crate) redirect: Option<Redirect>,
    /// The language of the payment page. Any text: unknown languages are ignored.
    pub(crate) locale: Option<String>,
    /// Whether the shop keeps the card for later payments. The page shows it; nothing else changes.
    pub(crate) recurring: bool,
}

impl Link {
    /// Checks the link against its merchant.
    pub(crate) fn check_merchant(&self, merchant: &Merchant) -> Result<(), FieldError> {
        match (self.test, merchant.details.test) {
            (false, true) => Err(FieldError::new("test", "must be 1 for a test merchant")),
            (true, false) => Err(FieldError::new("test", "must be left out for a live merchant")),
            _ => Ok(()),
        }
    }

    /// The currency and amount to pay, if the link has both. Fails if the value does not suit the
    /// currency.
    pub(crate) fn due(&self) -> Result<Option<(Currency, Amount)>, InvalidValue> {
        let both = self.currency.zip(self.value.as_ref());
        both.map(|(currency, value)| Ok((currency, value.amount(currency)?))).transpose()
    }

    /// The custom data for the transaction: the texts of the link.
    pub(crate) fn custom(&self) -> Result<Option<CustomData>, InvalidCustom> {
        let texts = [("text", &self.text), ("reference", &self.reference)];
        texts.into_iter().try_fold(None, |custom, (name, text)| match text {
            Some(text) => CustomData::with(custom, name, text).map(Some),
            None => Ok(custom),
        })
    }

    /// The parameters that are present. Parsing them gives the same link.
    pub(crate) fn parameters(&self) -> Vec<(&'static str, &str)> {
        let optional = [
            ("test", self.test.then_some("1")),
            ("currency", self.currency.map(Currency::code)),
            ("value", self.value.as_ref().map(DecimalAmount::as_str)),
            ("reference", self.reference.as_deref()),
            ("text", self.text.as_deref()),
            ("redirect", self.redirect.as_ref().map(Redirect::as_str)),
            ("locale", self.locale.as_deref()),
            ("recurring", self.recurring.then_some("y")),
        ];
        let present = optional.into_iter().filter_map(|(name, value)| Some((name, value?)));
        [("key", self.key.as_str())].into_iter().chain(present).collect()
    }
}

/// An amount in major units: a decimal number. It needs a currency to become an [`Amount`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DecimalAmount(String);

/// Why a text is not an amount of its currency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum InvalidValue {
    #[error("must be a decimal number such as 9.95")]
    NotANumber,
    #[error("must have at most as many decimal places as the currency, which has {0}")]
    TooPrecise(u32),
    #[error("must be more than 0, and at most {} minor units", Amount::MAX)]
    OutOfRange,
}

impl DecimalAmount {
    /// Parses an amount that a customer typed, with a decimal comma or point.
    pub(crate) fn parse_input(text: &str) -> Result<Self, InvalidValue> {
        text.trim().replace(',', ".").parse()
    }

    /// The amount in minor units of a currency.
    pub(crate) fn amount(&self, currency: Currency) -> Result<Amount, InvalidValue> {
        let Decimal { mantissa, places } = decimal(&self.0)?;
        let exponent = currency.exponent();
        let missing = exponent.checked_sub(places).ok_or(InvalidValue::TooPrecise(exponent))?;
        let unit = 10_u64.checked_pow(missing).ok_or(InvalidValue::OutOfRange)?;
        let minor = mantissa.checked_mul(unit).and_then(|minor| i64::try_from(minor).ok());
        let amount = minor.and_then(|minor| Amount::new(minor).ok());
        amount.ok_or(InvalidValue::OutOfRange)
    }

    /// The number as the link contains it.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for DecimalAmount {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        decimal(text).map(|_| Self(text.to_owned()))
    }
}

fn decimal(text: &str) -> Result<Decimal, InvalidValue> {
    text.parse().map_err(|_| InvalidValue::NotANumber)
}

/// The URL of the shop's page after the payment: http or https, without a user name or password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Redirect(Url);

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "must be an http or https URL of at most {MAX_REDIRECT} characters, without a user name or \
     password"
)]
pub(crate) struct InvalidRedirect;

/// The query parameter with the transaction ID for the shop.
const TRANSACTION: &str = "transactionId";

impl Redirect {
    pub(crate) fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// Adds the ID of the transaction to the query. The fragment stays unchanged. An existing
    /// `transactionId` is replaced; the other parameters are then encoded again.
    pub(crate) fn with(&self, transaction: Id) -> String {
        let mut url = self.0.clone();
        if url.query_pairs().any(|(name, _)| name == TRANSACTION) {
            let others = self.0.query_pairs().filter(|(name, _)| name != TRANSACTION);
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
        (is_web && is_open && is_short).then_some(Self(url)).ok_or(InvalidRedirect)
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
    fn an_amount_is_typed_with_a_comma_or_a_point() {
        for typed in ["9,95", "9.95", " 9,95 "] {
            assert_eq!(DecimalAmount::parse_input(typed).unwrap().as_str(), "9.95");
        }
        for typed in ["", "1.000,50", "1,000.50", "1 000", "ten"] {
            assert_eq!(DecimalAmount::parse_input(typed), Err(InvalidValue::NotANumber), "{typed}");
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
                prop_assert_eq!(redirect.as_str().parse(), Ok(redirect));
            }
        }

        #[test]
        fn a_value_has_the_digits_of_its_minor_units(minor in 1..=Amount::MAX) {
            let value = format!("{}.{:02}", minor / 100, minor % 100);
            prop_assert_eq!(amount(&value, "EUR"), Ok(minor));
        }
    }
}
