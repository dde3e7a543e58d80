//! Payment links: a form makes one, and shows it as text and as a QR code. Nothing is stored.

use std::borrow::Cow;

use askama::Template;
use axum::{extract::RawQuery, http::StatusCode, response::Response};
use payments_domain::{
    Amount, Currency, DecimalAmount, Link, LinkSecret, actions::SetLinkSecret, link_text,
    write::LinkSecretRow,
};
use url::form_urlencoded;

use super::{
    form::{Form, key},
    qr,
    search::beginning,
    view::{self, Field, Select},
    visitor::AtMerchant,
};
use crate::{
    app::now,
    language::Language,
    web::{Error, fields, page::see_other},
};

/// What the user has typed into the form.
#[derive(Default)]
struct Typed {
    amount: String,
    currency: String,
    reference: String,
    text: String,
    /// The last day.
    until: String,
    locale: String,
    once: bool,
}

impl Typed {
    /// A query that cannot be read is empty.
    fn read(query: Option<&str>) -> Self {
        let read = fields::read_query(query, |fields| {
            let mut text = |name| {
                let text = fields.optional(name, |text| Ok::<_, String>(text.trim().to_owned()));
                text.map(Option::unwrap_or_default)
            };
            let (amount, currency, reference) =
                (text("amount"), text("currency"), text("reference"));
            let (description, until, locale) = (text("text"), text("until"), text("locale"));
            let once = fields.flag("once");
            Ok(Self {
                amount: amount?,
                currency: currency?,
                reference: reference?,
                text: description?,
                until: until?,
                locale: locale?,
                once: once?.unwrap_or(false),
            })
        });
        read.unwrap_or_default()
    }

    /// The link, without a signature. `Err` with the names of the wrong fields.
    fn link(&self, at: &AtMerchant, currencies: &[Currency]) -> Result<Link, Vec<&'static str>> {
        let mut wrong = Vec::new();
        let currency = currencies.iter().find(|currency| currency.code() == self.currency).copied();
        let value = self.value(at.language, currency);
        let mut text = |name, typed: &String| {
            let text = Some(typed).filter(|typed| !typed.is_empty()).map(|typed| link_text(typed));
            text.transpose().map_err(|_| wrong.push(name)).unwrap_or_default()
        };
        let (reference, text) = (text("reference", &self.reference), text("text", &self.text));
        // The seconds of the end of the last day.
        let end = beginning(&self.until, 1).filter(|end| *end > now());
        let expires = end.and_then(|end| end.as_second().to_string().parse().ok());
        for (name, is_wrong) in [
            ("amount", value.is_none()),
            ("currency", currency.is_none()),
            ("until", !self.until.is_empty() && expires.is_none()),
        ] {
            if is_wrong {
                wrong.push(name);
            }
        }
        let link = Link {
            key: at.merchant.key.clone(),
            test: at.merchant.details.test,
            currency,
            value,
            reference,
            text,
            redirect: None,
            locale: Some(self.locale.clone()).filter(|locale| !locale.is_empty()),
            recurring: false,
            expires,
            once: self.once,
            signature: None,
        };
        if wrong.is_empty() && link.custom().is_err() {
            wrong.push("text");
        }
        if wrong.is_empty() { Ok(link) } else { Err(wrong) }
    }

    fn value(&self, language: &Language, currency: Option<Currency>) -> Option<DecimalAmount> {
        let value = language.amount_of(&self.amount, currency)?;
        let _: Amount = value.amount(currency?).ok()?;
        Some(value)
    }
}

#[derive(Template)]
#[template(path = "desk/links.html")]
struct LinksPage<'a> {
    at: &'a AtMerchant,
    typed: &'a Typed,
    wrong: &'a [&'static str],
    currencies: &'a [Currency],
    /// Whether links are signed. Others cannot be limited.
    signs: bool,
    url: Option<&'a str>,
}

impl LinksPage<'_> {
    fn field<'a>(
        &self,
        (name, label): (&'static str, Cow<'a, str>),
        value: &'a str,
        attributes: &'static str,
        error: Cow<'a, str>,
    ) -> Field<'a> {
        let error = Some(error).filter(|_| self.wrong.contains(&name));
        Field { name, label, value, attributes, hint: None, error }
    }

    fn amount(&self) -> Field<'_> {
        let (language, typed) = (self.at.language, self.typed);
        let currency = typed.currency.parse().unwrap_or(self.at.currency());
        let attributes = "inputmode=\"decimal\" autocomplete=\"off\" required";
        let error = language.amount_error(currency.exponent());
        self.field(("amount", language.amount()), &typed.amount, attributes, error)
    }

    fn texts(&self) -> [Field<'_>; 2] {
        let (language, typed) = (self.at.language, self.typed);
        let error = language.link_text_error();
        let attributes = "autocomplete=\"off\" maxlength=\"255\"";
        let reference = ("reference", language.reference());
        let text = ("text", language.link_text());
        [
            self.field(reference, &typed.reference, attributes, error.clone()),
            self.field(text, &typed.text, attributes, error),
        ]
    }

    fn until(&self) -> Field<'_> {
        let (language, until) = (self.at.language, &self.typed.until);
        let error = language.day_error();
        self.field(("until", language.last_day()), until, "type=\"date\"", error)
    }

    fn currency(&self) -> Select<'_> {
        let typed = self.typed.currency.as_str();
        let value = if typed.is_empty() { self.at.currency().code() } else { typed };
        let option = |currency: &Currency| (currency.code().into(), currency.code().into());
        let options = self.currencies.iter().map(option).collect();
        Select { name: "currency", label: self.at.language.currency(), value, options }
    }

    fn locale(&self) -> Select<'_> {
        let (label, value) = (self.at.language.link_language(), self.typed.locale.as_str());
        let any = ("".into(), self.at.language.link_language_browser());
        let names = Language::names().map(|(code, name)| (code.into(), name.into()));
        Select { name: "locale", label, value, options: [any].into_iter().chain(names).collect() }
    }
}

pub(super) async fn show(at: AtMerchant, RawQuery(query): RawQuery) -> Result<Response, Error> {
    let typed = &Typed::read(query.as_deref());
    let row = at.payments().row::<LinkSecretRow>(&at.merchant.id).await?;
    let currencies = at.payments().currencies(&at.merchant.terms());
    let made = query.is_some().then(|| typed.link(&at, &currencies)).transpose();
    let (link, wrong) = match made {
        Ok(link) => (link, Vec::new()),
        Err(wrong) => (None, wrong),
    };
    let url = link.map(|link| signed(link, row.as_ref().map(|row| &row.secret)));
    let url = url.map(|link| {
        let query = form_urlencoded::Serializer::new(String::new())
            .extend_pairs(link.parameters())
            .finish();
        format!("{}?{query}", at.desk.settings.payment_page)
    });
    let status = if wrong.is_empty() { StatusCode::OK } else { StatusCode::BAD_REQUEST };
    let (at, wrong, currencies, signs) = (&at, &*wrong, &*currencies, row.is_some());
    let url = url.as_deref();
    Ok(view::page(status, &LinksPage { at, typed, wrong, currencies, signs, url }))
}

/// Makes the key that signs links, if there is none.
pub(super) async fn create_secret(form: Form) -> Result<Response, Error> {
    let merchant = form.at.merchant.id;
    if form.at.payments().row::<LinkSecretRow>(&merchant).await?.is_none() {
        let secret = LinkSecret::new(hex::encode(form.random()).into());
        form.write(SetLinkSecret { merchant, secret }).await?;
    }
    Ok(see_other(&format!("{}/links", form.at.path())))
}

/// Without a secret, a link cannot be limited: a customer could remove the limits.
fn signed(link: Link, secret: Option<&LinkSecret>) -> Link {
    match secret {
        Some(secret) => Link { signature: secret.sign(&link), ..link },
        None => Link { expires: None, once: false, ..link },
    }
}
