//! Disputes.

use std::sync::Arc;

use axum::{
    extract::{RawQuery, State},
    http::StatusCode,
    response::Response,
};
use jiff::Timestamp;
use serde::Serialize;

use super::{
    Api, Error,
    access::{Caller, Of},
    answer::{self, as_date, as_text},
    cases,
    page::Item,
};
use crate::{
    domain::{Dispute, Id, Reason},
    store::Store,
};

/// The disputes of a merchant, or of one of its transactions.
pub(super) async fn list(
    State(api): State<Arc<Api>>,
    Caller(app): Caller,
    RawQuery(query): RawQuery,
) -> Result<Response, Error> {
    cases::list(&api, &app, query.as_deref(), Store::disputes).await
}

/// A dispute.
pub(super) async fn get(dispute: Of<Dispute>) -> Response {
    answer::one(StatusCode::OK, "dispute", DisputeOutput::new(&dispute.thing))
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DisputeOutput<'a> {
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
}

#[derive(Serialize)]
struct ReasonOutput<'a> {
    code: i64,
    title: &'a str,
}

impl<'a> DisputeOutput<'a> {
    fn new(dispute: &'a Dispute) -> Self {
        let reason = |reason: &'a Reason| ReasonOutput { code: reason.code, title: &reason.title };
        Self {
            id: dispute.id,
            merchant_id: dispute.merchant,
            transaction_id: dispute.transaction,
            created: dispute.created,
            amount: dispute.amount,
            reason: dispute.reason.as_ref().map(reason),
            due: dispute.due,
        }
    }
}

impl Item for Dispute {
    fn id(&self) -> Id {
        self.id
    }

    fn write_json(&self, json: &mut Vec<u8>) -> serde_json::Result<()> {
        serde_json::to_writer(json, &DisputeOutput::new(self))
    }
}
