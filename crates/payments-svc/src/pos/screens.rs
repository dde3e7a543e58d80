//! The Askama templates of the payment page. They are checked at compile time.

use std::borrow::Cow;

use askama::Template;
use jiff::Timestamp;
use payments_domain::{
    Currency, DeclineGroup, Expiry, Id, Merchant, ProcessingError, Receipt, Scheme,
};

use super::{
    asset::VERSION,
    browser,
    language::Language,
    settings::Settings,
    visit::{AmountErrors, Visit, WrongCurrency, link_url},
};

/// What stands above and below the content of a page.
pub(super) struct Frame<'a> {
    pub(super) merchant: &'a Merchant,
    pub(super) settings: &'a Settings,
    /// In the customer's language.
    pub(super) amount: Option<String>,
    pub(super) text: Option<&'a str>,
}

/// Asks for the currency and the amount that the link leaves open.
#[derive(Template)]
#[template(path = "amount.html")]
pub(super) struct AmountPage<'a> {
    pub(super) language: &'static Language,
    pub(super) frame: Frame<'a>,
    pub(super) visit: &'a Visit,
    /// The fields that are marked as wrong.
    pub(super) wrong: AmountErrors,
}

impl AmountPage<'_> {
    fn heading(&self) -> Cow<'_, str> {
        if self.is_wrong() { self.language.form_error() } else { self.language.amount() }
    }

    fn is_wrong(&self) -> bool {
        self.wrong.value || self.wrong.currency.is_some()
    }
}

/// The form for a card.
#[derive(Template)]
#[template(path = "card.html")]
pub(super) struct CardPage<'a> {
    pub(super) language: &'static Language,
    pub(super) frame: Frame<'a>,
    pub(super) visit: &'a Visit,
    /// The fields that are marked as wrong.
    pub(super) wrong: WrongCard,
    /// The date that the customer has typed. Number and security code are never sent back.
    pub(super) expiry: Option<Expiry>,
    /// The address that the customer has typed.
    pub(super) email: Option<String>,
}

impl CardPage<'_> {
    fn heading(&self) -> Cow<'_, str> {
        self.language.card_details()
    }

    fn is_wrong(&self) -> bool {
        self.wrong != WrongCard::default()
    }

    /// The fields that are wrong, from top to bottom, each with its error.
    fn errors(&self) -> Vec<(&'static str, Cow<'_, str>)> {
        let number = self.wrong.number.map(|wrong| ("number", self.number_error(wrong)));
        let expiry = self.wrong.expiry.map(|wrong| ("expiry", self.expiry_error(wrong)));
        let code = self.wrong.code.map(|scheme| ("code", self.code_error(scheme)));
        let email = self.wrong.email.then(|| ("email", self.language.email_address_error()));
        [number, expiry, code, email].into_iter().flatten().collect()
    }

    fn error(&self, field: &str) -> Option<Cow<'_, str>> {
        self.errors().into_iter().find_map(|(name, error)| (name == field).then_some(error))
    }

    /// The attributes of a field that is wrong. The first one gets the focus.
    fn wrong(&self, field: &str) -> String {
        let errors = self.errors();
        let autofocus = if errors.first().is_some_and(|(first, _)| *first == field) {
            " autofocus"
        } else {
            ""
        };
        let attributes =
            || format!("aria-invalid=\"true\" aria-describedby=\"{field}-error\"{autofocus}");
        if errors.iter().any(|(name, _)| *name == field) { attributes() } else { String::new() }
    }

    fn number_error(&self, wrong: WrongNumber) -> Cow<'_, str> {
        match wrong {
            WrongNumber::Malformed => self.language.card_number_error(),
            WrongNumber::CheckDigit => self.language.card_number_typo(),
        }
    }

    fn expiry_error(&self, wrong: WrongExpiry) -> Cow<'_, str> {
        match wrong {
            WrongExpiry::Malformed => self.language.expiry_date_malformed(),
            WrongExpiry::Past => self.language.expiry_date_past(),
        }
    }

    fn code_error(&self, scheme: Scheme) -> Cow<'_, str> {
        match scheme.code_lengths() {
            [3] => self.language.security_code_back(),
            [4] => self.language.security_code_front(),
            _ => self.language.security_code_error(),
        }
    }

    /// The names of the schemes whose cards are accepted.
    fn brands(&self) -> String {
        let brands = self.visit.settings.schemes.iter().filter_map(|scheme| scheme.brand());
        brands.collect::<Vec<_>>().join(", ")
    }

    /// The date as customers type it.
    fn typed_expiry(&self) -> String {
        let Some((year, month)) = self.expiry.map(Expiry::parts) else { return String::new() };
        format!("{month:02} / {:02}", year.rem_euclid(100))
    }
}

/// The wrong fields of the card form.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct WrongCard {
    pub(super) number: Option<WrongNumber>,
    pub(super) expiry: Option<WrongExpiry>,
    /// The scheme of the number, which has codes of another length.
    pub(super) code: Option<Scheme>,
    pub(super) email: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum WrongNumber {
    Malformed,
    CheckDigit,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum WrongExpiry {
    Malformed,
    Past,
}

/// The acquirer has not answered yet. The script asks for the outcome every two seconds; without
/// scripts, the page reloads itself. For a browser without cookies it has a button instead: such a
/// browser sees the payment only in the answer to a form.
#[derive(Template)]
#[template(path = "processing.html")]
pub(super) struct ProcessingPage<'a> {
    pub(super) language: &'static Language,
    pub(super) frame: Frame<'a>,
    pub(super) visit: &'a Visit,
}

impl ProcessingPage<'_> {
    fn heading(&self) -> Cow<'_, str> {
        self.language.processing()
    }
}

/// The customer must confirm the payment: on a page of the acquirer, to which the page continues
/// at once, or here, where the sandbox simulates a bank.
#[derive(Template)]
#[template(path = "challenge.html")]
pub(super) struct ChallengePage<'a> {
    pub(super) language: &'static Language,
    pub(super) frame: Frame<'a>,
    pub(super) visit: &'a Visit,
    pub(super) last4: &'a str,
    /// The page of the acquirer. `None`: the sandbox.
    pub(super) url: Option<&'a str>,
    /// The URL that the form of the sandbox sends the answer to.
    pub(super) action: String,
}

impl ChallengePage<'_> {
    fn heading(&self) -> Cow<'_, str> {
        self.language.confirm_payment()
    }
}

/// The outcome of the payment.
#[derive(Template)]
#[template(path = "result.html")]
pub(super) struct ResultPage<'a> {
    pub(super) language: &'static Language,
    pub(super) frame: Frame<'a>,
    pub(super) reference: Option<&'a str>,
    /// `None` for another browser than the one that paid.
    pub(super) transaction: Option<Id>,
    pub(super) receipt: Option<Receipt>,
    /// What was refunded. `None` at the end of the payment, when nothing was.
    pub(super) refunds: Option<Vec<Refund>>,
    /// The group of the response code, and the URL for another attempt; customers do not see the
    /// exact code. `None` if the payment succeeded.
    pub(super) declined: Option<(DeclineGroup, String)>,
    /// The URL of the shop's page, if the link has one. A customer who has paid goes there at once;
    /// others may go back there.
    pub(super) shop_url: Option<String>,
    /// Whether the page opens `shop_url` without a click.
    pub(super) continues: bool,
}

impl<'a> ResultPage<'a> {
    /// The result without the receipt. `error`: `None` if the payment succeeded.
    pub(super) fn new(visit: &'a Visit, error: Option<ProcessingError>) -> Self {
        Self {
            language: visit.language,
            frame: visit.frame(),
            reference: visit.link.reference.as_deref(),
            transaction: None,
            receipt: None,
            refunds: None,
            declined: error.map(|error| (error.group(), link_url(&visit.link, None))),
            shop_url: None,
            continues: error.is_none() && (visit.continues || !visit.browser.has_cookie),
        }
    }

    fn heading(&self) -> Cow<'_, str> {
        match self.declined {
            None if self.refunds.is_some() => self.language.receipt(),
            None => self.language.payment_successful(),
            Some(_) => self.language.payment_failed(),
        }
    }

    fn continue_url(&self) -> Option<&str> {
        self.shop_url.as_deref().filter(|_| self.continues)
    }
}

/// A refund, with its amount in the customer's language.
pub(super) struct Refund {
    pub(super) created: Timestamp,
    pub(super) amount: String,
}
