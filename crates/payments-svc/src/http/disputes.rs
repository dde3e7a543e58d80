//! Disputes, and the lists of cases.

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
    fields::Fields,
    page::{self, Item},
};
use crate::{
    domain::{App, Dispute, Id, Reason, Window},
    store::{About, Found},
};

/// The disputes of a merchant, or of one of its transactions.
pub(super) async fn list(
    State(api): State<Arc<Api>>,
    Caller(app): Caller,
    RawQuery(query): RawQuery,
) -> Result<Response, Error> {
    match cases(&api, &app, query.as_deref()).await? {
        None => Ok(page::empty()),
        Some((about, window)) => {
            page::list(window, move |window| api.store.clone().disputes(about, window)).await
        }
    }
}

/// A dispute.
pub(super) async fn get(dispute: Of<Dispute>) -> Response {
    answer::one(StatusCode::OK, "dispute", DisputeOutput::new(&dispute.thing))
}

/// Which cases a query asks for: those of a merchant of the app, or of one of its transactions.
/// None, if the transaction is not the merchant's.
pub(super) async fn cases(
    api: &Api,
    app: &App,
    query: Option<&str>,
) -> Result<Option<(About, Window)>, Error> {
    let filters = |fields: &mut Fields<'_>| {
        let mut filter = fields.object("filter");
        let merchant = filter.required("merchantId", str::parse);
        let transaction = filter.given("transactionId", str::parse);
        Ok::<(Id, Option<Id>), _>((merchant?, transaction?))
    };
    let (window, (merchant, transaction)) = page::read(query, filters)?;
    match api.store.merchant(merchant, app.id).await? {
        None => return Err(Error::field("filter.merchantId", "is no merchant")),
        Some(Found { is_member: false, .. }) => return Err(Error::Forbidden),
        Some(_) => {}
    }
    let Some(transaction) = transaction else {
        return Ok(Some((About::Merchant(merchant), window)));
    };
    let found = api.store.reservation_of(transaction).await?;
    let own = found.filter(|reservation| reservation.merchant == merchant);
    Ok(own.map(|_| (About::Transaction(transaction), window)))
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
