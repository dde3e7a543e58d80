//! Suspicions of fraud.

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
    answer::{self, as_date, as_optional_date, as_text},
    cases,
    page::Item,
};
use crate::{
    domain::{FraudAlert, FraudReason, Id},
    store::Store,
};

/// The alerts about a merchant, or about one of its transactions.
pub(super) async fn list(
    State(api): State<Arc<Api>>,
    Caller(app): Caller,
    RawQuery(query): RawQuery,
) -> Result<Response, Error> {
    cases::list(&api, &app, query.as_deref(), Store::frauds).await
}

/// An alert.
pub(super) async fn get(fraud: Of<FraudAlert>) -> Response {
    answer::one(StatusCode::OK, "fraud", FraudOutput::new(&fraud.thing))
}

/// Decision: what may be undefined is left out.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FraudOutput {
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
    fn new(fraud: &FraudAlert) -> Self {
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

impl Item for FraudAlert {
    fn id(&self) -> Id {
        self.id
    }

    fn write_json(&self, json: &mut Vec<u8>) -> serde_json::Result<()> {
        serde_json::to_writer(json, &FraudOutput::new(self))
    }
}
