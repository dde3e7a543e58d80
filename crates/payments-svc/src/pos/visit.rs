//! A customer at a payment link: what it says, who is paid, and in which language they read.

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
    domain::{Amount, Currency, Invalid, Link, Merchant, Money, Name, Value, write::Keyed},
    web::{Error, Fields, Noted, fields},
};

/// How long a form can be sent: less than its idempotency key is kept.
const FORM_TTL: Duration = Duration::from_secs(24 * 3600);

/// A customer at a link that is right.
pub(super) struct Visit {
    pub(super) link: Link,
    pub(super) merchant: Merchant,
    pub(super) language: &'static Language,
    /// What is to be paid, once that is settled.
    pub(super) due: Option<(Currency, Amount)>,
    /// What they have typed of that.
    pub(super) typed: Typed,
    /// The form they are at.
    pub(super) form: Option<Form>,
}

/// A currency and an amount as they are typed.
#[derive(Default)]
pub(super) struct Typed {
    pub(super) currency: Option<String>,
    pub(super) value: Option<String>,
}

/// What is wrong with what was typed for an amount.
#[derive(Clone, Copy, Default)]
pub(super) struct Mistyped {
    pub(super) currency: bool,
    pub(super) value: bool,
}

impl Typed {
    /// Whether nothing was typed, or nothing was to be.
    pub(super) fn is_empty(&self) -> bool {
        self.currency.is_none() && self.value.is_none()
    }
}

/// A form: one payment comes of it, however often it is sent.
#[derive(Clone, Copy)]
pub(super) struct Form(Uuid);

impl Form {
    /// A new one.
    pub(super) fn new() -> Self {
        let now = now();
        let second = u64::try_from(now.as_second()).unwrap_or(0);
        Self(Uuid::new_v7(UuidTime::from_unix(NoContext, second, 0)))
    }

    /// Whether it is too old to be sent, or never was made here.
    pub(super) fn is_stale(self) -> bool {
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
            let form = fields.optional("form", |form| Uuid::parse_str(form).map(Form));
            Ok((link?, Typed { currency: currency?, value: value? }, form?))
        })?;
        let merchant = payments.merchant_by_key(&link.key).await?;
        let due = link.due().map_err(|error| Invalid::new("value", error.to_string()));
        let terms = merchant.terms();
        let rate = link.currency.and_then(|currency| payments.exchanges(currency, &terms).err());
        let rate = rate.map(|error| Invalid::new("currency", error.to_string()));
        let wrong = [link.suits(&merchant).err(), due.clone().err(), rate];
        match due {
            Ok(due) if wrong.iter().all(Option::is_none) => {
                Ok(Self { link, merchant, language, due, typed, form })
            }
            _ => Err(app::Error::Invalid(wrong.into_iter().flatten().collect())),
        }
    }

    /// Why there is none.
    pub(super) fn problem(&self, error: impl Into<Error>) -> Problem {
        Problem { language: self.language, error: error.into() }
    }

    /// Leads to the link, or to a form of it.
    pub(super) fn lead(&self, form: Option<Form>) -> Response {
        see(&address(&self.link, form))
    }

    /// The link with what was typed in the places that it left open.
    pub(super) fn settled(&self) -> Result<Link, Mistyped> {
        let mut link = self.link.clone();
        let mut wrong = Mistyped::default();
        if link.currency.is_none() {
            let typed = self.typed.currency.as_deref().unwrap_or_default();
            link.currency = typed.trim().to_ascii_uppercase().parse().ok();
            wrong.currency = link.currency.is_none();
        }
        let is_typed = link.value.is_none();
        if is_typed {
            let typed = self.typed.value.as_deref().unwrap_or_default();
            link.value = Value::typed(typed).ok();
            wrong.value = link.value.is_none();
        }
        match link.due() {
            Ok(Some(_)) => return Ok(link),
            Ok(None) => {}
            // An amount that the link names can only be in another currency.
            Err(_) if is_typed => wrong.value = true,
            Err(_) => wrong.currency = true,
        }
        Err(wrong)
    }

    /// What is to be paid, for people.
    pub(super) fn amount(&self) -> Option<String> {
        let (currency, amount) = self.due?;
        Some(self.language.money(Money { currency, minor: amount.minor() }))
    }

    /// Whom it is paid to.
    pub(super) fn shop(&self) -> &str {
        let details = &self.merchant.details;
        let name = details.name.as_ref().map(Name::as_str).filter(|name| !name.trim().is_empty());
        name.unwrap_or(details.website.as_str())
    }

    /// The idempotency key of a form. Of the request, only what the link says is part of it: a
    /// digest of a card would be of use to who knows the digest. The language may change.
    pub(super) fn keyed(&self, form: Form) -> Keyed {
        let parameters = self.link.parameters().into_iter();
        let said = encoded(parameters.filter(|&(name, _)| name != "locale"));
        let request = Sha256::digest(said).into();
        Keyed { app: self.merchant.id, key: format!("form {}", form.0), request }
    }
}

/// The address of a link, or of a form of it, relative to that of any page.
pub(super) fn address(link: &Link, form: Option<Form>) -> String {
    address_at("./", link, form)
}

/// The same, at another page than the one of the link.
pub(super) fn address_at(page: &str, link: &Link, form: Option<Form>) -> String {
    let form = form.map(|form| form.0.to_string());
    let form = form.as_deref().map(|form| ("form", form));
    format!("{page}?{}", encoded(link.parameters().into_iter().chain(form)))
}

/// Sends a browser on, with GET.
pub(super) fn see(address: &str) -> Response {
    (StatusCode::SEE_OTHER, [(header::LOCATION, address)]).into_response()
}

fn encoded<'a>(parameters: impl IntoIterator<Item = (&'static str, &'a str)>) -> String {
    form_urlencoded::Serializer::new(String::new()).extend_pairs(parameters).finish()
}

fn link(fields: &mut Fields<'_>) -> Result<Link, Noted> {
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
        Err(error) => Err(fields.note("text", error.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use proptest::{option, prelude::*};

    use super::*;

    /// Any text that a parameter can have.
    fn text() -> impl Strategy<Value = Option<String>> {
        option::of("[^\u{0}]{1,9}")
    }

    proptest! {
        #[test]
        fn the_parameters_of_a_link_are_the_link(
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
    fn a_form_is_fresh_when_it_is_made_and_any_other_is_stale() {
        assert!(!Form::new().is_stale());
        let yesterday = UuidTime::from_unix(NoContext, 1_763_700_000, 0);
        assert!(Form(Uuid::new_v7(yesterday)).is_stale());
        assert!(Form(Uuid::new_v4()).is_stale());
    }
}
