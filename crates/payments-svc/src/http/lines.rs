//! Balance lines: the entries of a merchant's balance.

use axum::{
    Json,
    response::{IntoResponse, Response},
};
use jiff::Timestamp;
use payments_domain::{BalanceLine, Id, LineKind, Merchant};
use serde::Serialize;

use super::{
    access::Permitted,
    list::{self, Query},
    output::MoneyOutput,
};
use crate::{
    app::Range,
    web::{Error, as_date, as_text},
};

pub(super) async fn list(merchant: Permitted<Merchant>, query: Query) -> Result<Response, Error> {
    query.answer(query.payments.lines(merchant.resource.id, Range::default())).await
}

pub(super) async fn get(line: Permitted<BalanceLine>) -> impl IntoResponse {
    Json(LineOutput::new(&line.resource))
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LineOutput {
    #[serde(serialize_with = "as_text")]
    id: Id,
    #[serde(serialize_with = "as_date")]
    created: Timestamp,
    #[serde(serialize_with = "as_text")]
    merchant_id: Id,
    test: bool,
    balance: i64,
    fee: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    transaction_id: Option<String>,
    amount: MoneyOutput,
    #[serde(skip_serializing_if = "Option::is_none")]
    capture: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    refund: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dispute: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    won: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lost: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    payout: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    returned: Option<bool>,
}

impl LineOutput {
    fn new(line: &BalanceLine) -> Self {
        let is = |kind| (line.kind == kind).then_some(true);
        let (won, lost) = (is(LineKind::Won), is(LineKind::Lost));
        let returned = is(LineKind::Returned);
        Self {
            id: line.id,
            created: line.created,
            merchant_id: line.merchant,
            test: line.test,
            balance: line.balance,
            fee: line.fee,
            transaction_id: line.transaction.map(|id| id.to_string()),
            amount: MoneyOutput::new(line.amount),
            capture: is(LineKind::Capture),
            refund: is(LineKind::Refund),
            dispute: is(LineKind::Dispute).or(won).or(lost),
            won,
            lost,
            payout: is(LineKind::Payout).or(returned),
            returned,
        }
    }
}

list::item!(BalanceLine, LineOutput::new);
