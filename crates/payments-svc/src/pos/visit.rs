//! A request to the payment page: the parsed payment link, the merchant, and the language.

use std::{sync::Arc, time::Duration};

use axum::{
    extract::FromRequestParts,
    http::{StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
};
use sha2::{Digest as _, Sha256};
use url::form_urlencoded;
use uuid::{NoContext, Timestamp as UuidTime, Uuid};

use super::{language::Language, problem::Problem};
use crate::{
    app::{self, Payments, now},
    domain::{
        Amount, Currency, DecimalAmount, FieldError, Link, Merchant, Money, Name,
        write::KeyedRequest,
    },
    web::{Error, Fields, Reported, fields},
};

/// Time in which a form can be submitted. Its idempotency key must be kept longer (`KEY_TTL` of the
/// jobs), so that the form never pays twice.
const FORM_TTL: Duration = Duration::from_secs(24 * 3600);

/// A request to the payment page, with a valid link.
pub(super) struct Visit {
    pub(super) link: Link,
    pub(super) merchant: Merchant,
    pub(super) language: &'static Language,
    /// The amount to pay. `None` until the customer has entered the parts that the link leaves
    /// open.
    pub(super) due: Option<(Currency, Amount)>,
    /// The parts that the customer has typed.
    pub(super) typed: Typed,
    /// The card form in the URL, if any.
    pub(super) form: Option<FormToken>,
}

/// A currency and an amount as the customer typed them.
#[derive(Default)]
pub(super) struct Typed {
    pub(super) currency: Option<String>,
    pub(super) value: Option<String>,
}

/// The wrong fields of the amount form.
#[derive(Clone, Copy, Default)]
pub(super) struct AmountErrors {
    pub(super) currency: bool,
    pub(super) value: bool,
}

impl Typed {
    pub(super) fn is_empty(&self) -> bool {
        self.currency.is_none() && self.value.is_none()
    }

    fn currency(&self) -> Option<Currency> {
        self.currency.as_deref()?.trim().to_ascii_uppercase().parse().ok()
    }
}

/// The token of a card form. One form makes one payment, however often it is submitted.
#[derive(Clone, Copy)]
pub(super) struct FormToken(Uuid);

impl FormToken {
    pub(super) fn new() -> Self {
        let now = now();
        let second = u64::try_from(now.as_second()).unwrap_or(0);
        Self(Uuid::new_v7(UuidTime::from_unix(NoContext, second, 0)))
    }

    /// Whether the form is older than [`FORM_TTL`]. A token without a time counts as expired: the
    /// service has not issued it.
    pub(super) fn is_expired(self) -> bool {
        let made = self.0.get_timestamp().map(|made| made.to_unix().0);
        let now = u64::try_from(now().as_second()).unwrap_or(0);
        made.is_none_or(|made| now.saturating_sub(made) > FORM_TTL.as_secs())
    }
}

impl FromRequestParts<Arc<Payments>> for Visit {
    type Rejection = Problem;

    async fn from_request_parts(
        parts: &mut Parts,
        payments: &Arc<Payments>,
    ) -> Result<Self, Problem> {
        let query = parts.uri.query();
        let locale = fields::read_query(query, |fields| fields.optional("locale", str::parse));
        let locale: Option<String> = locale.unwrap_or_default();
        let language = Language::of(locale.as_deref(), &parts.headers);
        let visit = Self::read(payments, query, language).await;
        visit.map_err(|error| Problem { language, error: error.into() })
    }
}

impl Visit {
    async fn read(
        payments: &Payments,
        query: Option<&str>,
        language: &'static Language,
    ) -> Result<Self, app::Error> {
        let (link, typed, form) = fields::read_query(query, |fields| {
            let link = link(fields);
            let mut typed = fields.object("typed");
            let currency = typed.optional("currency", str::parse);
            let value = typed.optional("value", str::parse);
            let form = fields.optional("form", |form| Uuid::parse_str(form).map(FormToken));
            Ok((link?, Typed { currency: currency?, value: value? }, form?))
        })?;
        let merchant = payments.merchant_by_key(&link.key).await?;
        let due = link.due().map_err(|error| FieldError::new("value", error.to_string()));
        let terms = merchant.terms();
        let rate = link.currency.and_then(|currency| payments.exchanges(currency, &terms).err());
        let rate = rate.map(|error| FieldError::new("currency", error.to_string()));
        let wrong = [link.check_merchant(&merchant).err(), due.clone().err(), rate];
        match due {
            Ok(due) if wrong.iter().all(Option::is_none) => {
                Ok(Self { link, merchant, language, due, typed, form })
            }
            _ => Err(app::Error::Invalid(wrong.into_iter().flatten().collect())),
        }
    }

    /// Makes an error page in the customer's language.
    pub(super) fn problem(&self, error: impl Into<Error>) -> Problem {
        Problem { language: self.language, error: error.into() }
    }

    /// Redirects to the payment link, with the token of the card form if there is one.
    pub(super) fn redirect(&self, form: Option<FormToken>) -> Response {
        see_other(&link_url(&self.link, form))
    }

    /// The link, completed with the typed currency and amount. `Err` with the wrong fields if
    /// something is missing or invalid.
    pub(super) fn completed_link(&self) -> Result<Link, AmountErrors> {
        let mut link = self.link.clone();
        let mut wrong = AmountErrors::default();
        if link.currency.is_none() {
            link.currency = self.typed.currency();
            wrong.currency = link.currency.is_none();
        }
        let is_typed = link.value.is_none();
        if is_typed {
            let typed = self.typed.value.as_deref().unwrap_or_default();
            link.value = DecimalAmount::parse_input(typed).ok();
            wrong.value = link.value.is_none();
        }
        match link.due() {
            Ok(Some(_)) => return Ok(link),
            Ok(None) => {}
            // The amount does not fit the currency. If the link fixes the amount, the typed
            // currency is wrong.
            Err(_) if is_typed => wrong.value = true,
            Err(_) => wrong.currency = true,
        }
        Err(wrong)
    }

    /// The amount to pay, as text in the customer's language.
    pub(super) fn amount(&self) -> Option<String> {
        let (currency, amount) = self.due?;
        Some(self.language.money(Money { currency, minor: amount.minor() }))
    }

    /// The decimal places of an amount: those of the link's currency, else of the typed one, else
    /// of the merchant's.
    pub(super) fn decimals(&self) -> u32 {
        let currency = self.link.currency.or_else(|| self.typed.currency());
        currency.unwrap_or(self.merchant.details.currency).exponent()
    }

    /// The name of the merchant, or its website if it has no name.
    pub(super) fn shop_name(&self) -> &str {
        let details = &self.merchant.details;
        let name = details.name.as_ref().map(Name::as_str).filter(|name| !name.trim().is_empty());
        name.unwrap_or(details.website.as_str())
    }

    /// The idempotency key of a form. The digest of the request covers only the parameters of the
    /// link. The card is left out, because a digest of a card number would help anybody who reads
    /// it to find the number. The locale is left out, because the customer may change the language.
    /// The merchant takes the place of the app, because a customer has none.
    pub(super) fn idempotency_key(&self, form: FormToken) -> KeyedRequest {
        let parameters = self.link.parameters().into_iter();
        let query = encoded(parameters.filter(|&(name, _)| name != "locale"));
        let request = Sha256::digest(query).into();
        KeyedRequest { app: self.merchant.id, key: format!("form {}", form.0), request }
    }
}

/// The URL of a payment link, with the token of the card form if there is one. It is relative to
/// any page.
pub(super) fn link_url(link: &Link, form: Option<FormToken>) -> String {
    page_url("./", link, form)
}

/// Like [`link_url`], for another page such as `challenge`.
pub(super) fn page_url(page: &str, link: &Link, form: Option<FormToken>) -> String {
    let form = form.map(|form| form.0.to_string());
    let form = form.as_deref().map(|form| ("form", form));
    format!("{page}?{}", encoded(link.parameters().into_iter().chain(form)))
}

/// Redirects a browser with 303: it follows with `GET`, whatever the method was.
pub(super) fn see_other(url: &str) -> Response {
    (StatusCode::SEE_OTHER, [(header::LOCATION, url)]).into_response()
}

fn encoded<'a>(parameters: impl IntoIterator<Item = (&'static str, &'a str)>) -> String {
    form_urlencoded::Serializer::new(String::new()).extend_pairs(parameters).finish()
}

fn link(fields: &mut Fields<'_>) -> Result<Link, Reported> {
    let key = fields.required("key", str::parse);
    let test = fields.optional("test", |test| match test {
        "1" => Ok(true),
        _ => Err("must be 1, or left out"),
    });
    let currency = fields.optional("currency", str::parse);
    let value = fields.optional("value", str::parse);
    let reference = fields.optional("reference", str::parse);
    let text = fields.optional("text", str::parse);
    let redirect = fields.optional("redirect", str::parse);
    let locale = fields.optional("locale", str::parse);
    let recurring = fields.flag("recurring");
    let link = Link {
        key: key?,
        test: test?.unwrap_or(false),
        currency: currency?,
        value: value?,
        reference: reference?,
        text: text?,
        redirect: redirect?,
        locale: locale?,
        recurring: recurring?.unwrap_or(false),
    };
    match link.custom() {
        Ok(_) => Ok(link),
        Err(error) => Err(fields.report("text", error.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use proptest::{option, prelude::*};

    use super::*;

    fn text() -> impl Strategy<Value = Option<String>> {
        option::of("[^\u{0}]{1,9}")
    }

    proptest! {
        #[test]
        fn a_link_is_read_back_from_its_parameters(
            (key, reference, text) in ("[^\u{0}]{1,9}", text(), text()),
            (locale, test, recurring) in (text(), any::<bool>(), any::<bool>()),
            currency in prop::sample::select(&[None, Some("EUR"), Some("JPY")][..]),
            value in option::of("[0-9]{1,9}(\\.[0-9]{1,3})?"),
            redirect in option::of("https://shop\\.example/[^\u{0}]{0,9}"),
        ) {
            let currency = currency.map(|currency| currency.parse().unwrap());
            let value = value.map(|value| value.parse().unwrap());
            let redirect = redirect.map(|redirect| redirect.parse().unwrap());
            let made =
                Link { key, test, currency, value, reference, text, redirect, locale, recurring };
            let query = encoded(made.parameters());
            prop_assert_eq!(fields::read_query(Some(&query), link), Ok(made));
        }
    }

    #[test]
    fn old_and_foreign_forms_are_expired() {
        assert!(!FormToken::new().is_expired());
        let long_ago = UuidTime::from_unix(NoContext, 1_763_700_000, 0);
        assert!(FormToken(Uuid::new_v7(long_ago)).is_expired());
        assert!(FormToken(Uuid::new_v4()).is_expired());
    }
}
