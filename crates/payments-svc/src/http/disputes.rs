//! `GET /disputes`, and one dispute.

use axum::{http::StatusCode, response::Response};
use jiff::Timestamp;
use payments_domain::{Dispute, Id, Reason};
use serde::Serialize;

use super::{
    access::{Caller, Permitted},
    list::{self, Query},
};
use crate::web::{Error, Fields, Reported, as_date, as_optional_date, as_text, envelope};

/// The disputes of a merchant, or of one of its transactions.
pub(super) async fn list(Caller(caller): Caller, query: Query) -> Result<Response, Error> {
    let (page_query, subject) = query.read(filter)?;
    match query.payments.disputes(&caller, subject).await? {
        Some(disputes) => query.page(page_query, disputes).await,
        None => Ok(list::empty()),
    }
}

/// Reads the filter of disputes and fraud alerts: a merchant, and optionally one of its
/// transactions.
pub(super) fn filter(filter: &mut Fields<'_>) -> Result<(Id, Option<Id>), Reported> {
    let merchant = filter.required("merchantId", str::parse);
    let transaction = filter.given("transactionId", str::parse);
    Ok((merchant?, transaction?))
}

pub(super) async fn get(dispute: Permitted<Dispute>) -> Response {
    envelope(StatusCode::OK, "dispute", DisputeOutput::new(&dispute.resource))
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DisputeOutput<'a> {
    #[serde(serialize_with = "as_text")]
    id: Id,
    #[serde(serialize_with = "as_text")]
    merchant_id: Id,
    #[serde(serialize_with = "as_text")]
    transaction_id: Id,
    #[serde(serialize_with = "as_date")]
    created: Timestamp,
    amount: i64,
    reason: Option<ReasonOutput<'a>>,
    #[serde(serialize_with = "as_date")]
    due: Timestamp,
    inquiry: bool,
    #[serde(serialize_with = "as_optional_date")]
    submitted: Option<Timestamp>,
    #[serde(serialize_with = "as_optional_date")]
    accepted: Option<Timestamp>,
}

#[derive(Serialize)]
struct ReasonOutput<'a> {
    code: i64,
    title: &'a str,
}

impl<'a> DisputeOutput<'a> {
    pub(super) fn new(dispute: &'a Dispute) -> Self {
        let reason = |reason: &'a Reason| ReasonOutput { code: reason.code, title: &reason.title };
        Self {
            id: dispute.id,
            merchant_id: dispute.merchant,
            transaction_id: dispute.transaction,
            created: dispute.created,
            amount: dispute.amount,
            reason: dispute.reason.as_ref().map(reason),
            due: dispute.due,
            inquiry: dispute.is_inquiry,
            submitted: dispute.submitted,
            accepted: dispute.accepted,
        }
    }
}

list::item!(Dispute, DisputeOutput::new);
