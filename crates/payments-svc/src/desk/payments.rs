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
    Currency, CustomData, Money, Movement, PageQuery, ReferenceDigest, Step, Transaction,
    TransactionStatus, is_last4,
};
use url::form_urlencoded;

use super::{
    movements::Kind,
    view::{self, Field},
    visitor::AtMerchant,
};
use crate::{
    app::{self, Range, TransactionFilter},
    language::Language,
    web::{Error, fields},
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

/// The names of the fields that are wrong.
type Wrong = Vec<&'static str>;

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
    /// Whether the user has just made the last step.
    done: bool,
}

pub(super) async fn list(at: AtMerchant, RawQuery(query): RawQuery) -> Result<Response, Error> {
    let search = Search::read(query.as_deref());
    let (mut payments, wrong) = match search.filter(at.language, at.currency()) {
        Ok(filter) => {
            let before = search.before.as_ref().and_then(|before| before.parse().ok());
            let page = PageQuery { limit: PAGE + 1, before, after: None };
            (at.payments().search(at.merchant.id, page, filter).await?, Vec::new())
        }
        Err(wrong) => (Vec::new(), wrong),
    };
    let has_more = payments.len() > PAGE as usize;
    payments.truncate(PAGE as usize);
    let last = payments.last().filter(|_| has_more);
    let older = last.map(|last| search.query(&last.id.to_string()));
    let status = if wrong.is_empty() { StatusCode::OK } else { StatusCode::BAD_REQUEST };
    let (at, search, wrong, payments) = (&at, &search, &*wrong, &*payments);
    Ok(view::page(status, &PaymentsPage { at, search, wrong, payments, older }))
}

pub(super) async fn show(
    at: AtMerchant,
    Path((_, payment)): Path<(String, String)>,
    RawQuery(query): RawQuery,
) -> Result<Response, Error> {
    let payment = at.payment(&payment).await?;
    let done = query.as_deref() == Some("done");
    Ok(view::page(StatusCode::OK, &PaymentPage { at: &at, payment: &payment, done }))
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
        let mut wrong = Vec::new();
        let last4 = self.last4.clone();
        if last4.as_ref().is_some_and(|text| !is_last4(text)) {
            wrong.push("last4");
        }
        let amount_of =
            |typed: &String| language.amount_of(typed, Some(currency))?.amount(currency).ok();
        let amount = read(self.amount.as_ref(), amount_of, "amount", &mut wrong);
        let from = read(self.from.as_ref(), |day| beginning(day, 0), "from", &mut wrong);
        let to = read(self.to.as_ref(), |day| beginning(day, 1), "to", &mut wrong);
        if !wrong.is_empty() {
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

/// Reads a field that was filled in.
fn read<T>(
    typed: Option<&String>,
    read: impl FnOnce(&String) -> Option<T>,
    name: &'static str,
    wrong: &mut Wrong,
) -> Option<T> {
    let value = read(typed?);
    if value.is_none() {
        wrong.push(name);
    }
    value
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

/// What the user knows the payment by: the shop's number of the order, or the ID.
pub(super) fn name(payment: &Transaction) -> String {
    reference(payment).unwrap_or_else(|| payment.id.to_string())
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

pub(super) fn time(time: &Timestamp) -> String {
    time.strftime("%Y-%m-%d %H:%M UTC").to_string()
}

impl PaymentsPage<'_> {
    fn fields(&self) -> [Field<'_>; 5] {
        let (language, Search { reference, last4, amount, from, to, .. }) =
            (self.at.language, self.search);
        let currency = self.at.currency();
        let amount_label = format!("{} ({currency})", language.amount());
        let field = |name, label, value, attributes, error| Field {
            name,
            label,
            value: Option::as_deref(value).unwrap_or_default(),
            attributes,
            hint: None,
            error: Some(error).filter(|_| self.wrong.contains(&name)),
        };
        let digits = "inputmode=\"numeric\" autocomplete=\"off\" maxlength=\"4\"";
        let (text, decimal) =
            ("autocomplete=\"off\"", "inputmode=\"decimal\" autocomplete=\"off\"");
        let (date, day_error) = ("type=\"date\"", language.day_error());
        let amount_error = language.amount_error(currency.exponent());
        [
            field("reference", language.reference(), reference, text, Cow::default()),
            field("last4", language.last_four(), last4, digits, language.last_four_error()),
            field("amount", amount_label.into(), amount, decimal, amount_error),
            field("from", language.first_day(), from, date, day_error.clone()),
            field("to", language.last_day(), to, date, day_error),
        ]
    }

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
        assert_eq!(wrong, Some(vec!["last4", "amount", "from", "to"]));
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
