//! `GET /payouts`, and the lines that a payout paid.

use axum::response::Response;
use jiff::Timestamp;
use payments_domain::{Id, Payout, PayoutReturn, ReturnReason};
use serde::Serialize;

use super::{
    access::{Caller, Permitted},
    list::{self, Query},
    output::MoneyOutput,
};
use crate::web::{Error, as_date, as_text};

/// The payouts of a merchant.
pub(super) async fn list(Caller(caller): Caller, query: Query) -> Result<Response, Error> {
    let (page_query, merchant) = query.read(|filter| filter.required("merchantId", str::parse))?;
    let payouts = query.payments.payouts(&caller, merchant).await?;
    query.page(page_query, payouts).await
}

pub(super) async fn lines(payout: Permitted<Payout>, query: Query) -> Result<Response, Error> {
    query.answer(query.payments.lines_of_payout(payout.resource)).await
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PayoutOutput<'a> {
    #[serde(serialize_with = "as_text")]
    id: Id,
    #[serde(serialize_with = "as_text")]
    merchant_id: Id,
    test: bool,
    #[serde(serialize_with = "as_date")]
    created: Timestamp,
    #[serde(serialize_with = "as_text")]
    line_id: Id,
    amount: MoneyOutput,
    name: &'a str,
    iban: &'a str,
    returned: Option<ReturnOutput<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ReturnOutput<'a> {
    #[serde(serialize_with = "as_date")]
    created: Timestamp,
    #[serde(serialize_with = "as_text")]
    line_id: Id,
    reason: Option<&'a str>,
}

impl<'a> PayoutOutput<'a> {
    pub(super) fn new(payout: &'a Payout) -> Self {
        let Payout { id, created, test, line, held_since: _, transfer, returned } = payout;
        Self {
            id: *id,
            merchant_id: transfer.merchant,
            test: *test,
            created: *created,
            line_id: *line,
            amount: MoneyOutput::new(transfer.amount),
            name: &transfer.name,
            iban: transfer.iban.as_str(),
            returned: returned.as_ref().map(ReturnOutput::new),
        }
    }
}

impl<'a> ReturnOutput<'a> {
    fn new(returned: &'a PayoutReturn) -> Self {
        let PayoutReturn { line, created, reason } = returned;
        let reason = reason.as_ref().map(ReturnReason::as_str);
        Self { created: *created, line_id: *line, reason }
    }
}

list::item!(Payout, PayoutOutput::new);
