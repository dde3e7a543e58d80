//! The payments of a merchant: a list to search in, and one payment with its history.

use std::borrow::Cow;

use askama::Template;
use axum::{
    extract::{Path, RawQuery},
    http::StatusCode,
    response::Response,
};
use jiff::Timestamp;
use payments_domain::{CustomData, Id, Money, Movement, Step, Transaction};

use super::{
    csv,
    disputes::Shown,
    list::{PAGE, Page},
    movements::Kind,
    search::{Search, status},
    view,
    visitor::AtMerchant,
};
use crate::{app, formula, web::Error};

#[derive(Template)]
#[template(path = "desk/payments.html")]
struct PaymentsPage<'a> {
    at: &'a AtMerchant,
    search: &'a Search,
    wrong: &'a [&'static str],
    payments: &'a [Transaction],
    /// The query of the next page.
    older: Option<String>,
}

#[derive(Template)]
#[template(path = "desk/payment.html")]
struct PaymentPage<'a> {
    at: &'a AtMerchant,
    payment: &'a Transaction,
    disputes: Vec<Shown<'a>>,
    /// Whether the user has just made the last step.
    done: bool,
}

pub(super) async fn list(at: AtMerchant, RawQuery(query): RawQuery) -> Result<Response, Error> {
    let search = Search::read(query.as_deref());
    let nothing = Page { items: Vec::new(), next: None, is_first: true };
    let (page, wrong) = match search.filter(at.language, at.currency()) {
        Ok(filter) => {
            let before = search.before.as_ref().and_then(|before| before.parse().ok());
            let found = at.payments().found(at.merchant.id, filter);
            (Page::read(found, before, PAGE, |payment| payment.id).await?, Vec::new())
        }
        Err(wrong) => (nothing, wrong),
    };
    let older = page.next.map(|next| search.query(Some(&next.to_string())));
    let status = if wrong.is_empty() { StatusCode::OK } else { StatusCode::BAD_REQUEST };
    let (at, search, wrong, payments) = (&at, &search, &*wrong, &*page.items);
    Ok(view::page(status, &PaymentsPage { at, search, wrong, payments, older }))
}

/// All payments of a search as CSV. With wrong fields, the page that names them.
pub(super) async fn download(at: AtMerchant, query: RawQuery) -> Result<Response, Error> {
    match Search::read(query.0.as_deref()).filter(at.language, at.currency()) {
        Ok(filter) => {
            let found = at.payments().found(at.merchant.id, filter);
            csv::file("payments", HEADER, found, |row| (row.id, cells(row))).await
        }
        Err(_) => list(at, query).await,
    }
}

const HEADER: &str = "id,created,reference,status,currency,amount,captured,refunded,voided,disputed,scheme,last4,\
     error\n";

fn cells(payment: &Transaction) -> Vec<String> {
    let Transaction { id, created, currency, amounts, card, error, .. } = payment;
    let decimal = |minor| Money { currency: *currency, minor }.decimal();
    vec![
        id.to_string(),
        created.to_string(),
        formula::escape(&reference(payment).unwrap_or_default()).into_owned(),
        amounts.status().name().to_owned(),
        currency.code().to_owned(),
        decimal(amounts.amount),
        decimal(amounts.captured),
        decimal(amounts.refunded),
        decimal(amounts.voided),
        decimal(amounts.disputed),
        card.as_ref().map_or("", |card| card.scheme.name()).to_owned(),
        card.as_ref().map_or("", |card| &card.last4).to_owned(),
        error.map(|error| error.code().to_string()).unwrap_or_default(),
    ]
}

pub(super) async fn show(
    at: AtMerchant,
    Path((_, payment)): Path<(String, String)>,
    RawQuery(query): RawQuery,
) -> Result<Response, Error> {
    let payment = at.payment(&payment).await?;
    let done = query.as_deref() == Some("done");
    let disputes = Shown::all(&at, at.payments().disputes_of(&payment).await?);
    Ok(view::page(StatusCode::OK, &PaymentPage { at: &at, payment: &payment, disputes, done }))
}

impl AtMerchant {
    /// The payment with the ID in a path.
    pub(super) async fn payment(&self, id: &str) -> Result<Transaction, app::Error> {
        let id = id.parse().map_err(|_| app::Error::NotFound)?;
        self.payments().transaction_of_merchant(self.merchant.id, id).await
    }

    /// The path of the page of a payment.
    pub(super) fn payment_path(&self, payment: &Transaction) -> String {
        format!("{}/payments/{}", self.path(), payment.id)
    }
}

/// The shop's number of the order.
fn reference(payment: &Transaction) -> Option<String> {
    payment.custom.as_ref().and_then(CustomData::reference_text)
}

/// What the user knows the payment by: the shop's number of the order, or the ID.
pub(super) fn name(payment: &Transaction) -> String {
    name_of(payment.custom.as_ref(), payment.id)
}

/// The [`name`] of the payment with this custom data and ID.
pub(super) fn name_of(custom: Option<&CustomData>, id: Id) -> String {
    custom.and_then(CustomData::reference_text).unwrap_or_else(|| id.to_string())
}

pub(super) fn time(time: &Timestamp) -> String {
    time.strftime("%Y-%m-%d %H:%M UTC").to_string()
}

impl PaymentsPage<'_> {
    fn amount(&self, payment: &Transaction) -> String {
        let (currency, minor) = (payment.currency, payment.amounts.amount);
        self.at.language.money(Money { currency, minor })
    }
}

impl PaymentPage<'_> {
    fn amount(&self) -> String {
        self.charged(self.payment.amounts.amount)
    }

    /// The step that the user has just made.
    fn done(&self) -> Option<&Step> {
        self.payment.trail.last().filter(|_| self.done)
    }

    /// The movements that are possible, with their pages.
    fn actions(&self) -> Vec<(String, Cow<'_, str>)> {
        let path = self.at.payment_path(self.payment);
        let page = |kind: Kind| (format!("{path}/{}", kind.path()), kind.name(self.at));
        Kind::possible(self.payment.amounts).map(page).collect()
    }

    fn moved(&self, step: &Step) -> String {
        self.charged(step.amount)
    }

    /// The change of the balance.
    fn booked(&self, step: &Step) -> String {
        self.at.money(step.balance)
    }

    fn fees(&self, step: &Step) -> Option<String> {
        let fees = step.fee.flat.saturating_add(step.fee.rate);
        (fees != 0).then(|| self.at.money(fees))
    }

    /// An amount in the currency of the payment.
    fn charged(&self, minor: i64) -> String {
        self.at.language.money(Money { currency: self.payment.currency, minor })
    }

    /// The amounts after the authorization that are not 0, with their labels.
    fn parts(&self) -> Vec<(Cow<'_, str>, String)> {
        let (language, amounts) = (self.at.language, self.payment.amounts);
        let parts = [
            (language.captured(), amounts.captured),
            (language.refunded(), amounts.refunded),
            (language.voided(), amounts.voided),
            (language.disputed(), amounts.disputed),
        ];
        let parts = parts.into_iter().filter(|(_, minor)| *minor != 0);
        parts.map(|(label, minor)| (label, self.charged(minor))).collect()
    }

    fn movement(&self, step: &Step) -> Cow<'_, str> {
        match step.movement {
            Movement::Capture => self.at.language.captured(),
            Movement::Refund => self.at.language.refunded(),
            Movement::Void => self.at.language.voided(),
            Movement::Won => self.at.language.dispute_won(),
            Movement::Lost => self.at.language.dispute_lost(),
        }
    }
}
