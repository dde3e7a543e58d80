//! A request to the payment page: the parsed payment link, the merchant, and the language.

use std::{sync::Arc, time::Duration};

use axum::{
    extract::FromRequestParts,
    http::{header, request::Parts},
    response::Response,
};
use common::limits::ClientAddress;
use payments_domain::{
    Amount, Currency, FieldError, Link, Merchant, Money, link_text,
    write::{KeyedRequest, LinkSecretRow, UsedLink},
};
use sha2::{Digest as _, Sha256};
use url::form_urlencoded;
use uuid::{NoContext, Timestamp as UuidTime, Uuid};

use super::{
    Pos,
    browser::{self, Browser},
    language::Language,
    problem::{Problem, Reason, Shop},
    screens::Frame,
    settings::{Settings, Tokenizer},
    view,
};
use crate::{
    app::{self, Attempt, Origin, Payments, now},
    web::{Error, Fields, Reported, fields, page::see_other},
};

/// Time in which a form can be submitted. Its idempotency key must be kept longer (`KEY_TTL` of the
/// jobs), so that the form never pays twice.
const FORM_TTL: Duration = Duration::from_secs(24 * 3600);

/// Time in which the outcome of a form is kept at least: see [`FORM_TTL`].
const OUTCOME_TTL: Duration = Duration::from_secs(48 * 3600 - CLOCK_SKEW.as_secs());

/// The clocks of two replicas may differ by this much.
const CLOCK_SKEW: Duration = Duration::from_secs(300);

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
    /// Whether a customer who has paid continues to the shop without a click. Not so at the address
    /// of the form itself: otherwise going back from the shop would lead to the shop.
    pub(super) continues: bool,
    pub(super) browser: Browser,
    pub(super) settings: Arc<Settings>,
    /// Why the link starts no payment. One under way goes on, although the shop has a new key for its
    /// links, or a rate is missing.
    wrong: Vec<FieldError>,
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
    pub(super) currency: Option<WrongCurrency>,
    pub(super) value: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum WrongCurrency {
    /// Not three letters.
    Malformed,
    /// Not a current currency, or one without an exchange rate.
    Unknown,
}

impl Typed {
    pub(super) fn is_empty(&self) -> bool {
        self.currency.is_none() && self.value.is_none()
    }

    fn currency(&self) -> Result<Currency, WrongCurrency> {
        let typed = self.currency.as_deref().unwrap_or_default().trim();
        let is_code = typed.len() == 3 && typed.bytes().all(|byte| byte.is_ascii_alphabetic());
        let wrong = if is_code { WrongCurrency::Unknown } else { WrongCurrency::Malformed };
        typed.to_ascii_uppercase().parse().map_err(|_| wrong)
    }
}

/// The token of a card form. One form makes one payment, however often it is submitted.
#[derive(Debug, Clone, Copy)]
pub(super) struct FormToken(Uuid);

#[derive(Debug, thiserror::Error)]
#[error("is not a form of this service: open the payment link again")]
struct ForeignForm;

impl FormToken {
    pub(super) fn new() -> Self {
        let second = u64::try_from(now().as_second()).unwrap_or(0);
        Self(Uuid::new_v7(UuidTime::from_unix(NoContext, second, 0)))
    }

    /// Parses a token. A token without a time, or from the future, is not from this service.
    fn parse(text: &str) -> Result<Self, ForeignForm> {
        let form = Uuid::parse_str(text).map(Self).map_err(|_| ForeignForm)?;
        form.age().map(|_| form).ok_or(ForeignForm)
    }

    /// `None` if this service cannot have made the token.
    fn age(self) -> Option<Duration> {
        let made = self.0.get_timestamp()?.to_unix().0;
        let now = u64::try_from(now().as_second()).unwrap_or(0);
        let is_past = made <= now.saturating_add(CLOCK_SKEW.as_secs());
        is_past.then(|| Duration::from_secs(now.saturating_sub(made)))
    }

    /// Whether a form without an outcome was never paid.
    pub(super) fn is_known_unpaid(self) -> bool {
        self.age().is_some_and(|age| age < OUTCOME_TTL)
    }

    /// Whether the form is older than [`FORM_TTL`].
    pub(super) fn is_expired(self) -> bool {
        self.age().is_none_or(|age| age > FORM_TTL)
    }
}

impl FromRequestParts<Pos> for Visit {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, pos: &Pos) -> Result<Self, Problem> {
        let browser = Browser::of(&parts.headers);
        match Self::read(pos, parts.uri.query(), view::language(parts), browser).await {
            Ok(visit) => Ok(visit),
            Err(error) => Err(Problem::of(pos, parts, Reason::of(error.into())).await),
        }
    }
}

impl Visit {
    async fn read(
        pos: &Pos,
        query: Option<&str>,
        language: &'static Language,
        browser: Browser,
    ) -> Result<Self, app::Error> {
        let Pos { payments, settings } = pos;
        let (link, typed, form, continues) = fields::read_query(query, |fields| {
            let link = link(fields);
            let mut typed = fields.object("typed");
            let currency = typed.optional("currency", str::parse);
            let value = typed.optional("value", str::parse);
            let form = fields.optional("form", FormToken::parse);
            let continues = fields.flag("continue");
            let typed = Typed { currency: currency?, value: value? };
            Ok((link?, typed, form?, continues?.unwrap_or(false)))
        })?;
        link.check_parameters().map_err(|error| app::Error::Invalid(vec![error]))?;
        let merchant = payments.merchant_by_key(&link.key).await?;
        let due = link.due().map_err(|error| FieldError::new("value", error.to_string()));
        let wrong = wrong(payments, &link, &merchant, due.as_ref().err()).await?;
        let Ok(due) = due else { return Err(app::Error::Invalid(wrong)) };
        let settings = Arc::clone(settings);
        Ok(Self { link, merchant, language, due, typed, form, continues, browser, settings, wrong })
    }

    /// Checks whether the link can start a payment, apart from its age and use.
    pub(super) fn check_link(&self) -> Result<(), Problem> {
        if self.wrong.is_empty() {
            return Ok(());
        }
        Err(self.problem(app::Error::Invalid(self.wrong.clone())))
    }

    /// Checks whether the link can start a payment now.
    pub(super) async fn check_open(&self, payments: &Payments) -> Result<(), Problem> {
        self.check_link()?;
        if payments.acquirer_of(&self.merchant).is_none() {
            return Err(self.because(Reason::NoAcquirer));
        }
        if self.link.has_expired(now()) {
            return Err(self.because(Reason::LinkExpired));
        }
        let Some(link) = self.link.digest_if_once() else { return Ok(()) };
        match payments.row::<UsedLink>(&(self.merchant.id, link)).await {
            Ok(None) => Ok(()),
            Ok(Some(_)) => Err(self.because(Reason::LinkUsed)),
            Err(error) => Err(self.problem(error)),
        }
    }

    /// Makes an error page in the customer's language.
    pub(super) fn problem(&self, error: impl Into<Error>) -> Problem {
        self.because(Reason::of(error.into()))
    }

    /// Like [`Self::problem`], for a reason that is not an error of the request.
    pub(super) fn because(&self, reason: Reason) -> Problem {
        let url = self.way_back().map(str::to_owned);
        let shop = Some(Box::new(Shop { merchant: self.merchant.clone(), url }));
        Problem { language: self.language, reason, shop, settings: Arc::clone(&self.settings) }
    }

    /// Where a customer goes on without paying. That is `redirect` only if the shop has signed the
    /// link: anybody can make a link without a signature, to any page. Otherwise the shop's website.
    pub(super) fn way_back(&self) -> Option<&str> {
        let is_signed = self.link.signature.is_some() && self.wrong.is_empty();
        let redirect = self.link.redirect.as_ref().filter(|_| is_signed);
        redirect.map(|redirect| redirect.as_str()).or_else(|| view::website_url(&self.merchant))
    }

    /// Redirects to the payment link, with the token of the card form if there is one.
    pub(super) fn redirect(&self, form: Option<FormToken>) -> Response {
        see_other(&link_url(&self.link, form))
    }

    /// Redirects to a new card form, and gives the browser its secret.
    pub(super) fn redirect_to_new_form(&self) -> Response {
        self.with_cookie(self.redirect(Some(FormToken::new())))
    }

    /// Redirects to the page of a submitted form. If the customer has paid, this page continues to
    /// the shop.
    pub(super) fn redirect_to_outcome(&self, form: FormToken) -> Response {
        let url = link_url(&self.link, Some(form));
        match self.link.redirect {
            Some(_) => see_other(&format!("{url}&continue=y")),
            None => see_other(&url),
        }
    }

    /// An attempt of the customer to pay, from this address.
    pub(super) fn attempt(&self, address: ClientAddress) -> Attempt {
        let (merchant, test) = (self.merchant.id, self.merchant.details.test);
        Attempt { merchant, test, origin: Origin::Page(address) }
    }

    /// The acquirer's script, if the customer types the card into its field.
    pub(super) fn tokenizer(&self) -> Option<&Tokenizer> {
        self.settings.tokenizer.as_ref().filter(|_| !self.merchant.details.test)
    }

    /// The absolute URL where a customer comes back from the page of the acquirer. A browser without
    /// cookies is recognized by its secret in the URL.
    pub(super) fn return_url(&self, form: FormToken) -> String {
        let url = page_url("returned", &self.link, Some(form));
        let secret = self.browser.field();
        let secret = secret.map(|secret| format!("&{}={secret}", browser::NAME));
        format!("{}{url}{}", self.settings.url, secret.unwrap_or_default())
    }

    pub(super) fn with_cookie(&self, mut response: Response) -> Response {
        if let Some(cookie) = self.browser.set_cookie(&self.settings) {
            response.headers_mut().insert(header::SET_COOKIE, cookie);
        }
        response
    }

    /// The link, completed with the typed currency and amount. `Err` with the wrong fields if
    /// something is missing or invalid.
    pub(super) fn completed_link(&self, payments: &Payments) -> Result<Link, AmountErrors> {
        let mut link = self.link.clone();
        let mut wrong = AmountErrors::default();
        if link.currency.is_none() {
            let has_rate =
                |currency: &Currency| payments.exchanges(*currency, &self.merchant.terms()).is_ok();
            let typed = self.typed.currency();
            match typed.and_then(|typed| Some(typed).filter(has_rate).ok_or(WrongCurrency::Unknown))
            {
                Ok(currency) => link.currency = Some(currency),
                Err(error) => wrong.currency = Some(error),
            }
        }
        let is_typed = link.value.is_none();
        if is_typed {
            let typed = self.typed.value.as_deref().unwrap_or_default();
            link.value = self.language.amount_of(typed, link.currency);
            wrong.value = link.value.is_none();
        }
        match link.due() {
            Ok(Some(_)) => return Ok(link),
            Ok(None) => {}
            // The amount does not fit the currency. If the link fixes the amount, the typed
            // currency is wrong.
            Err(_) if is_typed => wrong.value = true,
            Err(_) => wrong.currency = Some(WrongCurrency::Unknown),
        }
        Err(wrong)
    }

    pub(super) fn frame(&self) -> Frame<'_> {
        let money = |(currency, amount): (_, Amount)| Money { currency, minor: amount.minor() };
        Frame {
            merchant: &self.merchant,
            settings: &self.settings,
            amount: self.due.map(|due| self.language.money(money(due))),
            text: self.link.text.as_deref(),
        }
    }

    /// The decimal places of an amount: those of the link's currency, else of the typed one, else
    /// of the merchant's.
    pub(super) fn decimals(&self) -> u32 {
        let currency = self.link.currency.or_else(|| self.typed.currency().ok());
        currency.unwrap_or(self.merchant.details.currency).exponent()
    }

    /// The idempotency key of a form. The digest of the request covers the browser and the
    /// parameters of the link. So another browser cannot see what this one paid. The card is left
    /// out, because a digest of a card number would help anybody who reads
    /// it to find the number. The locale is left out, because the customer may change the language.
    /// The merchant takes the place of the app, because a customer has none.
    pub(super) fn idempotency_key(&self, form: FormToken) -> KeyedRequest {
        let parameters = self.link.parameters().into_iter();
        let query = encoded(parameters.filter(|&(name, _)| name != "locale"));
        let request = Sha256::new().chain_update(self.browser.digest()).chain_update(query);
        let request = request.finalize().into();
        KeyedRequest { app: self.merchant.id, key: format!("form {}", form.0), request }
    }
}

/// Why the link cannot start a payment. A wrong signature hides the other reasons.
async fn wrong(
    payments: &Payments,
    link: &Link,
    merchant: &Merchant,
    due: Option<&FieldError>,
) -> Result<Vec<FieldError>, app::Error> {
    if link.signature.is_some() {
        let row: Option<LinkSecretRow> = payments.row(&merchant.id).await?;
        if !row.is_some_and(|row| row.secret.has_signed(link)) {
            let wrong = "does not match the other parameters: the link was changed";
            return Ok(vec![FieldError::new("signature", wrong)]);
        }
    }
    let terms = merchant.terms();
    let rate = link.currency.and_then(|currency| payments.exchanges(currency, &terms).err());
    let rate = rate.map(|error| FieldError::new("currency", error.to_string()));
    let wrong = [link.check_merchant(merchant).err(), due.cloned(), rate];
    Ok(wrong.into_iter().flatten().collect())
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
    let reference = fields.optional("reference", link_text);
    let text = fields.optional("text", link_text);
    let redirect = fields.optional("redirect", str::parse);
    let locale = fields.optional("locale", str::parse);
    let recurring = fields.flag("recurring");
    let expires = fields.optional("expires", str::parse);
    let once = fields.flag("once");
    let signature = fields.optional("signature", str::parse);
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
        expires: expires?,
        once: once?.unwrap_or(false),
        signature: signature?,
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
        option::of("[^\u{0}\u{202a}-\u{202e}\u{2066}-\u{2069}]{1,9}")
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
            let (expires, once, signature) = (None, false, None);
            let made = Link {
                key, test, currency, value, reference, text, redirect, locale, recurring, expires,
                once, signature,
            };
            let query = encoded(made.parameters());
            prop_assert_eq!(fields::read_query(Some(&query), link), Ok(made));
        }
    }

    fn form(second: i64) -> FormToken {
        let second = u64::try_from(second).unwrap();
        FormToken(Uuid::new_v7(UuidTime::from_unix(NoContext, second, 0)))
    }

    #[test]
    fn a_form_expires_after_a_day() {
        let now = now().as_second();
        assert!(!FormToken::new().is_expired());
        assert!(!form(now - 24 * 3600 + 60).is_expired());
        assert!(form(now - 24 * 3600 - 60).is_expired());
    }

    #[test]
    fn forms_of_the_future_and_of_others_are_refused() {
        let now = now().as_second();
        for known in [form(now), form(now + 60), form(1_763_700_000)] {
            assert!(FormToken::parse(&known.0.to_string()).is_ok());
        }
        let ten_years = form(now + 10 * 365 * 24 * 3600).0;
        for foreign in [ten_years.to_string(), Uuid::new_v4().to_string(), "x".to_owned()] {
            assert!(FormToken::parse(&foreign).is_err(), "{foreign}");
        }
    }
}
