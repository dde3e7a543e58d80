//! The Askama templates of the payment page. They are checked at compile time.

use askama::Template;

use super::{
    asset::VERSION,
    language::Language,
    visit::{AmountErrors, Visit},
};
use crate::domain::{Currency, DeclineGroup, Id};

/// Asks for the currency and the amount that the link leaves open.
#[derive(Template)]
#[template(path = "amount.html")]
pub(super) struct AmountPage<'a> {
    pub(super) language: &'static Language,
    pub(super) visit: &'a Visit,
    /// The fields that are marked as wrong.
    pub(super) wrong: AmountErrors,
}

/// The form for a card.
#[derive(Template)]
#[template(path = "card.html")]
pub(super) struct CardPage<'a> {
    pub(super) language: &'static Language,
    pub(super) visit: &'a Visit,
    /// The fields that are marked as wrong.
    pub(super) wrong: WrongCard,
}

/// The wrong fields of the card form.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct WrongCard {
    pub(super) number: bool,
    pub(super) expiry: Option<WrongExpiry>,
    pub(super) code: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum WrongExpiry {
    Malformed,
    Past,
}

/// The acquirer has not answered yet. The page reloads itself.
#[derive(Template)]
#[template(path = "processing.html")]
pub(super) struct ProcessingPage<'a> {
    pub(super) language: &'static Language,
    pub(super) visit: &'a Visit,
}

/// The simulated bank of the sandbox asks the customer to confirm.
#[derive(Template)]
#[template(path = "challenge.html")]
pub(super) struct ChallengePage<'a> {
    pub(super) language: &'static Language,
    pub(super) visit: &'a Visit,
    pub(super) last4: &'a str,
    /// The URL that the form sends the answer to.
    pub(super) action: String,
}

/// The outcome of the payment.
#[derive(Template)]
#[template(path = "result.html")]
pub(super) struct ResultPage<'a> {
    pub(super) language: &'static Language,
    pub(super) visit: &'a Visit,
    pub(super) transaction: Id,
    /// The group of the response code; customers do not see the exact code. `None` if the payment
    /// succeeded.
    pub(super) declined: Option<DeclineGroup>,
    /// The URL for another attempt.
    pub(super) retry_url: String,
    /// The URL of the shop's page, if the link has one. A customer who has paid goes there at once;
    /// others may go back there.
    pub(super) shop_url: Option<String>,
}
