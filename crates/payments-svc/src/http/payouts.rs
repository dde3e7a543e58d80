//! `GET /payouts`, and the lines that a payout paid.

use axum::response::Response;
use jiff::Timestamp;
use payments_domain::{Id, Payout};
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
}

impl<'a> PayoutOutput<'a> {
    pub(super) fn new(payout: &'a Payout) -> Self {
        let Payout { id, created, test, line, held_since: _, transfer } = payout;
        Self {
            id: *id,
            merchant_id: transfer.merchant,
            test: *test,
            created: *created,
            line_id: *line,
            amount: MoneyOutput::new(transfer.amount),
            name: &transfer.name,
            iban: transfer.iban.as_str(),
        }
    }
}

list::item!(Payout, PayoutOutput::new);
