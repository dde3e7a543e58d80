//! The payments of a merchant: a list to search in, and one payment with its history.

use std::borrow::Cow;

use askama::Template;
use axum::{
    extract::{Path, RawQuery},
    http::StatusCode,
    response::Response,
};
use jiff::{Timestamp, ToSpan as _, civil::Date, tz::TimeZone};
use payments_domain::{
    Currency, CustomData, Email, Merchant, Money, Movement, PageQuery, ReferenceDigest, Step,
    Transaction, TransactionStatus, is_last4,
};
use url::form_urlencoded;

use super::{
    Desk,
    session::Session,
    view::{self, VERSION},
};
use crate::{
    app::{self, Range, SignedIn, TransactionFilter},
    language::Language,
    web::fields,
};

/// Payments on a page.
const PAGE: u32 = 50;

/// What the user has typed into the form, and the page.
#[derive(Default)]
struct Search {
    reference: Option<String>,
    last4: Option<String>,
    amount: Option<String>,
    from: Option<String>,
    to: Option<String>,
    /// Only payments before this one.
    before: Option<String>,
}

/// The fields of the form that are wrong.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Wrong {
    last4: bool,
    amount: bool,
    from: bool,
    to: bool,
}

#[derive(Template)]
#[template(path = "desk/payments.html")]
struct PaymentsPage<'a> {
    language: &'static Language,
    desk: &'a Desk,
    email: &'a Email,
    merchant: &'a Merchant,
    search: &'a Search,
    wrong: Wrong,
    payments: &'a [Transaction],
    /// The query of the next page.
    older: Option<String>,
}

#[derive(Template)]
#[template(path = "desk/payment.html")]
struct PaymentPage<'a> {
    language: &'static Language,
    desk: &'a Desk,
    email: &'a Email,
    merchant: &'a Merchant,
    payment: &'a Transaction,
}

pub(super) async fn list(
    session: Session,
    Path(merchant): Path<String>,
    RawQuery(query): RawQuery,
) -> Response {
    let search = Search::read(query.as_deref());
    match listed(&session, &merchant, &search).await {
        Ok(response) => response,
        Err(error) => session.problem(error),
    }
}

async fn listed(
    session: &Session,
    merchant: &str,
    search: &Search,
) -> Result<Response, app::Error> {
    let merchant = merchant_of(session, merchant).await?;
    let Session { desk, signed_in: SignedIn { user, .. }, language } = session;
    let (mut payments, wrong) = match search.filter(language, merchant.details.currency) {
        Ok(filter) => {
            let before = search.before.as_ref().and_then(|before| before.parse().ok());
            let page = PageQuery { limit: PAGE + 1, before, after: None };
            (desk.payments.search(merchant.id, page, filter).await?, Wrong::default())
        }
        Err(wrong) => (Vec::new(), wrong),
    };
    let has_more = payments.len() > PAGE as usize;
    payments.truncate(PAGE as usize);
    let last = payments.last().filter(|_| has_more);
    let older = last.map(|last| search.query(&last.id.to_string()));
    let is_right = wrong == Wrong::default();
    let status = if is_right { StatusCode::OK } else { StatusCode::BAD_REQUEST };
    let (email, merchant, payments) = (&user.email, &merchant, &*payments);
    let page = PaymentsPage { language, desk, email, merchant, search, wrong, payments, older };
    Ok(view::page(status, &page))
}

pub(super) async fn show(
    session: Session,
    Path((merchant, payment)): Path<(String, String)>,
) -> Response {
    match shown(&session, &merchant, &payment).await {
        Ok(response) => response,
        Err(error) => session.problem(error),
    }
}

async fn shown(session: &Session, merchant: &str, payment: &str) -> Result<Response, app::Error> {
    let merchant = merchant_of(session, merchant).await?;
    let Session { desk, signed_in: SignedIn { user, .. }, language } = session;
    let payment = payment.parse().map_err(|_| app::Error::NotFound)?;
    let payment = desk.payments.transaction_of_merchant(merchant.id, payment).await?;
    let (email, merchant, payment) = (&user.email, &merchant, &payment);
    let page = PaymentPage { language, desk, email, merchant, payment };
    Ok(view::page(StatusCode::OK, &page))
}

async fn merchant_of(session: &Session, merchant: &str) -> Result<Merchant, app::Error> {
    let merchant = merchant.parse().map_err(|_| app::Error::NotFound)?;
    session.desk.payments.merchant_of_user(session.signed_in.user.id, merchant).await
}

impl Search {
    /// Empty fields are left out. A query that cannot be read searches for nothing.
    fn read(query: Option<&str>) -> Self {
        let read = fields::read_query(query, |fields| {
            let mut text = |name| {
                let text = fields.optional(name, |text| Ok::<_, String>(text.trim().to_owned()));
                text.map(|text| text.filter(|text| !text.is_empty()))
            };
            let (reference, last4, amount) = (text("reference"), text("last4"), text("amount"));
            let (from, to, before) = (text("from"), text("to"), text("before"));
            Ok(Self {
                reference: reference?,
                last4: last4?,
                amount: amount?,
                from: from?,
                to: to?,
                before: before?,
            })
        });
        read.unwrap_or_default()
    }

    /// The amount is in the currency of the merchant, and both days belong to the range.
    fn filter(&self, language: &Language, currency: Currency) -> Result<TransactionFilter, Wrong> {
        let mut wrong = Wrong::default();
        let last4 = self.last4.clone();
        wrong.last4 = last4.as_ref().is_some_and(|text| !is_last4(text));
        let typed = self.amount.as_ref();
        let amount = typed
            .and_then(|typed| language.amount_of(typed, Some(currency))?.amount(currency).ok());
        wrong.amount = typed.is_some() && amount.is_none();
        let from = self.from.as_ref().and_then(|day| beginning(day, 0));
        wrong.from = self.from.is_some() && from.is_none();
        let to = self.to.as_ref().and_then(|day| beginning(day, 1));
        wrong.to = self.to.is_some() && to.is_none();
        if wrong != Wrong::default() {
            return Err(wrong);
        }
        let reference = self.reference.as_ref().map(|text| ReferenceDigest::of(text));
        let created = Range { from, to };
        Ok(TransactionFilter { reference, last4, amount, created, ..TransactionFilter::default() })
    }

    /// The query of a page of the same search.
    fn query(&self, before: &str) -> String {
        let Self { reference, last4, amount, from, to, before: _ } = self;
        let fields = [
            ("reference", reference.as_deref()),
            ("last4", last4.as_deref()),
            ("amount", amount.as_deref()),
            ("from", from.as_deref()),
            ("to", to.as_deref()),
            ("before", Some(before)),
        ];
        let given = fields.into_iter().filter_map(|(name, value)| Some((name, value?)));
        form_urlencoded::Serializer::new(String::new()).extend_pairs(given).finish()
    }
}

/// The beginning in UTC of the day so many days after this one.
fn beginning(day: &str, later: i64) -> Option<Timestamp> {
    let day: Date = day.parse().ok()?;
    Some(day.checked_add(later.days()).ok()?.to_zoned(TimeZone::UTC).ok()?.timestamp())
}

/// The shop's number of the order.
fn reference(payment: &Transaction) -> Option<String> {
    payment.custom.as_ref().and_then(CustomData::reference_text)
}

fn status<'a>(language: &'a Language, payment: &Transaction) -> Cow<'a, str> {
    match payment.amounts.status() {
        TransactionStatus::Failed => language.failed(),
        TransactionStatus::Disputed => language.disputed(),
        TransactionStatus::Refunded => language.refunded(),
        TransactionStatus::PartlyRefunded => language.partly_refunded(),
        TransactionStatus::Captured => language.captured(),
        TransactionStatus::PartlyCaptured => language.partly_captured(),
        TransactionStatus::Voided => language.voided(),
        TransactionStatus::Authorized => language.authorized(),
    }
}

fn time(time: &Timestamp) -> String {
    time.strftime("%Y-%m-%d %H:%M UTC").to_string()
}

impl PaymentsPage<'_> {
    fn balance(&self) -> String {
        let Merchant { details, balance, .. } = self.merchant;
        self.language.money(Money { currency: details.currency, minor: *balance })
    }

    fn amount(&self, payment: &Transaction) -> String {
        let (currency, minor) = (payment.currency, payment.amounts.amount);
        self.language.money(Money { currency, minor })
    }
}

impl PaymentPage<'_> {
    fn amount(&self) -> String {
        self.charged(self.payment.amounts.amount)
    }

    fn moved(&self, step: &Step) -> String {
        self.charged(step.amount)
    }

    /// The change of the balance.
    fn booked(&self, step: &Step) -> String {
        self.funded(step.balance)
    }

    fn fees(&self, step: &Step) -> Option<String> {
        let fees = step.fee.flat.saturating_add(step.fee.rate);
        (fees != 0).then(|| self.funded(fees))
    }

    /// An amount in the currency of the payment.
    fn charged(&self, minor: i64) -> String {
        self.language.money(Money { currency: self.payment.currency, minor })
    }

    /// An amount in the currency of the merchant.
    fn funded(&self, minor: i64) -> String {
        self.language.money(Money { currency: self.merchant.details.currency, minor })
    }

    /// The amounts after the authorization that are not 0, with their labels.
    fn parts(&self) -> Vec<(Cow<'_, str>, String)> {
        let (language, amounts) = (self.language, self.payment.amounts);
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
            Movement::Capture => self.language.captured(),
            Movement::Refund => self.language.refunded(),
            Movement::Void => self.language.voided(),
            Movement::Won => self.language.dispute_won(),
            Movement::Lost => self.language.dispute_lost(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search(query: &str) -> Search {
        Search::read(Some(query))
    }

    fn filter(query: &str) -> Result<TransactionFilter, Wrong> {
        search(query).filter(Language::english(), Currency::EUR)
    }

    #[test]
    fn empty_fields_search_for_everything() {
        for query in ["", "reference=&last4=+&amount=&from=&to="] {
            let filter = filter(query).unwrap_or_else(|_| panic!("{query}"));
            assert!(filter.reference.is_none() && filter.last4.is_none());
            assert!(filter.amount.is_none() && filter.created.from.is_none());
        }
    }

    #[test]
    fn a_range_of_days_has_both() {
        let filter = filter("from=2026-11-27&to=2026-11-28").unwrap_or_default();
        let Range { from, to } = filter.created;
        assert_eq!(from, "2026-11-27T00:00:00Z".parse().ok());
        assert_eq!(to, "2026-11-29T00:00:00Z".parse().ok());
    }

    #[test]
    fn wrong_fields_are_named() {
        let wrong = filter("last4=12&amount=x&from=2026-02-30&to=tomorrow").err();
        assert_eq!(wrong, Some(Wrong { last4: true, amount: true, from: true, to: true }));
        assert_eq!(
            filter("amount=9.95").ok().and_then(|it| it.amount).map(|it| it.minor()),
            Some(995)
        );
    }

    #[test]
    fn the_next_page_continues_the_search() {
        let query = search("reference=a%26b&last4=1234&before=old").query("new");
        assert_eq!(query, "reference=a%26b&last4=1234&before=new");
    }
}
