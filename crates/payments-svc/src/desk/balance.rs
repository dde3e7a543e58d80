//! The balance of a merchant: its lines, and the payouts with the lines that they paid. Both are
//! files, too: of a month, or of a payout.

use std::{borrow::Cow, iter};

use askama::Template;
use axum::{
    extract::{Path, RawQuery},
    http::StatusCode,
    response::Response,
};
use jiff::{ToSpan as _, civil::Date, tz::TimeZone};
use payments_domain::{BalanceLine, Currency, LineKind, Money, Payout, ReturnReason};

use super::{
    csv,
    list::{PAGE, Page, before, param},
    payments::time,
    view::{self, Select},
    visitor::AtMerchant,
};
use crate::{
    app::{self, List, Range, now},
    web::Error,
};

/// Payouts on the page of the balance.
const PAYOUTS: usize = 10;

#[derive(Template)]
#[template(path = "desk/balance.html")]
struct BalancePage<'a> {
    at: &'a AtMerchant,
    lines: Page<BalanceLine>,
    payouts: Page<Payout>,
}

#[derive(Template)]
#[template(path = "desk/payouts.html")]
struct PayoutsPage<'a> {
    at: &'a AtMerchant,
    payouts: Page<Payout>,
}

#[derive(Template)]
#[template(path = "desk/payout.html")]
struct PayoutPage<'a> {
    at: &'a AtMerchant,
    payout: &'a Payout,
    lines: Page<BalanceLine>,
}

pub(super) async fn show(at: AtMerchant, RawQuery(query): RawQuery) -> Result<Response, Error> {
    let before = before(query.as_deref());
    let lines = at.payments().lines(at.merchant.id, Range::default());
    let lines = Page::read(lines, before, PAGE, |line| line.id).await?;
    let payouts = at.payments().payouts_of(at.merchant.id);
    let payouts = Page::read(payouts, None, PAYOUTS, |payout| payout.id).await?;
    let page = BalancePage { at: &at, lines, payouts };
    Ok(view::page(StatusCode::OK, &page))
}

pub(super) async fn payouts(at: AtMerchant, RawQuery(query): RawQuery) -> Result<Response, Error> {
    let before = before(query.as_deref());
    let payouts = at.payments().payouts_of(at.merchant.id);
    let payouts = Page::read(payouts, before, PAGE, |payout| payout.id).await?;
    Ok(view::page(StatusCode::OK, &PayoutsPage { at: &at, payouts }))
}

pub(super) async fn payout(
    at: AtMerchant,
    Path((_, id)): Path<(String, String)>,
    RawQuery(query): RawQuery,
) -> Result<Response, Error> {
    let (payout, before) = (at.payout(&id).await?, before(query.as_deref()));
    let lines = at.payments().lines_of_payout(payout.clone());
    let lines = Page::read(lines, before, PAGE, |line| line.id).await?;
    let page = PayoutPage { at: &at, payout: &payout, lines };
    Ok(view::page(StatusCode::OK, &page))
}

/// The lines of a month as CSV.
pub(super) async fn month(at: AtMerchant, RawQuery(query): RawQuery) -> Result<Response, Error> {
    let month = param(query.as_deref(), "month").unwrap_or_default();
    let range = range(&month).ok_or(app::Error::NotFound)?;
    file(&at, format!("balance-{month}"), at.payments().lines(at.merchant.id, range)).await
}

/// The lines that a payout paid as CSV.
pub(super) async fn lines_of_payout(
    at: AtMerchant,
    Path((_, id)): Path<(String, String)>,
) -> Result<Response, Error> {
    let payout = at.payout(&id).await?;
    file(&at, format!("payout-{id}"), at.payments().lines_of_payout(payout)).await
}

impl AtMerchant {
    /// The payout with the ID in a path.
    async fn payout(&self, id: &str) -> Result<Payout, app::Error> {
        let id = id.parse().map_err(|_| app::Error::NotFound)?;
        self.payments().payout_of_merchant(self.merchant.id, id).await
    }

    /// The first days of the months of the merchant, newest first.
    fn months(&self) -> impl Iterator<Item = Date> {
        let first_of = |time: jiff::Timestamp| time.to_zoned(TimeZone::UTC).date().first_of_month();
        let first = first_of(self.merchant.created);
        iter::successors(Some(first_of(now())), |month| month.checked_sub(1.month()).ok())
            .take_while(move |month| *month >= first)
    }
}

/// The month with this name, such as `2026-11`.
fn range(month: &str) -> Option<Range> {
    let first: Date = format!("{month}-01").parse().ok()?;
    let begin = |day: Date| Some(day.to_zoned(TimeZone::UTC).ok()?.timestamp());
    Some(Range { from: begin(first), to: begin(first.checked_add(1.month()).ok()?) })
}

const HEADER: &str = "id,created,kind,payment,currency,amount,balance_currency,fee,balance\n";

async fn file(at: &AtMerchant, name: String, lines: List<BalanceLine>) -> Result<Response, Error> {
    let currency = at.currency();
    csv::file(&name, HEADER, lines, move |line| (line.id, cells(line, currency))).await
}

fn cells(line: &BalanceLine, currency: Currency) -> Vec<String> {
    let decimal = |minor| Money { currency, minor }.decimal();
    vec![
        line.id.to_string(),
        line.created.to_string(),
        line.kind.name().to_owned(),
        line.transaction.map(|id| id.to_string()).unwrap_or_default(),
        line.amount.currency.code().to_owned(),
        line.amount.decimal(),
        currency.code().to_owned(),
        decimal(line.fee),
        decimal(line.balance),
    ]
}

impl BalancePage<'_> {
    /// The months of which there are files.
    fn months(&self) -> Select<'_> {
        let name = |month: Date| month.strftime("%Y-%m").to_string();
        let months = self.at.months().map(name).map(|month| (month.clone().into(), month.into()));
        let label = self.at.language.month();
        Select { name: "month", label, value: "", options: months.collect() }
    }
}

fn kind<'a>(at: &'a AtMerchant, line: &BalanceLine) -> Cow<'a, str> {
    match line.kind {
        LineKind::Capture => at.language.captured(),
        LineKind::Refund => at.language.refunded(),
        LineKind::Dispute => at.language.disputed(),
        LineKind::Won => at.language.dispute_won(),
        LineKind::Lost => at.language.dispute_lost(),
        LineKind::Payout => at.language.payout(),
        LineKind::Returned => at.language.payout_returned(),
    }
}

/// Whether the bank has sent the payout back, and why.
fn state(at: &AtMerchant, payout: &Payout) -> String {
    let Some(returned) = &payout.returned else { return at.language.paid_out().into_owned() };
    let reason = returned.reason.as_ref().map(ReturnReason::as_str);
    let reason = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
    format!("{}{reason}", at.language.payout_returned())
}
