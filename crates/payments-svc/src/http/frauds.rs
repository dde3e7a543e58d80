//! `GET /frauds`, and one fraud alert.

use axum::{http::StatusCode, response::Response};
use jiff::Timestamp;
use payments_domain::{FraudAlert, FraudReason, Id};
use serde::Serialize;

use super::{
    access::{Caller, Permitted},
    disputes,
    list::{self, Query},
};
use crate::web::{Error, as_date, as_optional_date, as_text, envelope};

/// The alerts of a merchant, or of one of its transactions.
pub(super) async fn list(Caller(caller): Caller, query: Query) -> Result<Response, Error> {
    let (page_query, subject) = query.read(disputes::filter)?;
    match query.payments.frauds(&caller, subject).await? {
        Some(frauds) => query.page(page_query, frauds).await,
        None => Ok(list::empty()),
    }
}

pub(super) async fn get(fraud: Permitted<FraudAlert>) -> Response {
    envelope(StatusCode::OK, "fraud", FraudOutput::new(&fraud.resource))
}

/// Decision: the specification allows some members to be undefined. If such a member is unknown, it
/// is left out, and is not `null`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FraudOutput {
    #[serde(serialize_with = "as_text")]
    id: Id,
    #[serde(serialize_with = "as_text")]
    merchant_id: Id,
    #[serde(serialize_with = "as_text")]
    transaction_id: Id,
    #[serde(serialize_with = "as_date")]
    created: Timestamp,
    #[serde(serialize_with = "as_optional_date", skip_serializing_if = "Option::is_none")]
    reported: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<u8>,
}

impl FraudOutput {
    pub(super) fn new(fraud: &FraudAlert) -> Self {
        Self {
            id: fraud.id,
            merchant_id: fraud.merchant,
            transaction_id: fraud.transaction,
            created: fraud.created,
            reported: fraud.reported,
            reason: fraud.reason.map(FraudReason::code),
        }
    }
}

list::item!(FraudAlert, FraudOutput::new);
