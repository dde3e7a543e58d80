//! The pages of a payment, as templates that are checked when the service is built.

use askama::Template;

use super::{
    asset::VERSION,
    language::Language,
    visit::{Mistyped, Visit},
};
use crate::domain::{Currency, DeclineGroup, Id};

/// The screen where the amount is entered.
#[derive(Template)]
#[template(path = "amount.html")]
pub(super) struct AmountPage<'a> {
    pub(super) language: &'static Language,
    pub(super) visit: &'a Visit,
    /// What of what was typed is wrong.
    pub(super) wrong: Mistyped,
}

/// The form for a card.
#[derive(Template)]
#[template(path = "card.html")]
pub(super) struct CardPage<'a> {
    pub(super) language: &'static Language,
    pub(super) visit: &'a Visit,
    /// What of what was typed is wrong.
    pub(super) wrong: WrongCard,
}

/// What is wrong with what was typed of a card.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct WrongCard {
    pub(super) number: bool,
    pub(super) expiry: bool,
    pub(super) code: bool,
}

/// A payment that is with the acquirer.
#[derive(Template)]
#[template(path = "processing.html")]
pub(super) struct ProcessingPage<'a> {
    pub(super) language: &'static Language,
    pub(super) visit: &'a Visit,
}

/// The bank that the sandbox is asks the customer.
#[derive(Template)]
#[template(path = "challenge.html")]
pub(super) struct ChallengePage<'a> {
    pub(super) language: &'static Language,
    pub(super) visit: &'a Visit,
    pub(super) last4: &'a str,
    /// Where the answer goes.
    pub(super) action: String,
}

/// What came of the payment.
#[derive(Template)]
#[template(path = "result.html")]
pub(super) struct ResultPage<'a> {
    pub(super) language: &'static Language,
    pub(super) visit: &'a Visit,
    pub(super) transaction: Id,
    /// Why it did not succeed, if it did not: as much as a customer learns.
    pub(super) declined: Option<DeclineGroup>,
    /// Where the customer may try again.
    pub(super) again: String,
    /// The page of the shop that they go to at once, if they have paid, or may go back to.
    pub(super) shop: Option<String>,
}
